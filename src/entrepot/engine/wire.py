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
        if scope["method"] == "OPTIONS" and b"origin" in headers:
            await _respond(send, 200, b"", _preflight(headers))
            return
        if scope["method"] in ("GET", "HEAD"):
            await _respond(
                send, 200, f"healthy: dynamodb.{self._wire.engine.region}.amazonaws.com ".encode(), []
            )
            return
        body = await _read_body(receive)
        if body is None:
            await _respond(send, 413, b"", [])
            return
        content_type = headers.get(b"content-type", b"").split(b";")[0].strip()
        if scope["method"] != "POST" or (
            body and content_type not in (b"application/json", b"application/x-amz-json-1.0")
        ):
            await _respond(send, 404, b"<UnknownOperationException/>\n", [])
            return
        answered = await self._answer(scope, headers, body)
        if answered is None:
            await cut_off(receive, send)
            return
        status, answer = answered
        extra = [(b"content-type", content_type or b"application/json")]
        if b"origin" in headers:
            extra.append((b"access-control-allow-origin", b"*"))
        if b"gzip" in headers.get(b"accept-encoding", b"") and len(answer) >= GZIP_BYTES_MIN:
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
                decoded = _decode(body) if body else None
            except (msgspec.DecodeError, UnicodeDecodeError):
                raise Serialization("") from None
            operation = _operation(headers)
            self._authenticate(scope, body)
            chaos = self._wire.engine.chaos
            if chaos is not None:
                reset = chaos.reset(decoded)
                if reset == "before":
                    return None
            answer = 200, _encode(await self._wire.call_json(operation, decoded))
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


def demand_some_credentials(scope: Scope, body: bytes) -> None:
    """Any signature will do, but there must be one: a client without credentials would fail in the cloud."""
    headers = dict(scope["headers"])
    given = headers.get(b"authorization", b"").decode("latin-1").strip()
    in_query = b"X-Amz-Algorithm=" in scope.get("query_string", b"")
    if given and in_query:
        raise Refused(
            "InvalidSignatureException",
            "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
        )
    if not in_query and not given.startswith("AWS4-"):
        raise Refused("MissingAuthenticationTokenException", "Request is missing Authentication Token")
    if in_query:
        return
    parts = dict(part.strip().partition("=")[::2] for part in given.split(" ", 1)[-1].split(","))
    missing = "".join(
        f"Authorization header requires '{name}' parameter. "
        for name in ("Credential", "Signature", "SignedHeaders")
        if not parts.get(name)
    )
    if b"x-amz-date" not in headers and b"date" not in headers:
        missing += "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
    if missing:
        raise Refused("IncompleteSignatureException", f"{missing}Authorization={given}")


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


def _preflight(headers: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    answer = [(b"access-control-allow-origin", b"*"), (b"access-control-max-age", b"172800")]
    for asked, allowed in (
        (b"access-control-request-headers", b"access-control-allow-headers"),
        (b"access-control-request-method", b"access-control-allow-methods"),
    ):
        if asked in headers:
            answer.append((allowed, headers[asked]))
    return answer
