"""The relay's part of the command line: `entrepot listen`."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Callable

import aiohttp
import click
import msgspec

from entrepot.relay.attempts import passed_on
from entrepot.relay.tail import TailedEvent

FORWARD_SECONDS_MAX = 30.0
# Twice the silence after which the server says that it is still there.
SILENCE_SECONDS_MAX = 30.0
WAIT_SECONDS_FIRST = 0.5
WAIT_SECONDS_MAX = 10.0
# A body of 256 KiB whose every character is escaped, and its headers.
LINE_BYTES_MAX = 4 << 20

Say = Callable[[str], None]


class ListenRefused(Exception):
    """The server does not let this key follow this source."""


class Listener:
    """Follows a source on a server and repeats each event to an address that only this machine reaches."""

    def __init__(self, *, url: str, key: str, source: str, to: str, say: Say) -> None:
        self._tail = f"{url.rstrip('/')}/hooks/sources/{source}/tail"
        self._key = key
        self._to = to
        self._say = say
        self._last: str | None = None

    async def run(self) -> None:
        """Follow until cancelled; a connection that breaks is made again, from where it broke."""
        wait = WAIT_SECONDS_FIRST
        async with aiohttp.ClientSession(read_bufsize=LINE_BYTES_MAX) as session:
            while True:
                try:
                    async for event in self._events(session):
                        wait = WAIT_SECONDS_FIRST
                        await self._forward(session, event)
                        self._last = event.eventId
                except (aiohttp.ClientError, TimeoutError, OSError) as error:
                    self._say(f"The connection broke ({type(error).__name__}); again in {wait:g} s.")
                await asyncio.sleep(wait)
                wait = min(WAIT_SECONDS_MAX, wait * 2)

    async def _events(self, session: aiohttp.ClientSession) -> AsyncIterator[TailedEvent]:
        headers = {"Authorization": f"Bearer {self._key}", "Accept": "text/event-stream"}
        if self._last is not None:
            headers["Last-Event-ID"] = self._last
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=SILENCE_SECONDS_MAX)
        async with session.get(self._tail, headers=headers, timeout=timeout) as response:
            if response.status in (400, 401, 403, 404):
                raise ListenRefused(f"{response.status}: {(await response.text())[:500]}")
            response.raise_for_status()
            self._say("Listening; Ctrl-C stops.")
            async for line in response.content:
                if line.startswith(b"data: "):
                    yield msgspec.json.decode(line[len(b"data: ") :], type=TailedEvent)

    async def _forward(self, session: aiohttp.ClientSession, event: TailedEvent) -> None:
        body = base64.b64decode(event.bodyBase64) if event.bodyBase64 is not None else event.body.encode()
        own: dict[str, str] = {"webhook-id": event.eventId}
        if event.contentType:
            own["content-type"] = event.contentType
        began = time.perf_counter()
        try:
            async with session.request(
                "POST" if event.method in ("GET", "HEAD") else event.method,
                self._to,
                headers=passed_on(event.headers.items(), own),
                data=body,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=FORWARD_SECONDS_MAX),
            ) as response:
                answer = str(response.status)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            answer = f"no answer ({type(error).__name__})"
        milliseconds = (time.perf_counter() - began) * 1000
        self._say(f"{event.eventId}  {event.method}  {len(body)} bytes  {answer}  {milliseconds:.0f} ms")


@click.command()
@click.option("--url", default="http://127.0.0.1:8080", show_default=True, help="The server.")
@click.option("--key", envvar="ENTREPOT_KEY", required=True, help="A key with read permission: ek_…")
@click.option("--source", required=True, help="The source to follow: src_…")
@click.option("--to", required=True, help="Where each event goes: http://localhost:3000/hook")
def listen(url: str, key: str, source: str, to: str) -> None:
    """Forward a source's events to an address that only this machine reaches.

    What arrives from now on is sent as it came, unsigned; deliveries to connections are not touched.
    """
    listener = Listener(url=url, key=key, source=source, to=to, say=click.echo)
    try:
        asyncio.run(listener.run())
    except ListenRefused as refused:
        raise click.ClickException(str(refused)) from None
    except KeyboardInterrupt:
        click.echo("Stopped.")
