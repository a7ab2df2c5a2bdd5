"""`POST /fleet/device-heartbeat`, the call that every board makes every minute, as a plain ASGI function."""

from __future__ import annotations

import re
from collections.abc import Mapping
from uuid import UUID

import msgspec

from entrepot.fleet.errors import Unavailable, WrongValue
from entrepot.fleet.heartbeats import Heartbeats, Verdict
from entrepot.fleet.model import precise
from entrepot.fleet.rules import (
    KEY_CHARACTERS_MAX,
    Beat,
    checked_beat,
    is_composite_id,
    key_hash,
    read_time,
)
from entrepot.http.asgi import ASGIApp, Receive, Scope, Send
from entrepot.http.exchange import exchange_of
from entrepot.http.problems import MethodNotAllowed, Problem

PATH = "/fleet/device-heartbeat"
BODY_BYTES_MAX = 4096
# Small boards read an answer into a buffer of this size.
ANSWER_BYTES_MAX = 512
DETAILS_CHARACTERS_MAX = 300
RETRY_AFTER_SECONDS = 5

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
_decode = msgspec.json.Decoder(Beat).decode
_encode = msgspec.json.Encoder().encode


class Refusal(Exception):
    """An answer to a board that is an error, in words of its own."""

    def __init__(
        self, status: int, error: str, details: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(details)
        self.status = status
        self.error = error
        self.details = details[:DETAILS_CHARACTERS_MAX]
        self.headers = headers or {}


class _Left(Exception):
    """The board hung up before its heartbeat was whole."""


def heartbeat_lane(heartbeats: Heartbeats) -> ASGIApp:
    """The lane that gives heartbeats to the service and tells the board what became of them."""

    async def lane(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise MethodNotAllowed(scope["method"], ["POST"])
        headers: dict[str, str] = {}
        try:
            body = await _take(heartbeats, scope, receive)
            status = 200
        except _Left:
            return
        except Refusal as refusal:
            status, headers = refusal.status, dict(refusal.headers)
            body = _encode({"success": False, "error": refusal.error, "details": refusal.details})
        await _answer(send, status, body, headers)

    return lane


async def _take(heartbeats: Heartbeats, scope: Scope, receive: Receive) -> bytes:
    exchange = exchange_of(scope)
    exchange.body_bytes_max = BODY_BYTES_MAX
    name, key = _credentials(scope)
    beat = _beat(await _body(receive))
    try:
        outcome = await heartbeats.take(name, key_hash(key), beat)
    except Unavailable as error:
        retry = {"retry-after": str(RETRY_AFTER_SECONDS)}
        raise Refusal(503, error.code, error.message, retry) from error
    exchange.facts["device"] = outcome.composite_id or str(name)
    if outcome.verdict is Verdict.UNKNOWN_DEVICE:
        raise Refusal(404, "DEVICE_NOT_FOUND", f"There is no board {name}.")
    if outcome.verdict is Verdict.WRONG_KEY:
        raise Refusal(401, "WRONG_KEY", f"The key is not the one of {outcome.composite_id}.")
    answer = {
        "success": True,
        "device_id": outcome.composite_id,
        "status": "online",
        "timestamp": precise(outcome.at),
    }
    return _encode(answer)


def _credentials(scope: Scope) -> tuple[str | UUID, str]:
    composite_id = uuid = key = ""
    for header, value in scope["headers"]:
        if header == b"x-composite-device-id":
            composite_id = value.decode("latin-1").strip()
        elif header == b"x-device-key":
            key = value.decode("latin-1").strip()
        elif header == b"x-device-uuid":
            uuid = value.decode("latin-1").strip()
    if not composite_id and not uuid:
        raise Refusal(400, "DEVICE_ID_MISSING", "Send x-composite-device-id, as PROJ1-ESP5.")
    if composite_id and not is_composite_id(composite_id):
        raise Refusal(400, "DEVICE_ID_MALFORMED", "x-composite-device-id must be like PROJ1-ESP5.")
    if not composite_id and not _UUID.fullmatch(uuid):
        raise Refusal(400, "DEVICE_ID_MALFORMED", "x-device-uuid must be a UUID.")
    if not key or len(key) > KEY_CHARACTERS_MAX:
        raise Refusal(401, "KEY_MISSING", "Send the board's key as x-device-key.")
    return composite_id or UUID(uuid), key


def _beat(body: bytes) -> Beat:
    if not body.strip():
        return Beat()
    try:
        beat = checked_beat(_decode(body))
        if beat.ts is not None:
            read_time("ts", beat.ts)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refusal(400, "BODY_MALFORMED", str(error)) from None
    except WrongValue as error:
        raise Refusal(400, "BODY_MALFORMED", error.message) from None
    return beat


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    more = True
    while more:
        try:
            message = await receive()
        except Problem as problem:
            raise Refusal(problem.status, problem.code, problem.message) from None
        if message["type"] == "http.disconnect":
            # What is missing could have been anything: half a heartbeat is none.
            raise _Left
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


async def _answer(send: Send, status: int, body: bytes, more: Mapping[str, str]) -> None:
    # With its length and never in chunks: a small board reads exactly so many bytes.
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(name.encode(), value.encode()) for name, value in more.items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
