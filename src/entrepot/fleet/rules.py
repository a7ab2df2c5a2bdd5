"""The fleet's decisions: ids, names, keys, times and uptime; no database, no clock."""

from __future__ import annotations

import hashlib
import ipaddress
import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from entrepot.fleet.errors import WrongValue
from entrepot.fleet.model import DeviceStatus, Outage, Uptime, precise

DEVICES_PER_PROJECT_MAX = 20
NAME_CHARACTERS_MAX = 100
DESCRIPTION_CHARACTERS_MAX = 1000
HARDWARE_ID_CHARACTERS_MAX = 128
FW_VERSION_CHARACTERS_MAX = 64
KEY_CHARACTERS_MAX = 256
RSSI_MIN, RSSI_MAX = -200, 200
SILENCE = timedelta(minutes=2)
TS_AGE_MAX = timedelta(hours=24)

_PROJECT = r"(?:PROJ(?:0|[1-9][0-9]{0,2})|P[1-9][0-9]{3})"
PROJECT_ID = re.compile(_PROJECT, re.ASCII)
COMPOSITE_ID = re.compile(rf"({_PROJECT})-ESP(1[0-9]|20|[1-9])", re.ASCII)
# Seconds since 1970 stay below this for 3000 years, milliseconds are past it since 1973.
_MILLISECONDS_FROM = 100_000_000_000


class Beat(msgspec.Struct, frozen=True):
    """What a board says of itself."""

    rssi: int | None = None
    ip_address: str | None = None
    fw_version: str | None = None
    ts: str | int | None = None


class Change(msgspec.Struct, frozen=True):
    """From this time on a board had this status."""

    at: datetime
    to: DeviceStatus


def is_composite_id(text: str) -> bool:
    """Whether this can name a board: `PROJ1-ESP5`, `P9999-ESP20`."""
    return COMPOSITE_ID.fullmatch(text) is not None


def is_project_id(text: str) -> bool:
    """Whether this can name a project: `PROJ0` to `PROJ999`, `P1000` to `P9999`."""
    return PROJECT_ID.fullmatch(text) is not None


def checked_name(name: str) -> str:
    """A name without spaces around it, 1 to 100 characters."""
    name = name.strip()
    if not 1 <= len(name) <= NAME_CHARACTERS_MAX or not name.isprintable():
        raise WrongValue("name", f"must be 1 to {NAME_CHARACTERS_MAX} printable characters")
    return name


def checked_text(field: str, text: str | None, most: int) -> str | None:
    """A text that may be missing, and that PostgreSQL can hold."""
    if text is not None and (len(text) > most or "\0" in text):
        raise WrongValue(field, f"must be at most {most} characters, without NUL")
    return text


def checked_beat(beat: Beat) -> Beat:
    """What a board says, when all of it can be believed."""
    if beat.rssi is not None and not RSSI_MIN <= beat.rssi <= RSSI_MAX:
        raise WrongValue("rssi", f"must be {RSSI_MIN} to {RSSI_MAX}")
    if beat.ip_address is not None:
        try:
            ipaddress.ip_address(beat.ip_address)
        except ValueError:
            raise WrongValue("ip_address", "must be an IPv4 or IPv6 address") from None
    checked_text("fw_version", beat.fw_version, FW_VERSION_CHARACTERS_MAX)
    return beat


def kept_ts(given: str | int | None, now: datetime) -> datetime:
    """The heartbeat's time: the board's own within the last 24 hours, else ours."""
    said = read_time("ts", given) if given is not None else now
    return said if now - TS_AGE_MAX <= said <= now else now


def read_time(field: str, given: str | int) -> datetime:
    """A time as RFC 3339 text, or as seconds or milliseconds since 1970."""
    try:
        if isinstance(given, int):
            seconds = given / 1000 if given >= _MILLISECONDS_FROM else given
            return datetime.fromtimestamp(seconds, UTC)
        found = msgspec.convert(given, datetime)
    except (msgspec.ValidationError, ValueError, OverflowError, OSError):
        raise WrongValue(field, "must be a time as 2026-01-31T12:00:00Z") from None
    if found.tzinfo is None:
        raise WrongValue(field, "must say its offset from UTC, as 2026-01-31T12:00:00Z")
    return found.astimezone(UTC)


def new_key() -> str:
    """A key for a board: 32 random bytes as 64 hex digits."""
    return secrets.token_hex(32)


def key_hash(key: str) -> str:
    """What is kept of a key, and compared."""
    return hashlib.sha256(key.encode()).hexdigest()


def key_hint(key: str) -> str:
    """What a person may see of a key later, to tell it from others."""
    return f"…{key[-4:]}"


def uptime_between(changes: Sequence[Change], start: datetime, end: datetime) -> Uptime:
    """The uptime of a board whose status changed so, oldest first; what was before its first heartbeat is left out."""
    outages: list[tuple[datetime, datetime]] = []
    began: datetime | None = None
    silent_from: datetime | None = None
    for change in changes:
        if change.at >= end:
            break
        at = max(change.at, start)
        if change.to == "online":
            began = at if began is None else began
            if silent_from is not None and at > silent_from:
                outages.append((silent_from, at))
            silent_from = None
        elif change.to == "offline":
            began = at if began is None else began
            silent_from = at if silent_from is None else silent_from
    if silent_from is not None and end > silent_from:
        outages.append((silent_from, end))
    if began is None or began >= end:
        return Uptime(share=None, outages=[])
    lost = sum(((to - from_).total_seconds() for from_, to in outages), 0.0)
    share = 1.0 - lost / (end - began).total_seconds()
    shown = [
        Outage(from_=precise(from_), to=precise(to), seconds=round((to - from_).total_seconds(), 3))
        for from_, to in outages
    ]
    return Uptime(share=round(share, 6), outages=shown)
