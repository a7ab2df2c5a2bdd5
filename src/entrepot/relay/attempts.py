"""One attempt: a request to a destination and what came of it, within one bound of time."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterable, Mapping

import aiohttp
import msgspec
from yarl import URL

from entrepot.relay.destinations import CheckedResolver, DestinationRefused, Destinations

KEPT_CHARACTERS = 1000
# UTF-8 takes at most four bytes for a character.
KEPT_BYTES = 4 * KEPT_CHARACTERS
ERROR_CHARACTERS_MAX = 500
CONNECTIONS_MAX = 512
HEAD_BYTES_MAX = 32 * 1024
KEEP_ALIVE_SECONDS = 15.0

# What belongs to the sender's connection to us, or must not reach a third party.
NOT_PASSED_ON = frozenset(
    {
        "accept-encoding", "authorization", "connection", "content-length", "cookie", "expect", "forwarded", "host",
        "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade", "via", "x-real-ip", "webhook-id", "webhook-timestamp", "webhook-signature",
    }
)  # fmt: skip
_FORWARDED_PREFIX = "x-forwarded-"


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it is sent."""

    url: str
    method: str
    headers: dict[str, str]
    body: bytes
    timeout_seconds: float


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a request: `status` is 0 when no answer came, and `error` says why."""

    status: int
    latency_ms: int
    body: str | None = None
    error: str | None = None
    retry_after: str | None = None


class Sender:
    """Sends requests to checked addresses only, follows no redirect and keeps no cookie."""

    def __init__(self, destinations: Destinations, *, ssl_context: ssl.SSLContext | None = None) -> None:
        self._destinations = destinations
        self._ssl = ssl_context
        self._session: aiohttp.ClientSession | None = None

    async def send(self, request: Outgoing) -> Answer:
        """Make one attempt; whatever the destination does, an answer comes within the time."""
        began = time.perf_counter()
        status, retry_after, error = 0, None, None
        kept = bytearray()
        try:
            async with asyncio.timeout(request.timeout_seconds):
                self._destinations.host_of(request.url)
                async with self._opened().request(
                    request.method,
                    URL(request.url),
                    headers=request.headers,
                    data=request.body,
                    allow_redirects=False,
                ) as response:
                    status, retry_after = response.status, response.headers.get("Retry-After")
                    await _read(response, kept)
        except TimeoutError:
            error = None if status else f"no answer within {request.timeout_seconds:g} s"
        except (aiohttp.ClientError, DestinationRefused, OSError, ValueError) as problem:
            # A body that breaks off after the status leaves the status standing.
            error = None if status else _words(problem)
        return Answer(
            status=status,
            latency_ms=round((time.perf_counter() - began) * 1000),
            body=_text(kept) if status else None,
            error=error if status == 0 else _redirect(status),
            retry_after=retry_after,
        )

    async def close(self) -> None:
        """Let go of all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                resolver=CheckedResolver(self._destinations),
                use_dns_cache=False,
                limit=CONNECTIONS_MAX,
                keepalive_timeout=KEEP_ALIVE_SECONDS,
                ssl=self._ssl if self._ssl is not None else True,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
                auto_decompress=False,
                max_line_size=HEAD_BYTES_MAX,
                max_field_size=HEAD_BYTES_MAX,
                read_bufsize=KEPT_BYTES,
                skip_auto_headers=["Accept", "Accept-Encoding", "User-Agent", "Content-Type"],
            )
        return self._session


def passed_on(headers: Iterable[tuple[str, str]], own: Mapping[str, str]) -> dict[str, str]:
    """The headers of a delivery: the sender's that may be passed on, and those of our own, which win."""
    given = [(name.lower(), value) for name, value in headers]
    named = {
        word.strip().lower() for name, value in given if name == "connection" for word in value.split(",")
    }
    result = {
        name: value
        for name, value in given
        if name not in NOT_PASSED_ON and name not in named and not name.startswith(_FORWARDED_PREFIX)
    }
    result.update({name.lower(): value for name, value in own.items()})
    return result


async def _read(response: aiohttp.ClientResponse, kept: bytearray) -> None:
    while len(kept) < KEPT_BYTES:
        part = await response.content.read(KEPT_BYTES - len(kept))
        if not part:
            return
        kept += part
    # The rest is not read, so the connection can't be used again.
    response.close()


def _text(body: bytes | bytearray) -> str:
    return body.decode("utf-8", "replace").replace("\x00", "\ufffd")[:KEPT_CHARACTERS]


def _redirect(status: int) -> str | None:
    return "redirects are not followed" if 300 <= status < 400 else None


def _words(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"[:ERROR_CHARACTERS_MAX]
