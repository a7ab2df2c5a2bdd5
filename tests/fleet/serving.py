"""The fleet alone on a real port, and callers that only tests know."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from uuid import NAMESPACE_URL, UUID, uuid5

import httpx
import uvicorn

from entrepot.cli.server import listening_socket, server_config, url_of
from entrepot.clock import Clock
from entrepot.fleet.part import FleetPart
from entrepot.fleet.settings import Fleet
from entrepot.fleet.worker import Publish
from entrepot.http.caller import ANONYMOUS, Caller, Connection, bearer
from entrepot.settings import Core
from entrepot.web.application import assemble
from entrepot.web.edge import Limits

# The loops of a test's process stay quiet: a test calls what it wants to see.
NEVER_SECONDS = 3600.0

T = TypeVar("T")

CALLERS = {
    "alice": Caller(kind="person", user_id="usr_alice", permission="admin"),
    "bob": Caller(kind="person", user_id="usr_bob", permission="admin"),
    "reader": Caller(kind="key", user_id="usr_alice", key_id="k", permission="read"),
    "operator": Caller(kind="token", permission="admin", operator=True),
}


def uuid_of(name: str) -> UUID:
    return uuid5(NAMESPACE_URL, f"usr_{name}")


ALICE, BOB = uuid_of("alice"), uuid_of("bob")


async def known_caller(connection: Connection) -> Caller:
    return CALLERS.get(bearer(connection) or "", ANONYMOUS)


async def owner_of(caller: Caller) -> UUID | None:
    return uuid5(NAMESPACE_URL, caller.user_id) if caller.user_id else None


class Serving:
    """An application with the fleet alone, on a real port."""

    def __init__(self, address: str, part: FleetPart, clock: Clock) -> None:
        self.part = part
        self.clock = clock
        self.loop: asyncio.AbstractEventLoop | None = None
        self.address = address
        self._stack = ExitStack()
        self.nobody = self._client(None)
        self.alice = self._client("alice")
        self.bob = self._client("bob")

    def _client(self, name: str | None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {name}"} if name else {}
        return self._stack.enter_context(httpx.Client(base_url=self.address, timeout=30, headers=headers))

    def as_(self, name: str) -> httpx.Client:
        return self._client(name)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something of the part in the server's own loop."""
        assert self.loop is not None
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def close(self) -> None:
        self._stack.close()


def parts_of(
    clock: Clock,
    *,
    url: str | None = None,
    data_path: Path = Path("/nowhere"),
    sweep_seconds: float = NEVER_SECONDS,
    publish: Publish | None = None,
    serves: bool = True,
) -> FleetPart:
    return FleetPart(
        settings=Fleet(sweep_seconds=sweep_seconds),
        postgres_url=url,
        data_path=data_path,
        clock=clock,
        cursor_key=b"cursor key of the tests",
        owners=owner_of,
        publish=publish,
        serves=serves,
    )


@contextmanager
def serving(part: FleetPart, clock: Clock) -> Iterator[Serving]:
    limits = Limits(body_bytes_max=1 << 20, header_bytes_max=32768, timeout_seconds=30.0)
    application = assemble(
        parts=[part],
        limits=limits,
        authenticator=known_caller,
        log_key=b"k",
        routes=part.routes,
        lanes=part.lanes,
    )
    listener = listening_socket("127.0.0.1", 0)
    started = threading.Event()

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets=sockets)
            served.loop = asyncio.get_running_loop()
            started.set()

    running = Announcing(server_config(application, Core()))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    address = url_of(listener)
    served = Serving(address, part, clock)
    thread.start()
    try:
        assert started.wait(20)
        yield served
    finally:
        served.close()
        running.should_exit = True
        thread.join(20)
        assert not thread.is_alive()
