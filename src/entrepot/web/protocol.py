"""The HTTP/1.1 connection, with the bounds that uvicorn's own leaves open: a head's size and its time."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from entrepot.http.problems import MEDIA_TYPE, Problem, document
from entrepot.ids import nanoid
from entrepot.log import fields
from entrepot.web.security import SECURITY_HEADERS

# How much of a refused body is still read, so that its sender sees the answer and not a reset connection.
LINGER_BYTES_MAX = 16 * 1024 * 1024
LINGER_SECONDS = 5.0
# How long a caller may read nothing of an answer that waits for it.
UNREAD_SECONDS_MAX = 60.0

log = logging.getLogger("entrepot.request")


def bounded_protocol(*, header_bytes_max: int, header_timeout_seconds: float) -> type[HttpToolsProtocol]:
    """A protocol class for uvicorn that refuses a head that is too large (431) or too slow (408)."""

    class Bounded(BoundedProtocol):
        bytes_max = header_bytes_max
        timeout_seconds = header_timeout_seconds

    return Bounded


class BoundedProtocol(HttpToolsProtocol):
    """One connection; a head is counted while it arrives, because the parser keeps all of it in memory."""

    bytes_max: int
    timeout_seconds: float

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = True
        self._head_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._linger_timer: asyncio.TimerHandle | None = None
        self._linger_bytes = 0
        self._unread_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(self.timeout_seconds, self._head_timed_out)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_lingering()
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
        elif self._linger_timer is not None:
            self._linger_bytes += len(data)
            if self._linger_bytes > LINGER_BYTES_MAX:
                self.transport.close()
                return
        super().data_received(data)
        if self._in_head and self._head_bytes > self.bytes_max and not self.transport.is_closing():
            self._refuse(headers_too_large(self.bytes_max))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.timeout_seconds, self._head_timed_out)

    def on_headers_complete(self) -> None:
        self._stop_timer()
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head = True
        self._head_bytes = 0
        super().on_message_complete()
        if self._linger_timer is not None:
            self._stop_lingering()
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._in_head or not self.cycle.response_complete or self.transport.is_closing():
            return
        self._linger_bytes = 0
        self._linger_timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_timer = self.loop.call_later(UNREAD_SECONDS_MAX, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_waiting()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            # An answer is under way; words of ours in its midst would be taken for a part of it.
            self.transport.close()
            return
        self._refuse(Problem("This is not an HTTP/1.1 request.", code="MALFORMED_REQUEST"))

    def _head_timed_out(self) -> None:
        self._head_timer = None
        if self.transport.is_closing():
            return
        if self._head_bytes == 0:
            self.transport.close()
            return
        self._refuse(Problem(f"The request's head took more than {self.timeout_seconds:g} s.", status=408))

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_lingering(self) -> None:
        if self._linger_timer is not None:
            self._linger_timer.cancel()
            self._linger_timer = None

    def _stop_waiting(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None

    def _refuse(self, problem: Problem) -> None:
        request_id = nanoid()
        body = document(problem, request_id=request_id, instance="")
        headers = [
            *self.server_state.default_headers,
            *SECURITY_HEADERS,
            (b"content-type", MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"x-request-id", request_id.encode()),
            (b"connection", b"close"),
        ]
        lines = [b"%s: %s\r\n" % header for header in headers]
        peer = self.client[0] if self.client else ""
        log.info(
            "refused: %s", problem.code, extra=fields(status=problem.status, request_id=request_id, peer=peer)
        )
        self.transport.write(b"".join([STATUS_LINE[problem.status], *lines, b"\r\n", body]))
        self.transport.close()


def headers_too_large(bytes_max: int) -> Problem:
    """The problem of a head over its bound."""
    return Problem(
        f"The request's head is larger than {bytes_max} bytes.", status=431, headers={"Connection": "close"}
    )
