"""The edge: what every request passes first and every answer last.

Gives the request its id, trace and peer, holds it to its bounds of size and time, turns whatever goes wrong
into a problem document, adds the security headers, counts it, and writes its one log line.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from typing import Any

import msgspec

from entrepot.http.asgi import ASGIApp, Message, Receive, Scope, Send
from entrepot.http.exchange import Exchange, attach
from entrepot.http.peer import Peers
from entrepot.http.problems import MEDIA_TYPE, BodyTooLarge, Problem, Unavailable, document, internal
from entrepot.http.trace import continued
from entrepot.ids import nanoid
from entrepot.log import bind, clean, hashed, scrub
from entrepot.web.metrics import Metrics
from entrepot.web.protocol import headers_too_large
from entrepot.web.security import secured

# What a log line says of a caller who left before the answer.
CLIENT_LEFT_STATUS = 499

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_WANTED = frozenset({b"x-request-id", b"traceparent", b"x-forwarded-for", b"x-forwarded-proto"})
# Behind these a path holds a secret, and is logged only as a hash.
_SECRET_PATHS = ("/t/",)

log = logging.getLogger("entrepot.request")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of a request."""

    body_bytes_max: int
    header_bytes_max: int
    timeout_seconds: float


class Edge:
    """The outermost ASGI application."""

    def __init__(
        self, app: ASGIApp, *, limits: Limits, peers: Peers, metrics: Metrics, log_key: bytes
    ) -> None:
        self._app = app
        self._limits = limits
        self._peers = peers
        self._metrics = metrics
        self._log_key = log_key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange, head_bytes = self._exchange_of(scope)
        wire = Wire(scope, exchange, receive, send)
        attach(scope, exchange)
        method, path = scope["method"], scope["path"]
        began = time.perf_counter()
        self._metrics.request_began()
        with bind(request_id=exchange.request_id, trace_id=exchange.trace.trace_id):
            try:
                await self._run(scope, wire, head_bytes)
            finally:
                seconds = time.perf_counter() - began
                status = wire.final_status
                self._metrics.request_ended(
                    method=method, route=exchange.route, status=status, seconds=seconds
                )
                self._write_line(method, path, status, seconds, wire)

    async def _run(self, scope: Scope, wire: Wire, head_bytes: int) -> None:
        deadline = asyncio.timeout(self._limits.timeout_seconds)
        try:
            if head_bytes > self._limits.header_bytes_max:
                raise headers_too_large(self._limits.header_bytes_max)
            async with deadline:
                await self._handle(scope, wire, deadline)
        except Problem as problem:
            await wire.fail(problem)
        except asyncio.CancelledError:
            # The process stops, and waited for this request as long as it could.
            await wire.fail(Unavailable("The server is stopping; try again.", code="STOPPING"))
        except Exception as error:
            timed_out = isinstance(error, TimeoutError) and deadline.expired()
            await wire.fail(self._late(wire) if timed_out else self._failed(wire))

    async def _handle(self, scope: Scope, wire: Wire, deadline: asyncio.Timeout) -> None:
        wire.deadline = deadline
        try:
            await self._app(scope, wire.receive, wire.send)
        finally:
            wire.deadline = None

    def _late(self, wire: Wire) -> Problem:
        seconds = self._limits.timeout_seconds
        if wire.body_ended:
            return Problem(f"The answer took more than {seconds:g} s.", status=504)
        text = f"The body took more than {seconds:g} s to arrive."
        return Problem(text, status=408, headers={"Connection": "close"})

    def _failed(self, wire: Wire) -> Problem:
        if not wire.exchange.client_left:
            log.exception("a request failed")
        return internal()

    def _exchange_of(self, scope: Scope) -> tuple[Exchange, int]:
        head_bytes = len(scope["raw_path"]) + len(scope["query_string"])
        found: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            head_bytes += len(name) + len(value) + 4
            if name in _WANTED:
                found[name] = value
        client = scope["client"]
        peer = self._peers.of(
            client[0] if client else "",
            scope["scheme"],
            forwarded_for=_text(found.get(b"x-forwarded-for")),
            forwarded_proto=_text(found.get(b"x-forwarded-proto")),
        )
        given_id = found.get(b"x-request-id", b"")
        exchange = Exchange(
            request_id=given_id.decode() if _REQUEST_ID.fullmatch(given_id) else nanoid(),
            trace=continued(_text(found.get(b"traceparent"))),
            peer=peer,
            instance=scope["path"],
            body_bytes_max=self._limits.body_bytes_max,
        )
        return exchange, head_bytes

    def _write_line(self, method: str, path: str, status: int, seconds: float, wire: Wire) -> None:
        exchange = wire.exchange
        caller = exchange.caller
        line: dict[str, Any] = {
            "method": method,
            "path": self._loggable(path),
            "status": status,
            "duration_ms": round(seconds * 1000, 2),
            "bytes_in": wire.bytes_in,
            "bytes_out": wire.bytes_out,
            "peer": exchange.peer.address,
            "route": exchange.route,
        }
        if exchange.trace.parent_id:
            line["parent_id"] = exchange.trace.parent_id
        if caller is not None and caller.kind != "anonymous":
            line["caller"] = caller.user_id or caller.kind
        level = logging.ERROR if status >= 500 else logging.INFO
        if not log.isEnabledFor(level):
            return
        line.update(exchange.facts)
        # Made by hand: looking for the line of code that logs would take as long as all the rest.
        words = (method, line["path"], status)
        record = log.makeRecord(log.name, level, "", 0, "%s %s %d", words, None, extra=clean(line))
        log.handle(record)

    def _loggable(self, path: str) -> str:
        for prefix in _SECRET_PATHS:
            if path.startswith(prefix) and len(path) > len(prefix):
                secret, slash, rest = path.removeprefix(prefix).partition("/")
                return f"{prefix}#{hashed(self._log_key, secret)}{slash}{rest}"
        return scrub(path)


class Wire:
    """A request's `receive` and `send`, counted, bounded and completed with our headers."""

    __slots__ = (
        "_declared_bytes", "_receive", "_send", "body_ended", "bytes_in", "bytes_out",
        "deadline", "exchange", "finished", "status", "torn",
    )  # fmt: skip

    def __init__(self, scope: Scope, exchange: Exchange, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._declared_bytes, has_body = _declared_body(scope)
        self.exchange = exchange
        self.deadline: asyncio.Timeout | None = None
        self.body_ended = not has_body
        self.bytes_in = 0
        self.bytes_out = 0
        self.status = 0
        self.finished = False
        self.torn = False

    @property
    def final_status(self) -> int:
        """The status as it is logged and counted."""
        if self.torn:
            return 500
        return self.status if self.finished else CLIENT_LEFT_STATUS

    async def receive(self) -> Message:
        if self._declared_bytes > self.exchange.body_bytes_max:
            raise BodyTooLarge(self.exchange.body_bytes_max)
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.exchange.client_left = True
            return message
        self.bytes_in += len(message.get("body", b""))
        if self.bytes_in > self.exchange.body_bytes_max:
            raise BodyTooLarge(self.exchange.body_bytes_max)
        self.body_ended = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            # From here on the answer streams at the caller's pace, which is the connection's to bound.
            if self.deadline is not None and not self.deadline.expired():
                self.deadline.reschedule(None)
            message = {**message, "headers": self._headers(message["headers"])}
        elif message["type"] == "http.response.body":
            self.bytes_out += len(message.get("body", b""))
            self.finished = not message.get("more_body", False)
        await self._send(message)

    async def fail(self, problem: Problem) -> None:
        """Answer with a problem; when the answer has begun, it can only be cut off."""
        if self.exchange.client_left:
            return
        if self.status:
            # Returning without the last part makes the server close the connection, so the caller sees it.
            self.torn = True
            log.warning("an answer was cut off: %s", problem.code)
            return
        start, body = problem_messages(problem, self.exchange)
        await self.send(start)
        await self.send(body)

    def _headers(self, headers: Any) -> list[tuple[bytes, bytes]]:
        result = secured(list(headers), https=self.exchange.peer.scheme == "https")
        result.extend(self.exchange.answer_headers)
        result.append((b"x-request-id", self.exchange.request_id.encode()))
        result.append((b"traceparent", self.exchange.trace.traceparent.encode()))
        return result


def problem_messages(problem: Problem, exchange: Exchange) -> tuple[Message, Message]:
    """A problem as the two messages of an ASGI answer."""
    body = document(problem, request_id=exchange.request_id, instance=exchange.instance)
    headers = [(name.lower().encode(), value.encode()) for name, value in problem.headers.items()]
    headers += [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    start: Message = {"type": "http.response.start", "status": problem.status, "headers": headers}
    return start, {"type": "http.response.body", "body": body, "more_body": False}


def _declared_body(scope: Scope) -> tuple[int, bool]:
    for name, value in scope["headers"]:
        if name == b"content-length":
            size = int(value) if value.isdigit() else 0
            return size, size > 0
        if name == b"transfer-encoding":
            return 0, True
    return 0, False


def _text(value: bytes | None) -> str | None:
    return value.decode("latin-1") if value is not None else None
