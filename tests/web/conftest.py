"""The application on a real port, with routes and lanes that only tests need."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import httpx
import msgspec
import pytest
import uvicorn
from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromQuery, JSONBody
from litestar.response import Stream
from litestar.types import ControllerRouterHandler

from entrepot.cli.server import listening_socket, server_config, url_of
from entrepot.http.asgi import ASGIApp, Receive, Scope, Send
from entrepot.http.caller import (
    ANONYMOUS,
    Caller,
    Connection,
    admin,
    anyone,
    bearer,
    operator,
    person,
    reader,
    writer,
)
from entrepot.http.peer import Peers
from entrepot.http.problems import Conflict, MethodNotAllowed
from entrepot.settings import Core
from entrepot.web.application import assemble
from entrepot.web.edge import Limits
from entrepot.web.parts import Part

Serve = Callable[..., httpx.Client]

BODY_BYTES_MAX = 100_000
LARGE_BYTES_MAX = 200_000
HEADER_BYTES_MAX = 4096

CALLERS = {
    "person": Caller(kind="person", user_id="usr_p", permission="admin"),
    "read-key": Caller(kind="key", user_id="usr_p", key_id="k1", permission="read"),
    "write-key": Caller(kind="key", user_id="usr_p", key_id="k2", permission="write"),
    "operator": Caller(kind="person", user_id="usr_o", permission="admin", operator=True),
}


class Thing(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    count: int
    tags: list[str] = []


async def known_caller(connection: Connection) -> Caller:
    return CALLERS.get(bearer(connection) or "", ANONYMOUS)


@post("/things", guards=[anyone])
async def make_thing(data: JSONBody[Thing]) -> Thing:
    return data


@post("/large", guards=[anyone], opt={"body_bytes_max": LARGE_BYTES_MAX})
async def make_large_thing(data: JSONBody[Thing]) -> int:
    return len(data.name)


@get("/things", guards=[anyone])
async def list_things(limit: FromQuery[int] = 10) -> dict[str, int]:
    return {"limit": limit}


@get("/taken", guards=[anyone])
async def taken() -> None:
    raise Conflict("The name is taken.", code="NAME_TAKEN")


@get("/broken", guards=[anyone])
async def broken() -> None:
    raise RuntimeError("the password is hunter2")


@get("/slow", guards=[anyone])
async def slow() -> None:
    await asyncio.Event().wait()


@get("/torn", guards=[anyone])
async def torn() -> Stream:
    async def parts() -> AsyncIterator[bytes]:
        yield b"one"
        raise RuntimeError("no more")

    return Stream(parts())


def who(path: str, guard: Any) -> ControllerRouterHandler:
    @get(path, guards=[guard])
    async def answer(caller: NamedDependency[Caller]) -> dict[str, str | None]:
        return {"kind": caller.kind, "user": caller.user_id}

    return answer


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """A lane that answers with how many bytes it got."""
    if scope["method"] != "POST":
        raise MethodNotAllowed(scope["method"], ["POST"])
    size = 0
    more = True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 202, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": str(size).encode()})


async def endless(scope: Scope, receive: Receive, send: Send) -> None:
    """A lane that sends until the caller has gone."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    gone = asyncio.ensure_future(_until_gone(receive))
    while not gone.done():
        await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


ROUTES: Sequence[ControllerRouterHandler] = [
    make_thing, make_large_thing, list_things, taken, broken, slow, torn,
    who("/who/anyone", anyone), who("/who/person", person), who("/who/reader", reader),
    who("/who/writer", writer), who("/who/admin", admin), who("/who/operator", operator),
]  # fmt: skip
LANES: Mapping[str, ASGIApp] = {
    "/lane/exact": echo,
    "/lane/below/": echo,
    "/lane/endless": endless,
    "/t/": echo,
}


@contextmanager
def running(
    *, parts: Sequence[Part] = (), timeout_seconds: float = 30.0, trusted: Sequence[str] = ()
) -> Iterator[httpx.Client]:
    limits = Limits(
        body_bytes_max=BODY_BYTES_MAX, header_bytes_max=HEADER_BYTES_MAX, timeout_seconds=timeout_seconds
    )
    application = assemble(
        parts=parts, limits=limits, authenticator=known_caller, log_key=b"k", peers=Peers(trusted),
        routes=ROUTES, lanes=LANES,
    )  # fmt: skip
    core = Core(header_bytes_max=HEADER_BYTES_MAX, request_timeout_seconds=timeout_seconds)
    listener = listening_socket("127.0.0.1", 0)
    started = threading.Event()

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets=sockets)
            started.set()

    server = Announcing(server_config(application, core))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    url = url_of(listener)
    thread.start()
    try:
        assert started.wait(20)
        with httpx.Client(base_url=url, timeout=20) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts an application with its own parts or limits, and gives a client of it."""
    with ExitStack() as stack:

        def start(**how: Any) -> httpx.Client:
            context: AbstractContextManager[httpx.Client] = running(**how)
            return stack.enter_context(context)

        yield start


@pytest.fixture(scope="session")
def client() -> Iterator[httpx.Client]:
    """A client of an application that many tests share."""
    with running() as client:
        yield client
