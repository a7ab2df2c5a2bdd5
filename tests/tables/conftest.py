"""The stores that the library's suite runs on: the engine, kind and unkind, over the wire, and one not ours."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
import uvicorn
from botocore.credentials import Credentials
from moto.server import ThreadedMotoServer

from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.engine.wire import Wire, WireApp
from entrepot.tables import Database, Store, provision
from entrepot.tables.stores.remote import RemoteStore
from tests.tables.sample import TABLES

# As unkind as the cloud in all that the library promises to bear, but for indexes that lag.
UNKIND = "throttle=0.1,conflict=0.05,request_limit=0.05,in_progress=0.05,unprocessed=0.3,short_pages=0.5"
CREDENTIALS = Credentials("testing", "testing")
START_SECONDS = 10.0


@pytest.fixture(scope="session")
def moto_endpoint() -> Iterator[str]:
    """A moto server, for the whole session."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}/"
    server.stop()


class WireServer:
    """The engine behind HTTP, in a thread with a loop of its own."""

    def __init__(self) -> None:
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{self.socket.getsockname()[1]}/"
        self._ready = threading.Event()
        self._server: uvicorn.Server | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(START_SECONDS)

    def stop(self) -> None:
        assert self._server is not None
        self._server.should_exit = True
        self._thread.join()

    async def _run(self) -> None:
        engine = await Engine.open(":memory:")
        config = uvicorn.Config(WireApp(Wire(engine)), lifespan="off", log_level="warning", ws="none")
        self._server = uvicorn.Server(config)
        # A socket that listens already takes connections before the server runs.
        self.socket.listen()
        self._ready.set()
        await self._server.serve(sockets=[self.socket])
        await engine.close()


@pytest.fixture
def wire_endpoint() -> Iterator[str]:
    server = WireServer()
    server.start()
    yield server.endpoint
    server.stop()


@pytest.fixture(params=["engine", "unkind", "wire", "moto"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """An empty store of each kind."""
    if request.param in ("engine", "unkind"):
        engine = await Engine.open(":memory:", chaos=UNKIND if request.param == "unkind" else None)
        yield engine
        await engine.close()
        return
    if request.param == "moto":
        endpoint = request.getfixturevalue("moto_endpoint")
        async with httpx.AsyncClient() as client:
            await client.post(f"{endpoint}moto-api/reset")
    else:
        endpoint = request.getfixturevalue("wire_endpoint")
    remote = RemoteStore(endpoint, "us-east-1", CREDENTIALS)
    yield remote
    await remote.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def db(store: Store, clock: Clock) -> Database:
    """A database with the sample tables, on each kind of store."""
    made = Database(store, clock=clock)
    await provision(made, TABLES)
    return made


@pytest.fixture
async def engine_db(clock: Clock) -> AsyncIterator[Database]:
    """A database with the sample tables on the engine alone, for what no store can change."""
    engine = await Engine.open(":memory:", clock=lambda: clock.epoch_ms() / 1000)
    made = Database(engine, clock=clock)
    await provision(made, TABLES)
    yield made
    await engine.close()
