"""A connection that is cut off in the middle of a request, as a network does."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

_LINGER_NOT_AT_ALL = struct.pack("ii", 1, 0)


async def cut_off(
    receive: Callable[[], Awaitable[dict[str, Any]]], send: Callable[[dict[str, Any]], Awaitable[None]]
) -> None:
    """Resets the connection of an ASGI request that has not been answered yet."""
    # ASGI has no word for this; under uvicorn `send` belongs to a cycle that holds the transport.
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if not isinstance(transport, asyncio.BaseTransport) and not hasattr(transport, "abort"):
        raise ConnectionResetError("chaos cut off a request, on a server whose connections can't be reset")
    _reset_on_close(transport)
    transport.abort()  # type: ignore[union-attr]
    while (await receive())["type"] != "http.disconnect":
        pass


def _reset_on_close(transport: Any) -> None:
    """Without lingering, a close sends RST: the peer sees a reset, not an end."""
    bound = transport.get_extra_info("socket")
    if bound is None:
        return
    # A duplicate, because uvloop's socket lets nobody set options; they are those of the connection.
    with socket.socket(fileno=socket.dup(bound.fileno())) as duplicate:
        duplicate.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT_AT_ALL)
