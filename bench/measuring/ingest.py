"""A bare ASGI handler that writes one item durably per request, or does all but that; `bench/wire.py` runs both."""

from __future__ import annotations

import asyncio
import sys
from itertools import count
from typing import Any

import msgspec
import uvicorn
import uvloop

from entrepot.engine import Engine
from entrepot.engine.server import Server, listen

TABLE = {
    "TableName": "events",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
ANSWER = msgspec.json.encode({"status": "received"})
HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(ANSWER)).encode())]


class Ingest:
    def __init__(self, engine: Engine | None) -> None:
        self._engine = engine
        self._numbers = count()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = msgspec.json.decode((await receive())["body"])
        number = next(self._numbers)
        item = {"pk": f"SOURCE#{number % 10}", "sk": f"EVENT#{number:010}", "body": body["a"]}
        if self._engine is not None:
            await self._engine.call("PutItem", {"TableName": "events", "Item": item})
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": ANSWER})


async def main(kind: str, path: str) -> None:
    engine = await Engine.open(path) if kind == "write" else None
    if engine is not None:
        await engine.call("CreateTable", TABLE)
    bound = listen("127.0.0.1", 0)
    config = uvicorn.Config(
        Ingest(engine), lifespan="off", access_log=False, log_level="warning", http="httptools"
    )
    ready = lambda: print(f"http://127.0.0.1:{bound.getsockname()[1]}", flush=True)  # noqa: E731
    await Server(config, ready).serve(sockets=[bound])
    if engine is not None:
        await engine.close()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(main(sys.argv[1], sys.argv[2]))
