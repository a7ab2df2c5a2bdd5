"""Telemetry on a real port with a clock that tests move, or as its parts on a store in memory."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from entrepot.accounts import passwords
from entrepot.app import SECTIONS, build
from entrepot.cli.server import listening_socket, server_config, url_of
from entrepot.clock import Clock
from entrepot.datadir import DataDir
from entrepot.engine.pytest_plugin import MakeEngine
from entrepot.settings import Core, load
from tests.telemetry.floor import Floor, floor_on

PASSWORD = "correct horse battery"
ADMIN_TOKEN = "the operator's own token"
QUICK_COST = 4
SECONDS_MAX = 20


class Installation:
    """A running application, and the people and devices that call it."""

    def __init__(self, url: str, clock: Clock, directory: Path, clients: ExitStack) -> None:
        self.url = url
        self.clock = clock
        self.directory = directory
        self._clients = clients
        self._numbers = itertools.count(1)

    def client(self, **headers: str) -> httpx.Client:
        client = httpx.Client(base_url=self.url, timeout=SECONDS_MAX, headers=headers)
        return self._clients.enter_context(client)

    def person(self) -> httpx.Client:
        """The browser of someone who has just signed up."""
        browser = self.client()
        data = {"email": f"p{next(self._numbers)}@example.com", "password": PASSWORD, "name": "Ada"}
        answer = browser.post("/accounts/signup", json=data)
        assert answer.status_code == 201, answer.text
        return browser

    def operator(self) -> httpx.Client:
        return self.client(authorization=f"Bearer {ADMIN_TOKEN}")

    def key_of(self, owner: httpx.Client) -> str:
        answer = owner.post("/telemetry/api-keys", json={"description": "of a test"})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["api_key"])

    def device(self, owner: httpx.Client) -> httpx.Client:
        """A device that sends its owner's key."""
        return self.client(**{"x-api-key": self.key_of(owner)})


Install = Callable[..., Installation]


@contextmanager
def running(directory: Path, **settings: str) -> Iterator[Installation]:
    given = {
        "DATA_DIR": str(directory / "data"),
        "SIGNUP": "open",
        "LOG_LEVEL": "error",
        "TESTING": "1",
        "ADMIN_TOKEN": ADMIN_TOKEN,
    }
    given.update({name.upper(): value for name, value in settings.items()})
    environment = {f"ENTREPOT_{name}": value for name, value in given.items()}
    loaded = load(SECTIONS, environment=environment, directory=directory)
    data = DataDir(loaded[Core].data_dir)
    data.open()
    clock = Clock()
    application = build(loaded, data, clock)
    listener = listening_socket("127.0.0.1", 0)
    started = threading.Event()

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets=sockets)
            started.set()

    server = Announcing(server_config(application, loaded[Core]))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        assert started.wait(SECONDS_MAX)
        with ExitStack() as clients:
            yield Installation(url_of(listener), clock, directory, clients)
    finally:
        server.should_exit = True
        thread.join(SECONDS_MAX)
        assert not thread.is_alive()


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that cost little; what they cost has tests of its own."""
    monkeypatch.setattr(passwords, "COST", QUICK_COST)


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Install]:
    """Starts installations with settings of their own."""
    with ExitStack() as stack:
        numbers = itertools.count()

        def start(**settings: str) -> Installation:
            directory = tmp_path / str(next(numbers))
            directory.mkdir()
            context: AbstractContextManager[Installation] = running(directory, **settings)
            return stack.enter_context(context)

        yield start


@pytest.fixture
def here(install: Install) -> Installation:
    """An installation where anyone may sign up."""
    return install()


@pytest.fixture
async def floor(dynamo_factory: MakeEngine) -> Floor:
    """Telemetry without HTTP, on a store in memory."""
    clock = Clock()
    engine = await dynamo_factory(clock=lambda: clock.epoch_ms() / 1000)
    return await floor_on(engine, clock)
