"""What a user of the store relies on: expiry, tokens, several openers, plain speed of the fixture."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from entrepot.engine import Engine
from entrepot.engine.errors import Refused
from entrepot.engine.pytest_plugin import MakeEngine
from entrepot.engine.storage.catalog import REFRESH_SECONDS

pytestmark = pytest.mark.anyio


def table(name: str = "things", **more: Any) -> dict[str, Any]:
    return {
        "TableName": name,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
        **more,
    }


class Clock:
    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


async def put(engine: Engine, key: str, **attributes: Any) -> None:
    await engine.call("PutItem", {"TableName": "things", "Item": {"pk": key, **attributes}})


async def keys(engine: Engine, name: str = "things") -> set[str]:
    return {item["pk"] for item in (await engine.call("Scan", {"TableName": name}))["Items"]}


async def test_the_reaper_deletes_what_has_expired_and_nothing_else(dynamo_factory: MakeEngine) -> None:
    clock = Clock(1_800_000_000)
    engine = await dynamo_factory(clock=clock)
    await engine.call("CreateTable", table())
    for number in range(250):
        await put(engine, f"old{number}", expires=1_799_999_000 + number)
    await put(engine, "later", expires=1_800_000_500)
    await put(engine, "text", expires="1799999000")
    await put(engine, "ancient", expires=1_000_000_000)
    await put(engine, "never")
    assert await engine.reaper.sweep() == 0
    await engine.call(
        "UpdateTimeToLive",
        {
            "TableName": "things",
            "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expires"},
        },
    )
    assert await engine.reaper.sweep() == 250
    assert await keys(engine) == {"later", "text", "ancient", "never"}
    await put(engine, "soon", expires=1_800_000_100)
    clock.now = 1_800_000_200
    assert await engine.reaper.sweep() == 1
    assert await keys(engine) == {"later", "text", "ancient", "never"}
    clock.now = 1_800_000_600
    assert await engine.reaper.sweep() == 1


async def test_a_repeated_transaction_with_a_token_happens_once(dynamo_factory: MakeEngine) -> None:
    clock = Clock(1_800_000_000)
    engine = await dynamo_factory(clock=clock)
    await engine.call("CreateTable", table())
    add = {
        "TransactItems": [
            {
                "Update": {
                    "TableName": "things",
                    "Key": {"pk": "a"},
                    "UpdateExpression": "ADD n :one",
                    "ExpressionAttributeValues": {":one": 1},
                }
            }
        ],
        "ClientRequestToken": "once",
    }
    await asyncio.gather(*(engine.call("TransactWriteItems", add) for _ in range(5)))
    read = {"TableName": "things", "Key": {"pk": "a"}}
    assert (await engine.call("GetItem", read))["Item"]["n"] == 1
    other: dict[str, Any] = {
        **add,
        "TransactItems": [{"Delete": {"TableName": "things", "Key": {"pk": "a"}}}],
    }
    with pytest.raises(Refused) as caught:
        await engine.call("TransactWriteItems", other)
    assert caught.value.type == "IdempotentParameterMismatchException"
    clock.now += 601
    await engine.reaper.sweep()
    await engine.call("TransactWriteItems", add)
    assert (await engine.call("GetItem", read))["Item"]["n"] == 2


async def test_a_token_outlives_the_process(tmp_path: Path) -> None:
    add = {
        "TransactItems": [{"Put": {"TableName": "things", "Item": {"pk": "a"}}}],
        "ClientRequestToken": "once",
    }
    engine = await Engine.open(tmp_path / "store.db")
    await engine.call("CreateTable", table())
    await engine.call("TransactWriteItems", add)
    await engine.call("DeleteItem", {"TableName": "things", "Key": {"pk": "a"}})
    await engine.close()
    engine = await Engine.open(tmp_path / "store.db")
    await engine.call("TransactWriteItems", add)
    assert await keys(engine) == set()
    await engine.close()


async def test_a_table_made_by_one_opener_is_seen_by_the_other(
    dynamo_factory: MakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await dynamo_factory(tmp_path / "store.db")
    two = await dynamo_factory(tmp_path / "store.db")
    await one.call("CreateTable", table())
    await put(two, "from two")
    await put(one, "from one")
    assert await keys(one) == await keys(two) == {"from one", "from two"}
    await one.call("DeleteTable", {"TableName": "things"})
    monkeypatch.setattr("entrepot.engine.storage.catalog.REFRESH_SECONDS", 0.0)
    with pytest.raises(Refused, match="not found"):
        await two.call("GetItem", {"TableName": "things", "Key": {"pk": "from one"}})
    with pytest.raises(Refused, match="not found"):
        await put(two, "too late")
    assert REFRESH_SECONDS < 1


async def test_a_table_made_again_is_empty(dynamo: Engine) -> None:
    await dynamo.call("CreateTable", table())
    await put(dynamo, "a")
    await dynamo.call("DeleteTable", {"TableName": "things"})
    await dynamo.call("CreateTable", table())
    assert await keys(dynamo) == set()
    await dynamo.reaper.sweep()
    assert dynamo.read("SELECT count(*) FROM trash").get == 0
    await put(dynamo, "b")
    assert await keys(dynamo) == {"b"}


async def test_a_long_page_is_read_in_a_thread_and_complete(tmp_path: Path) -> None:
    engine = await Engine.open(tmp_path / "store.db")
    await engine.call("CreateTable", table())
    await asyncio.gather(*(put(engine, f"k{number}") for number in range(2_000)))
    answer = await engine.call("Scan", {"TableName": "things"})
    assert answer["Count"] == 2_000
    assert "LastEvaluatedKey" not in answer
    await engine.close()


async def test_reads_show_a_write_only_when_it_is_durable(
    dynamo_factory: MakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = await dynamo_factory(tmp_path / "store.db")
    await engine.call("CreateTable", table())
    applied, allowed = threading.Event(), threading.Event()
    commit = engine.writer._commit

    def held_commit(*arguments: Any) -> None:
        applied.set()
        assert allowed.wait(30)
        commit(*arguments)

    monkeypatch.setattr(engine.writer, "_commit", held_commit)
    write = asyncio.ensure_future(put(engine, "a"))
    await asyncio.to_thread(applied.wait, 30)
    assert await keys(engine) == set()
    assert not write.done()
    allowed.set()
    await write
    assert await keys(engine) == {"a"}


async def test_closing_again_does_nothing(tmp_path: Path) -> None:
    engine = await Engine.open(tmp_path / "store.db")
    await engine.close()
    await engine.close()
