"""A load of signed requests over kept connections, light enough that the server is what is measured."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec

# Every server here accepts any signature, but wants one.
_AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=bench/20261116/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, Signature=" + "0" * 64
)


class Client:
    """Connections to one server, on each of which one request is under way at a time."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self.failures = 0

    def request(self, operation: str, body: dict[str, Any]) -> bytes:
        """The bytes of one request, head and body."""
        content = msgspec.json.encode(body)
        head = (
            f"POST / HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n"
            f"X-Amz-Date: 20261116T000000Z\r\nAuthorization: {_AUTHORIZATION}\r\n"
            f"Content-Type: application/x-amz-json-1.0\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content

    async def call(self, operation: str, body: dict[str, Any]) -> Any:
        """One request on a connection of its own; the decoded answer."""
        reader, writer = await asyncio.open_connection(self._host, self._port)
        status, content, _ = await _exchange(reader, writer, self.request(operation, body))
        writer.close()
        if status != 200:
            raise RuntimeError(f"{operation}: {status} {content[:200]!r}")
        return msgspec.json.decode(content)

    async def rate(self, requests: Iterator[bytes], connections: int) -> float:
        """Answers per second with so many connections; a server's own failures are counted apart."""
        started = time.perf_counter()
        done = sum(await asyncio.gather(*(self._work(requests) for _ in range(connections))))
        return done / (time.perf_counter() - started)

    async def _work(self, requests: Iterator[bytes]) -> int:
        done = 0
        reader, writer = await asyncio.open_connection(self._host, self._port)
        for request in requests:
            status, content, kept = await _exchange(reader, writer, request)
            if status == 200:
                done += 1
            elif status >= 500:
                self.failures += 1
            else:
                raise RuntimeError(f"{status} {content[:200]!r}")
            if not kept:
                writer.close()
                reader, writer = await asyncio.open_connection(self._host, self._port)
        writer.close()
        return done


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> tuple[int, bytes, bool]:
    """Status, body, and whether the server keeps the connection."""
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    status, kept = int(head[9:12]), b"connection: close" not in head
    at = head.find(b"content-length:")
    if at < 0:
        return status, await _chunks(reader), kept
    length = int(head[at + 15 : head.index(b"\r\n", at)])
    return status, await reader.readexactly(length) if length else b"", kept


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    content = b""
    while size := int((await reader.readuntil(b"\r\n"))[:-2], 16):
        content += (await reader.readexactly(size + 2))[:-2]
    await reader.readuntil(b"\r\n")
    return content


def repeat(make: Callable[[int], bytes], numbers: Iterator[int], count: int) -> Iterator[bytes]:
    """So many requests, each made from the next number before the clock starts."""
    return iter([make(next(numbers)) for _ in range(count)])
