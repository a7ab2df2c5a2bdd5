"""Idempotency-Key: a POST that is repeated with its key gets the first answer, and is not made again.

Routes that answer 201 or 202 take part, since they create something. `opt={"shown_once": ("secret", "device.key")}`
of a route names the fields of its answer that are told once, and left out of what is kept. `opt={"idempotent": False}`
takes no part.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from typing import Any

import msgspec
from litestar.connection import ASGIConnection

from entrepot.http.asgi import ASGIApp, Message, Receive, Scope, Send
from entrepot.http.caller import Caller, caller_of
from entrepot.http.exchange import exchange_of
from entrepot.http.problems import Conflict, FieldError, Invalid
from entrepot.tables import TablesError
from entrepot.work.idempotency import (
    ANSWER_BYTES_MAX,
    Answer,
    Begun,
    Idempotency,
    Reused,
    Running,
    fingerprint_of,
    kept_headers,
)

HEADER = b"idempotency-key"
REPEATED = (b"idempotent-replayed", b"true")
RETRY_AFTER_SECONDS = 1
CREATING = (201, 202)

_KEY = re.compile(rb"[\x21-\x7e]{1,255}")

log = logging.getLogger("entrepot.request")


def idempotent(records: Idempotency, secret: bytes = b"") -> Any:
    """The middleware of all routes whose POSTs create something.

    Bodies may hold passwords: with a `secret` of the installation, what is kept of them tells nobody else anything.
    """

    def wrap(app: ASGIApp) -> ASGIApp:
        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            key = _key_of(scope)
            if key is None:
                await app(scope, receive, send)
            else:
                await _once(records, app, key, scope, receive, send, secret=secret)

        return handle

    return wrap


def _key_of(scope: Scope) -> str | None:
    if scope["type"] != "http" or scope["method"] != "POST" or not _creates(scope):
        return None
    given: bytes | None = next((value for name, value in scope["headers"] if name == HEADER), None)
    if given is None:
        return None
    if not _KEY.fullmatch(given):
        raise Invalid([FieldError("Idempotency-Key", "must be 1 to 255 visible characters")])
    return given.decode()


async def _once(
    records: Idempotency,
    app: ASGIApp,
    key: str,
    scope: Scope,
    receive: Receive,
    send: Send,
    *,
    secret: bytes,
) -> None:
    exchange = exchange_of(scope)
    opt = _opt(scope)
    if "body_bytes_max" in opt:
        exchange.body_bytes_max = opt["body_bytes_max"]
    caller = await caller_of(ASGIConnection(scope))  # type: ignore[arg-type]
    body = await _body(receive)
    if exchange.client_left:
        return
    fingerprint = fingerprint_of(
        secret, scope["method"].encode(), exchange.instance.encode(), scope["query_string"], body
    )
    found = await records.begin(_name_of(caller, exchange.peer.address), key, fingerprint)
    if isinstance(found, Answer):
        await _repeat(found, send)
    elif isinstance(found, Running):
        raise Conflict(
            "The same call is under way; its answer can be had in a moment.",
            code="IN_PROGRESS",
            headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
        )
    elif isinstance(found, Reused):
        raise Conflict("This Idempotency-Key was used for another call.", code="IDEMPOTENCY_KEY_REUSED")
    else:
        await _make(records, found, app, scope, _again(body, receive), send)


async def _make(
    records: Idempotency, begun: Begun, app: ASGIApp, scope: Scope, receive: Receive, send: Send
) -> None:
    """Make the call, and keep its answer before the caller has it."""
    messages: list[Message] = []

    async def gather(message: Message) -> None:
        messages.append(message)

    try:
        await app(scope, receive, gather)
    except asyncio.CancelledError:
        # It may have been done or not: nobody may repeat it before its lease has passed.
        raise
    except BaseException:
        await records.forget(begun)
        raise
    answer = _answer_of(messages, _opt(scope).get("shown_once", ()))
    if answer is None:
        await records.forget(begun)
    else:
        try:
            await records.keep(begun, answer)
        except TablesError as error:
            # The call was made, and its caller must hear of it.
            log.warning("an answer could not be kept for its repeats", exc_info=error)
    for message in messages:
        await send(message)


def _answer_of(messages: Sequence[Message], shown_once: Sequence[str]) -> Answer | None:
    """What is to be kept: only what went well, since all else changed nothing and may go well the next time."""
    if not messages or not 200 <= messages[0]["status"] < 300:
        return None
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in messages[0]["headers"]}
    body = b"".join(message.get("body", b"") for message in messages[1:])
    return Answer(messages[0]["status"], kept_headers(headers), _without(body, shown_once))


async def _repeat(answer: Answer, send: Send) -> None:
    if answer.body is None:
        raise Conflict(
            f"The call was made; its answer had more than {ANSWER_BYTES_MAX} bytes and was not kept.",
            code="ANSWER_NOT_KEPT",
        )
    headers = [(name.encode(), value.encode("latin-1")) for name, value in answer.headers.items()]
    headers += [(b"content-length", str(len(answer.body)).encode()), REPEATED]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


def _without(body: bytes, paths: Sequence[str]) -> bytes:
    """The body without the fields that are shown once."""
    if not paths:
        return body
    document = msgspec.json.decode(body)
    for path in paths:
        *parents, last = path.split(".")
        place = document
        for parent in parents:
            place = place.get(parent) if isinstance(place, dict) else None
        if isinstance(place, dict):
            place.pop(last, None)
    return msgspec.json.encode(document)


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """A `receive` that begins with the body that was read already."""
    unread = [body]

    async def receive_again() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return receive_again


def _name_of(caller: Caller, address: str) -> str:
    """A caller as it is kept: a key's calls are not its person's, and nobody's are told apart by address."""
    name = caller.key_id or caller.user_id or ("" if caller.kind == "token" else address)
    return f"{caller.kind}.{name}".replace("#", "_")


def _creates(scope: Scope) -> bool:
    status = getattr(scope.get("route_handler"), "status_code", None)
    return status in CREATING and bool(_opt(scope).get("idempotent", True))


def _opt(scope: Scope) -> dict[str, Any]:
    return getattr(scope.get("route_handler"), "opt", {})
