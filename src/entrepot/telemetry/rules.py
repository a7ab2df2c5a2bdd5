"""Pure decisions: what a device may say, what is kept of it, and under which names."""

from __future__ import annotations

import hashlib
import re
import uuid
from typing import Any, Literal

import msgspec

from entrepot.telemetry.errors import Unfit

READINGS_MAX = 100
SENSORS_MAX = 256
STATUSES_MAX = 256
NAME_CHARACTERS_MAX = 128
FRIENDLY_CHARACTERS_MAX = 64
FIRMWARE_CHARACTERS_MAX = 64
CAPABILITIES_BYTES_MAX = 64 * 1024
DESCRIPTION_CHARACTERS_MAX = 200

TIMESTAMP_MS_MIN = 946_684_800_000  # 2000-01-01
BATCH_SECONDS = 30 * 24 * 3600
ACTIVITY_SECONDS = 300
# What DynamoDB's numbers can hold.
NUMBER_MAX = 1e126
NUMBER_MIN = 1e-130

_MAC = re.compile(r"[0-9A-F]{2}(:[0-9A-F]{2}){5}", re.ASCII)
_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.ASCII)
_BATCH = re.compile(r"[A-Za-z0-9_.:-]{1,256}", re.ASCII)
_RAW_KEY = re.compile(r"[0-9a-f]{64}", re.ASCII)
_STATUSES: dict[str, Literal["ok", "error"]] = {"ok": "ok", "error": "error", "unavailable": "error"}


class ReadingBody(msgspec.Struct):
    """A reading as devices send it; what it lacks may stand at the root."""

    batch_id: str | None = None
    hardware_id: str | None = None
    boot_id: str | None = None
    firmware_version: str | None = None
    timestamp_ms: int | None = None
    sample_end_epoch_ms: int | None = None
    friendly_name: str | None = None
    sensors: dict[str, float | None] | None = None
    sensor_status: dict[str, str | None] | None = None
    time_synced: bool | None = None


class Root(msgspec.Struct):
    """What deployed firmware also says once for all its readings."""

    hardware_id: str | None = None
    boot_id: str | None = None
    firmware_version: str | None = None


class DataBody(Root):
    """A request whose readings all have the right shape."""

    readings: list[ReadingBody] = []


class LooseBody(msgspec.Struct):
    """A request whose readings are looked at one by one, because one of them is misshapen."""

    readings: list[msgspec.Raw]
    hardware_id: Any = None
    boot_id: Any = None
    firmware_version: Any = None


class CapabilitiesBody(msgspec.Struct):
    sensors: list[str] = []
    features: dict[str, Any] = {}


class RegisterBody(msgspec.Struct):
    """What a device says of itself when it starts."""

    hardware_id: str | None = None
    boot_id: str | None = None
    firmware_version: str | None = None
    capabilities: CapabilitiesBody | None = None
    friendly_name: str | None = None


class Bounds(msgspec.Struct, frozen=True):
    """The settings that a reading is judged by."""

    retention_seconds: int
    future_ms: int


class Accepted(msgspec.Struct):
    """A reading that may be stored; `key` is the name under which it is stored once."""

    index: int
    key: str
    batch_id: str
    hardware_id: str
    boot_id: str
    firmware_version: str
    timestamp_ms: int
    sensors: dict[str, float]
    sensor_status: dict[str, str]
    friendly_name: str | None
    server_time: bool


def accept(body: ReadingBody, root: Root, index: int, *, now_ms: int, bounds: Bounds) -> Accepted:
    """The reading in the form that is stored; raises Unfit."""
    batch_id = body.batch_id
    if batch_id is None:
        raise _missing("batch_id")
    if not _BATCH.fullmatch(batch_id):
        raise Unfit("INVALID_FORMAT", "batch_id", "must be 1 to 256 of A-Z a-z 0-9 _ . : -")
    hardware_id = hardware_id_of(body.hardware_id if body.hardware_id is not None else root.hardware_id)
    boot_id = uuid4_of("boot_id", body.boot_id if body.boot_id is not None else root.boot_id)
    firmware = firmware_of(
        body.firmware_version if body.firmware_version is not None else root.firmware_version
    )
    if body.sensors is None:
        raise _missing("sensors")
    timestamp_ms, server_time = _timestamp(body, index, now_ms=now_ms, bounds=bounds)
    return Accepted(
        index=index,
        key=dedupe_key(hardware_id, boot_id, batch_id),
        batch_id=batch_id,
        hardware_id=hardware_id,
        boot_id=boot_id,
        firmware_version=firmware,
        timestamp_ms=timestamp_ms,
        sensors=_sensors(body.sensors),
        sensor_status=_statuses(body.sensor_status) if body.sensor_status else {},
        friendly_name=None if body.friendly_name is None else friendly_name_of(body.friendly_name),
        server_time=server_time,
    )


def dedupe_key(hardware_id: str, boot_id: str, batch_id: str) -> str:
    """The global name of a batch: real devices send ids that are unique only for their boot."""
    if batch_id.startswith(f"{hardware_id}_"):
        return batch_id
    # No id holds a `#`, so that nobody can send what looks like another device's key.
    return f"{hardware_id}#{boot_id}#{batch_id}"


def hardware_id_of(text: str | None) -> str:
    """A MAC address in upper case."""
    if text is None:
        raise _missing("hardware_id")
    upper = text.upper()
    if not _MAC.fullmatch(upper):
        raise Unfit("INVALID_FORMAT", "hardware_id", "must be a MAC address like AA:BB:CC:DD:EE:FF")
    return upper


def uuid4_of(field: str, text: str | None) -> str:
    """A version-4 UUID in lower case."""
    if text is None:
        raise _missing(field)
    lower = text.lower()
    if not _UUID4.fullmatch(lower):
        raise Unfit("INVALID_FORMAT", field, "must be a version-4 UUID")
    return lower


def firmware_of(text: str | None) -> str:
    """A version, as the device writes it."""
    if text is None:
        raise _missing("firmware_version")
    if not 1 <= len(text) <= FIRMWARE_CHARACTERS_MAX or not text.isprintable():
        reason = f"must be 1 to {FIRMWARE_CHARACTERS_MAX} printable characters"
        raise Unfit("INVALID_VALUE", "firmware_version", reason)
    return text


def friendly_name_of(text: str) -> str:
    """A name that people gave, in any script."""
    if not 1 <= len(text) <= FRIENDLY_CHARACTERS_MAX or not text.isprintable() or text.isspace():
        reason = f"must be 1 to {FRIENDLY_CHARACTERS_MAX} printable characters"
        raise Unfit("INVALID_VALUE", "friendly_name", reason)
    return text


def capabilities_of(body: CapabilitiesBody | None) -> tuple[list[str], dict[str, Any]]:
    """What a device says it can do, within what an item holds; raises Unfit."""
    if body is None:
        raise _missing("capabilities")
    if len(msgspec.json.encode(body)) > CAPABILITIES_BYTES_MAX:
        raise Unfit("INVALID_VALUE", "capabilities", f"must be at most {CAPABILITIES_BYTES_MAX} bytes")
    _demand_storable(body.features)
    return body.sensors, body.features


def is_raw_key(text: str) -> bool:
    """Whether a text could be a device's key."""
    return _RAW_KEY.fullmatch(text) is not None


def key_hash(pepper: bytes, raw: str) -> str:
    """What is stored of a key."""
    return hashlib.sha256(pepper + raw.encode("ascii")).hexdigest()


def key_id_of(hash_: str) -> str:
    """The id of a key: a version-4 UUID made from the hash, which it does not tell."""
    digest = hashlib.sha256(b"key_id:" + hash_.encode("ascii")).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def _timestamp(body: ReadingBody, index: int, *, now_ms: int, bounds: Bounds) -> tuple[int, bool]:
    given = body.timestamp_ms if body.timestamp_ms is not None else body.sample_end_epoch_ms
    if given is not None and TIMESTAMP_MS_MIN <= given <= now_ms + bounds.future_ms:
        return given, False
    if body.time_synced is False:
        # Devices send the newest first: one millisecond apart the readings keep their order, and never share a key.
        return now_ms - index, True
    if given is None:
        raise _missing("timestamp_ms")
    raise Unfit(
        "INVALID_VALUE",
        "timestamp_ms",
        f"must be from {TIMESTAMP_MS_MIN} to {now_ms + bounds.future_ms}, not {str(given)[:40]}",
    )


def _sensors(given: dict[str, float | None]) -> dict[str, float]:
    if len(given) > SENSORS_MAX:
        raise Unfit("INVALID_VALUE", "sensors", f"must be at most {SENSORS_MAX}, not {len(given)}")
    kept: dict[str, float] = {}
    for name, value in given.items():
        if value is None:
            continue
        if not 1 <= len(name) <= NAME_CHARACTERS_MAX or "#" in name or not name.isprintable():
            reason = f"a name has 1 to {NAME_CHARACTERS_MAX} printable characters without #"
            raise Unfit("INVALID_VALUE", "sensors", reason)
        if value and not NUMBER_MIN <= abs(value) < NUMBER_MAX:
            raise Unfit("INVALID_VALUE", f"sensors.{name}", "must be a finite number in DynamoDB's range")
        # As the store keeps it: what is whole is an integer, and then it need not be looked at again.
        kept[name] = int(value) if value.is_integer() else value
    return kept


def _statuses(given: dict[str, str | None]) -> dict[str, str]:
    if len(given) > STATUSES_MAX:
        raise Unfit("INVALID_VALUE", "sensor_status", f"must be at most {STATUSES_MAX}, not {len(given)}")
    kept: dict[str, str] = {}
    for name, status in given.items():
        if status is None:
            continue
        known = _STATUSES.get(status)
        if known is None:
            reason = f"must be ok, error or unavailable, not {status[:40]!r}"
            raise Unfit("INVALID_VALUE", f"sensor_status.{name[:NAME_CHARACTERS_MAX]}", reason)
        if not 1 <= len(name) <= NAME_CHARACTERS_MAX:
            reason = f"a name has 1 to {NAME_CHARACTERS_MAX} characters"
            raise Unfit("INVALID_VALUE", "sensor_status", reason)
        kept[name] = known
    return kept


def _demand_storable(value: Any) -> None:
    if isinstance(value, dict):
        for name, each in value.items():
            if not name:
                raise Unfit("INVALID_VALUE", "capabilities.features", "a name can't be empty")
            _demand_storable(each)
    elif isinstance(value, list):
        for each in value:
            _demand_storable(each)
    elif (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and value
        and not (NUMBER_MIN <= abs(value) < NUMBER_MAX)
    ):
        raise Unfit("INVALID_VALUE", "capabilities.features", "a number is out of DynamoDB's range")


def _missing(field: str) -> Unfit:
    return Unfit("MISSING_FIELD", field, "is missing")
