"""`POST /telemetry/register` and `POST /telemetry/data`, the calls that devices make, as plain ASGI functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from entrepot.accounts.model import UserId
from entrepot.clock import Clock
from entrepot.http.asgi import ASGIApp, Receive, Scope, Send
from entrepot.http.exchange import Exchange, exchange_of
from entrepot.http.problems import MethodNotAllowed, Problem, Unavailable, WrongType
from entrepot.http.stores import problem_of as store_problem
from entrepot.tables import TablesError
from entrepot.telemetry import rules
from entrepot.telemetry.devices import DeviceBook
from entrepot.telemetry.errors import TelemetryError, Unfit, problem_of
from entrepot.telemetry.ingest import Ingest, Rejected
from entrepot.telemetry.keys import KeyRing
from entrepot.telemetry.rules import DataBody, LooseBody, ReadingBody, RegisterBody, Root

DATA_PATH = "/telemetry/data"
REGISTER_PATH = "/telemetry/register"
REJECTION_CHARACTERS_MAX = 300

_encode = msgspec.json.Encoder().encode
_decode_data = msgspec.json.Decoder(DataBody).decode
_decode_loose = msgspec.json.Decoder(LooseBody).decode
_decode_reading = msgspec.json.Decoder(ReadingBody).decode
_decode_register = msgspec.json.Decoder(RegisterBody).decode


def data_lane(keys: KeyRing, ingest: Ingest) -> ASGIApp:
    """The lane that takes readings."""

    async def take(owner: UserId | None, body: bytes, exchange: Exchange) -> bytes:
        root, readings = decode_data(body)
        answer = await ingest.take(owner, root, readings)
        exchange.facts.update(
            acknowledged=len(answer.acknowledged_batch_ids),
            duplicates=len(answer.duplicate_batch_ids),
            rejected=len(answer.rejected),
        )
        return _encode(answer)

    return _lane(keys, take)


def register_lane(keys: KeyRing, devices: DeviceBook, clock: Clock) -> ASGIApp:
    """The lane by which devices register."""

    async def take(owner: UserId | None, body: bytes, exchange: Exchange) -> bytes:
        device = await devices.register(owner, decode_register(body))
        exchange.facts["device"] = device.hardware_id
        answer = {
            "status": "registered",
            "confirmation_id": device.confirmation_id,
            "hardware_id": device.hardware_id,
            "registered_at": device.first_registered_at,
            "server_time_ms": clock.epoch_ms(),
        }
        return _encode(answer)

    return _lane(keys, take)


def decode_data(body: bytes) -> tuple[Root, Sequence[ReadingBody | Rejected]]:
    """The readings of a request; misshapen ones as their rejection. Raises Unfit for a broken envelope."""
    try:
        data = _decode_data(body)
    except msgspec.ValidationError:
        return _decode_one_by_one(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unfit("INVALID_FORMAT", "", f"The body is not JSON: {error}") from None
    _demand_count(len(data.readings))
    return data, data.readings


def decode_register(body: bytes) -> RegisterBody:
    """What a device says of itself; raises Unfit."""
    try:
        return _decode_register(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unfit("INVALID_FORMAT", "", str(error)) from None


def _decode_one_by_one(body: bytes) -> tuple[Root, Sequence[ReadingBody | Rejected]]:
    try:
        loose = _decode_loose(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        code = "MISSING_FIELD" if "missing required field `readings`" in str(error) else "INVALID_FORMAT"
        raise Unfit(code, "", str(error)) from None
    _demand_count(len(loose.readings))
    root = Root(_text(loose.hardware_id), _text(loose.boot_id), _text(loose.firmware_version))
    readings: list[ReadingBody | Rejected] = []
    for index, raw in enumerate(loose.readings):
        try:
            readings.append(_decode_reading(raw))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            code = "INVALID_VALUE" if "out of range" in str(error) else "INVALID_FORMAT"
            message = str(error)[:REJECTION_CHARACTERS_MAX]
            readings.append(Rejected(index, _batch_id(raw), code, message))
    return root, readings


def _batch_id(raw: msgspec.Raw) -> str | None:
    """The id of a misshapen reading, so that the device knows which it was."""
    try:
        found = msgspec.json.decode(raw, type=dict[str, msgspec.Raw]).get("batch_id")
        return msgspec.json.decode(found, type=str) if found is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _demand_count(count: int) -> None:
    if count == 0:
        raise Unfit("MISSING_FIELD", "readings", f"must be 1 to {rules.READINGS_MAX}, there are none")
    if count > rules.READINGS_MAX:
        reason = f"must be 1 to {rules.READINGS_MAX}, not {count}"
        raise Unfit("BATCH_SIZE_EXCEEDED", "readings", reason)


def _text(value: Any) -> str | None:
    # What stands at the root in another shape is an unknown field, and ignored.
    return value if isinstance(value, str) else None


def _lane(keys: KeyRing, take: Any) -> ASGIApp:
    async def lane(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise MethodNotAllowed(scope["method"], ["POST"])
        raw_key, content_type = _head(scope)
        exchange = exchange_of(scope)
        try:
            holder = await keys.holder_of(raw_key)
            exchange.facts["key"] = holder.key_id
            if content_type not in ("", "application/json"):
                raise WrongType(content_type, "application/json")
            answer = await take(holder.owner, await _body(receive), exchange)
        except TelemetryError as error:
            raise problem_of(error) from error
        except TablesError as error:
            raise _unavailable(error) from error
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer, "more_body": False})

    return lane


def _unavailable(error: TablesError) -> Problem | TablesError:
    """What the store did not take, the device sends again; what was stored meanwhile is then a duplicate."""
    problem = store_problem(error)
    return problem if isinstance(problem, Unavailable) else error


def _head(scope: Scope) -> tuple[str | None, str]:
    key: str | None = None
    token = content_type = ""
    for name, value in scope["headers"]:
        if name == b"x-api-key":
            key = value.decode("latin-1").strip()
        elif name == b"authorization":
            scheme, _, rest = value.decode("latin-1").partition(" ")
            token = rest.strip() if scheme.lower() == "bearer" else ""
        elif name == b"content-type":
            content_type = value.decode("latin-1").partition(";")[0].strip().lower()
    return key or token or None, content_type


async def _body(receive: Receive) -> bytes:
    message = await receive()
    if not message.get("more_body", False):
        return bytes(message.get("body", b""))
    parts = [message.get("body", b"")]
    while message.get("more_body", False):
        message = await receive()
        parts.append(message.get("body", b""))
    return b"".join(parts)
