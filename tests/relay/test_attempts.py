"""A receiver that fails in every way, and a reconciliation of what it was sent."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import trustme
from aiohttp import web

from entrepot.relay.attempts import KEPT_CHARACTERS, Outgoing, Sender
from entrepot.relay.destinations import Destinations
from tests.relay.world import Receiver, World

pytestmark = pytest.mark.anyio

LOCAL = Destinations(allow_http=True, allow_networks=["127.0.0.0/8", "::1/128"])
HUGE_BYTES = 64 << 20

Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def request(url: str, seconds: float = 5.0) -> Outgoing:
    return Outgoing(url=url, method="POST", headers={"x": "y"}, body=b"{}", timeout_seconds=seconds)


@pytest.fixture
async def sender() -> AsyncIterator[Sender]:
    made = Sender(LOCAL)
    yield made
    await made.close()


@asynccontextmanager
async def raw_server(connected: Connected) -> AsyncIterator[str]:
    """A server below HTTP, for answers that no server would give."""
    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"


async def test_a_slow_destination_is_cut_at_the_timeout(sender: Sender, receiver: Receiver) -> None:
    never = asyncio.Event()

    async def wait(_: web.Request) -> web.Response:
        await never.wait()
        return web.Response()

    receiver.handler = wait
    answer = await sender.send(request(receiver.url, seconds=0.1))
    never.set()
    assert (answer.status, answer.error) == (0, "no answer within 0.1 s")


async def test_a_reset_connection_is_no_answer(sender: Sender) -> None:
    async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with raw_server(reset) as url:
        answer = await sender.send(request(url))
    assert answer.status == 0
    assert answer.error


async def test_half_an_answer_is_none(sender: Sender) -> None:
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Le")
        await writer.drain()
        writer.close()

    async with raw_server(half) as url:
        assert (await sender.send(request(url))).status == 0


async def test_a_body_that_breaks_off_leaves_the_status(sender: Sender) -> None:
    async def broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
        await writer.drain()
        writer.close()

    async with raw_server(broken) as url:
        answer = await sender.send(request(url))
    assert (answer.status, answer.error) == (200, None)


async def test_a_body_that_drips_past_the_timeout_is_cut_and_the_status_stands(sender: Sender) -> None:
    never = asyncio.Event()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
        await writer.drain()
        await never.wait()
        writer.close()

    async with raw_server(drip) as url:
        answer = await sender.send(request(url, seconds=0.3))
        never.set()
    assert (answer.status, answer.body, answer.error) == (200, "hello", None)


async def test_a_huge_body_is_not_read(sender: Sender, receiver: Receiver) -> None:
    sent = 0

    async def huge(got: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(got)
        part = b"x" * (1 << 20)
        while sent < HUGE_BYTES:
            await response.write(part)
            sent += len(part)
        return response

    receiver.handler = huge
    answer = await sender.send(request(receiver.url))
    assert (answer.status, len(answer.body or "")) == (200, KEPT_CHARACTERS)
    assert sent < HUGE_BYTES


async def test_a_redirect_is_not_followed(sender: Sender, receiver: Receiver) -> None:
    async def away(_: web.Request) -> web.Response:
        return web.Response(status=301, headers={"Location": receiver.url})

    receiver.handler = away
    answer = await sender.send(request(receiver.url))
    assert (answer.status, answer.error) == (301, "redirects are not followed")
    assert len(receiver.seen) == 1


async def test_a_certificate_of_nobody_known_or_of_another_name_is_no_answer() -> None:
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(server)
    receiver = Receiver()
    await receiver.start(server)
    unknowing = Sender(LOCAL)
    assert "certificate" in ((await unknowing.send(request(receiver.url))).error or "").lower()
    await unknowing.close()
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    knowing = Sender(LOCAL, ssl_context=trusting)
    by_address = await knowing.send(request(receiver.url))
    by_name = await knowing.send(request(receiver.url.replace("127.0.0.1", "localhost")))
    await knowing.close()
    await receiver.stop()
    assert (by_address.status, by_name.status) == (0, 200)


async def test_every_event_arrives_at_a_receiver_that_fails_in_every_way(world: World) -> None:
    """Each event meets each failure once before it is taken; afterwards the books agree."""
    receiver = Receiver()
    never = asyncio.Event()
    tries: dict[str, int] = {}

    async def misbehave(got: web.Request) -> web.StreamResponse:
        event_id = got.headers["webhook-id"]
        turn = tries[event_id] = tries.get(event_id, 0) + 1
        if turn == 1:
            return web.Response(status=500)
        if turn == 2:
            await never.wait()
        if turn == 3:
            assert got.transport is not None
            got.transport.abort()
        if turn == 4:
            return web.Response(status=301, headers={"Location": "/"})
        return web.Response(status=429) if turn == 5 else web.Response()

    receiver.handler = misbehave
    await receiver.start()
    config = '{"delays":[0,1,1,1,1,1],"timeoutSeconds":0.2}'
    await world.connect(receiver.url, retryConfig=config)
    events = [await world.receive() for _ in range(20)]
    for _ in range(7):
        await world.settle(seconds=2)
    never.set()
    await receiver.stop()
    assert {(await world.event(event)).status for event in events} == {"delivered"}
    assert receiver.ids == {event.eventId: 6 for event in events}
    statuses = {tuple(attempt.statusCode for attempt in await world.attempts(event)) for event in events}
    assert statuses == {(500, 0, 0, 301, 429, 200)}
