"""An installation on a real port, with a clock that tests move."""

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
from entrepot.settings import Core, load

PASSWORD = "correct horse battery"
QUICK_COST = 4
START_SECONDS_MAX = 20


class Installation:
    """A running application and its clients; each client is a browser of its own."""

    def __init__(self, url: str, clock: Clock, first_path: str | None, clients: ExitStack) -> None:
        self.url = url
        self.clock = clock
        self.first_token = first_path.partition("=")[2] if first_path else ""
        self._clients = clients
        self._numbers = itertools.count(1)

    def browser(self, **headers: str) -> httpx.Client:
        """Nobody's browser."""
        return self._clients.enter_context(
            httpx.Client(base_url=self.url, timeout=START_SECONDS_MAX, headers=headers)
        )

    def person(self, email: str | None = None, **body: Any) -> httpx.Client:
        """The browser of someone who has just signed up."""
        browser = self.browser()
        email = email or f"person{next(self._numbers)}@example.com"
        data = {"email": email, "password": PASSWORD, "name": "Ada", **body}
        response = browser.post("/accounts/signup", json=data)
        assert response.status_code == 201, response.text
        return browser

    def operator(self) -> httpx.Client:
        """The browser of who opened the first link."""
        return self.person("operator@example.com", invite=self.first_token)

    def program(self, key: str) -> httpx.Client:
        """A program with a key."""
        return self.browser(authorization=f"Bearer {key}")


Install = Callable[..., Installation]


@contextmanager
def running(directory: Path, **settings: str) -> Iterator[Installation]:
    given = {"DATA_DIR": str(directory / "data"), "SIGNUP": "open", "LOG_LEVEL": "error", "TESTING": "1"}
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
    url = url_of(listener)
    thread.start()
    try:
        assert started.wait(START_SECONDS_MAX)
        with ExitStack() as clients:
            yield Installation(url, clock, application.first_path(), clients)
    finally:
        server.should_exit = True
        thread.join(START_SECONDS_MAX)
        assert not thread.is_alive()


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that cost little, so that tests spend no time on them; what they cost has tests of its own."""
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
