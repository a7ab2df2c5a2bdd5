"""The wire: DynamoDB's JSON protocol over HTTP, as an ASGI application without a framework."""

from __future__ import annotations

import base64
import gzip
import logging
import os
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from entrepot.engine.chaos.resets import cut_off
from entrepot.engine.engine import Engine
from entrepot.engine.errors import (
    ConditionFailed,
    DynamoError,
    Internal,
    Refused,
    Serialization,
    TransactionCanceled,
)
from entrepot.engine.operations import OPERATIONS
from entrepot.engine.signature import demand_some_credentials
from entrepot.engine.throttling import OverCapacity
from entrepot.engine.values import item_to_wire
from entrepot.engine.wire_answers import ANSWERS, as_wire

BODY_BYTES_MAX = 16 * 1024 * 1024
TARGET_PREFIXES = ("DynamoDB_20120810", "DynamoDBStreams_20120810")
GZIP_BYTES_MIN = 512

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

log = logging.getLogger(__name__)

_CORAL = "com.amazon.coral.service#"
_DYNAMO = "com.amazonaws.dynamodb.v20120810#"
_NAMESPACES = {
    "ValidationException": "com.amazon.coral.validate#",
    "SerializationException": _CORAL,
    "UnknownOperationException": _CORAL,
    "MissingAuthenticationTokenException": _CORAL,
    "IncompleteSignatureException": _CORAL,
    "InvalidSignatureException": _CORAL,
    "UnrecognizedClientException": _CORAL,
    "ThrottlingException": _CORAL,
}
_CONTENT_TYPES = (b"application/json", b"application/x-amz-json-1.0")
_ANY_ORIGIN = (b"access-control-allow-origin", b"*")
# Added to the size of the window, this makes zlib read the gzip format.
_GZIP = 16
_ID_CHARACTERS = 52
_ID_BYTES = 35

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class Wire:
    """Requests in DynamoDB JSON, answered by an engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def call_json(self, operation: str, body: Any) -> dict[str, Any]:
        """One operation, request and answer in DynamoDB JSON; errors are raised."""
        known = OPERATIONS.get(operation)
        if known is None:
            raise Refused("UnknownOperationException", "")
        if type(body) is not dict:
            raise Serialization("Unexpected field type" if body is not None else "")
        request = known.shape.read(body)
        answer = await self.engine.call(operation, request)
        return as_wire(answer, ANSWERS.get(operation, {}))


class WireApp:
    """The ASGI application around a `Wire`."""

    def __init__(self, wire: Wire, authenticate: Callable[[Scope, bytes], None] | None = None) -> None:
        self._wire = wire
        self._authenticate = authenticate or demand_some_credentials

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        extra = [_ANY_ORIGIN] if b"origin" in headers else []
        if scope["method"] == "OPTIONS" and extra:
            await _respond(send, 200, b"", extra + _preflight(headers))
            return
        if scope["method"] in ("GET", "HEAD"):
            healthy = f"healthy: dynamodb.{self._wire.engine.region}.amazonaws.com "
            await _respond(send, 200, healthy.encode(), extra)
            return
        body = await _read_body(receive)
        if body is None:
            await _respond(send, 413, b"", extra)
            return
        content_type = headers.get(b"content-type", b"").split(b";")[0].strip()
        if scope["method"] != "POST" or (body and content_type not in _CONTENT_TYPES):
            await _respond(send, 404, b"<UnknownOperationException/>\n", extra)
            return
        answered = await self._answer(scope, headers, body)
        if answered is None:
            await cut_off(receive, send)
            return
        status, answer = answered
        extra.append((b"content-type", content_type if content_type in _CONTENT_TYPES else _CONTENT_TYPES[0]))
        if len(answer) >= GZIP_BYTES_MIN and b"gzip" in headers.get(b"accept-encoding", b""):
            answer = gzip.compress(answer, compresslevel=1)
            extra.append((b"content-encoding", b"gzip"))
        await _respond(send, status, answer, extra)

    async def _answer(
        self, scope: Scope, headers: dict[bytes, bytes], body: bytes
    ) -> tuple[int, bytes] | None:
        """Status and body of the answer; None where the connection is to be cut off instead."""
        reset = None
        try:
            try:
                decoded = _decode(_plain(headers, body)) if body else None
            except (msgspec.DecodeError, UnicodeDecodeError, zlib.error):
                raise Serialization("") from None
            operation = _operation(headers)
            self._authenticate(scope, body)
            chaos = self._wire.engine.chaos
            if chaos is not None:
                reset = chaos.reset(decoded)
                if reset == "before":
                    return None
            told = await self._wire.call_json(operation, decoded)
            if operation == "DescribeEndpoints" and b"host" in headers:
                # An SDK that discovers endpoints must find its way back to this server, not to the cloud.
                told["Endpoints"][0]["Address"] = headers[b"host"].decode("latin-1")
            answer = 200, _encode(told)
        except DynamoError as error:
            answer = error.status, _encode(describe_error(error, self._wire.engine.arn))
        except Exception:
            # The edge of a request: whatever went wrong, the sender gets an answer, and the log the reason.
            log.exception("a request failed in a way that it must not")
            answer = 500, _encode(describe_error(Internal("The request failed; see the log of the server")))
        return None if reset == "after" else answer


def describe_error(error: DynamoError, arn: Callable[[str], str] = str) -> dict[str, Any]:
    """An error as its body on the wire."""
    body: dict[str, Any] = {"__type": _NAMESPACES.get(error.type, _DYNAMO) + error.type}
    if isinstance(error, Serialization):
        if error.message:
            body["Message"] = error.message
    elif isinstance(error, TransactionCanceled):
        body["Message"] = error.message
        body["CancellationReasons"] = [_describe_reason(reason) for reason in error.reasons]
    elif error.message:
        body["message"] = error.message
    if isinstance(error, OverCapacity):
        resource = arn(error.table) if error.index is None else f"{arn(error.table)}/index/{error.index}"
        name = "throttlingReasons" if error.type == "ThrottlingException" else "ThrottlingReasons"
        body[name] = [{"reason": error.reason, "resource": resource}]
    if isinstance(error, ConditionFailed) and error.item is not None:
        body["Item"] = item_to_wire(dict(error.item))
    return body


def _describe_reason(reason: Any) -> dict[str, Any]:
    described: dict[str, Any] = {"Code": reason.code}
    if reason.message is not None:
        described["Message"] = reason.message
    if reason.item is not None:
        described["Item"] = item_to_wire(dict(reason.item))
    return described


def _operation(headers: dict[bytes, bytes]) -> str:
    prefix, _, operation = headers.get(b"x-amz-target", b"").decode("latin-1").partition(".")
    if prefix not in TARGET_PREFIXES or operation not in OPERATIONS:
        raise Refused("UnknownOperationException", "")
    return operation


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body, or None where it is too large."""
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return body if len(body) <= BODY_BYTES_MAX else None
    parts, size = [body], len(body)
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            # Nobody is left to be answered; what has come so far is no request.
            return b""
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > BODY_BYTES_MAX:
            return None
    return b"".join(parts)


async def _respond(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"x-amzn-requestid", _request_id()),
                (b"x-amz-crc32", str(zlib.crc32(body)).encode()),
                (b"content-length", str(len(body)).encode()),
                *headers,
            ],
        }
    )
    await send({"type": "http.response.body", "body": body})


def _request_id() -> bytes:
    return base64.b32encode(os.urandom(_ID_BYTES))[:_ID_CHARACTERS]


def _plain(headers: dict[bytes, bytes], body: bytes) -> bytes:
    """The body as it was before the sender compressed it."""
    if headers.get(b"content-encoding", b"").strip().lower() != b"gzip":
        return body
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | _GZIP)
    plain = unpacking.decompress(body, BODY_BYTES_MAX)
    if not unpacking.eof:
        raise Serialization("")
    return plain


def _preflight(headers: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    answer = [(b"access-control-max-age", b"172800")]
    for asked, allowed in (
        (b"access-control-request-headers", b"access-control-allow-headers"),
        (b"access-control-request-method", b"access-control-allow-methods"),
    ):
        if asked in headers:
            answer.append((allowed, headers[asked]))
    return answer
