"""An engine on a real port of this machine, for tests that speak HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn

from entrepot.engine import Engine
from entrepot.engine.server import Server, listen
from entrepot.engine.signature import Signatures
from entrepot.engine.wire import Wire, WireApp


@asynccontextmanager
async def served(engine: Engine, secrets: dict[str, str] | None = None) -> AsyncIterator[str]:
    """Serves an engine while the context is open; gives its URL."""
    ready = asyncio.Event()
    bound = listen("127.0.0.1", 0)
    app = WireApp(Wire(engine), Signatures(secrets, engine.clock) if secrets else None)
    config = uvicorn.Config(app, lifespan="off", log_level="warning", http="httptools", ws="none")
    server = Server(config, ready.set)
    task = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        await asyncio.wait_for(ready.wait(), 10)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        bound.close()
