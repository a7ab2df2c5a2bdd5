"""Connections cut off on the wire, before the work or after it, seen by a real client of a real server."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import uvicorn

from entrepot.engine import Engine
from entrepot.engine.server import Server, listen
from entrepot.engine.wire import Wire, WireApp

from .store import Clock, get, open_store

pytestmark = pytest.mark.anyio

HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": "AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=c",
    "X-Amz-Date": "20260101T000000Z",
}


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Both loops: their transports and sockets differ, and both must be cut off."""
    return "asyncio", {"use_uvloop": request.param}


class Client:
    """The wire of an engine, by HTTP."""

    def __init__(self, engine: Engine, session: aiohttp.ClientSession, url: str) -> None:
        self.engine = engine
        self._session = session
        self._url = url

    async def call(self, operation: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        headers = {**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        async with self._session.post(self._url, data=json.dumps(body), headers=headers) as response:
            return response.status, json.loads(await response.read())

    async def put(self, number: int) -> tuple[int, dict[str, Any]]:
        item = {"pk": {"S": "a"}, "sk": {"N": str(number)}}
        return await self.call("PutItem", {"TableName": "things", "Item": item})


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    engine = await open_store(Clock())
    bound = listen("127.0.0.1", 0)
    ready = asyncio.Event()
    config = uvicorn.Config(
        WireApp(Wire(engine)), lifespan="off", log_level="warning", http="httptools", ws="none"
    )
    server = Server(config, ready.set)
    running = asyncio.create_task(server.serve(sockets=[bound]))
    await ready.wait()
    async with aiohttp.ClientSession() as session:
        yield Client(engine, session, f"http://127.0.0.1:{bound.getsockname()[1]}/")
    server.should_exit = True
    await running
    bound.close()
    await engine.close()


async def test_a_cut_connection_may_have_done_its_work_or_not(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    client.engine.set_chaos("reset=0.5,seed=6")
    seen: Counter[str] = Counter()
    for number in range(60):
        try:
            status, _ = await client.put(number)
            outcome = "answered"
            assert status == 200
        except aiohttp.ClientConnectionError:
            outcome = "cut off"
        kept = await get(client.engine, "a", number) is not None
        seen[f"{outcome}, {'kept' if kept else 'lost'}"] += 1
    assert seen.keys() == {"answered, kept", "cut off, kept", "cut off, lost"}
    assert min(seen.values()) > 5
    assert caplog.records == []


async def test_a_cut_connection_is_reset(client: Client) -> None:
    client.engine.set_chaos("reset=1")
    with pytest.raises(aiohttp.ClientOSError) as caught:
        await client.put(1)
    assert isinstance(caught.value, ConnectionResetError) or "reset by peer" in str(caught.value)


async def test_a_table_can_be_spared(client: Client) -> None:
    client.engine.set_chaos("reset=1,things.reset=0")
    assert (await client.put(1))[0] == 200


async def test_a_throttled_answer_tells_its_reason(client: Client) -> None:
    client.engine.set_chaos("throttle=1")
    status, body = await client.put(1)
    assert status == 400
    assert body["__type"].endswith("#ProvisionedThroughputExceededException")
    assert body["ThrottlingReasons"] == [
        {
            "reason": "TableWriteProvisionedThroughputExceeded",
            "resource": "arn:aws:dynamodb:us-east-1:000000000000:table/things",
        }
    ]


async def test_left_over_entries_go_over_the_wire_and_back(client: Client) -> None:
    client.engine.set_chaos("unprocessed=0.5,seed=1")
    entries = [{"PutRequest": {"Item": {"pk": {"S": "a"}, "sk": {"N": str(n)}}}} for n in range(20)]
    left: dict[str, Any] = {"things": entries}
    for _ in range(50):
        status, body = await client.call("BatchWriteItem", {"RequestItems": left})
        assert status == 200
        left = body["UnprocessedItems"]
        if not left:
            break
        assert all(entry in entries for entry in left["things"])
    client.engine.set_chaos(None)
    assert (await client.call("Scan", {"TableName": "things", "Select": "COUNT"}))[1]["Count"] == 20
