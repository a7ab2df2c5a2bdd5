"""The engine as a server of its own: what `entrepot dynamo` runs."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import uvicorn

from entrepot.engine.engine import Engine
from entrepot.engine.signature import Signatures
from entrepot.engine.storage.file import MEMORY
from entrepot.engine.wire import Wire, WireApp

STORE_NAME = "dynamo.db"
DRAIN_SECONDS = 10


class Server(uvicorn.Server):
    """A uvicorn server that says when it answers."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; raises OSError where the address is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind((host, port))
    return bound


async def serve(
    bound: socket.socket,
    data: str | Path,
    on_ready: Callable[[], None],
    secrets: Mapping[str, str] | None = None,
) -> None:
    """Serves a store until a signal ends it; `data` is a directory, or `:memory:`.

    With `secrets`, by the ids of their keys, only requests that one of them has signed are answered.
    """
    path = data if str(data) == MEMORY else Path(data) / STORE_NAME
    engine = await Engine.open(path)
    try:
        config = uvicorn.Config(
            WireApp(Wire(engine), Signatures(secrets, engine.clock) if secrets else None),
            lifespan="off",
            access_log=False,
            log_level="warning",
            http="httptools",
            ws="none",
            interface="asgi3",
            server_header=True,
            timeout_graceful_shutdown=DRAIN_SECONDS,
        )
        await Server(config, on_ready).serve(sockets=[bound])
    finally:
        await engine.close()


def run(
    bound: socket.socket,
    data: str | Path,
    on_ready: Callable[[], None],
    secrets: Mapping[str, str] | None = None,
) -> None:
    """Runs `serve` on the fastest loop there is."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve(bound, data, on_ready, secrets))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        from uvloop import new_event_loop
    except ImportError:  # Windows has none.
        return asyncio.new_event_loop
    return new_event_loop
