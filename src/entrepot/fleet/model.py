"""What the API shows of the fleet's rows, in the seed's own names."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, Self

import msgspec

ProjectStatus = Literal["active", "archived"]
DeviceStatus = Literal["waiting", "online", "offline"]
Reason = Literal["first_heartbeat", "heartbeat", "silence"]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row as it is answered; times become RFC 3339."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """The row of a query that selects at least these columns."""
        return cls(**{name: _shown(row[name]) for name in cls.__struct_fields__})


class Project(Row, frozen=True, kw_only=True):
    """A greenhouse or place, with up to 20 devices."""

    id: str
    project_id: str
    name: str
    description: str | None
    status: ProjectStatus
    created_at: str
    updated_at: str


class Device(Row, frozen=True, kw_only=True):
    """A board in a project."""

    id: str
    composite_device_id: str
    project_id: str
    device_number: int
    name: str
    device_key_hint: str
    status: DeviceStatus
    last_seen_at: str | None
    rssi: int | None
    ip_address: str | None
    fw_version: str | None
    hardware_id: str | None
    created_at: str
    updated_at: str


class Heartbeat(Row, frozen=True, kw_only=True):
    """One heartbeat of a board."""

    rssi: int | None
    ip_address: str | None
    fw_version: str | None
    ts: str


class StatusEvent(msgspec.Struct, frozen=True, kw_only=True, rename={"from_": "from"}):
    """A board went from one status to another."""

    id: int
    composite_device_id: str
    from_: DeviceStatus
    to: DeviceStatus
    reason: Reason
    at: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        return cls(
            id=row["id"],
            composite_device_id=row["composite_device_id"],
            from_=row["from_status"],
            to=row["to_status"],
            reason=row["reason"],
            at=precise(row["at"]),
        )


class Outage(msgspec.Struct, frozen=True, kw_only=True, rename={"from_": "from"}):
    """A time in which a board was silent."""

    from_: str
    to: str
    seconds: float


class Uptime(msgspec.Struct, frozen=True, kw_only=True):
    """The share of time in which a board was online; null when it never was before the end of that time."""

    share: float | None
    outages: list[Outage]


class DomainEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A change of status on its way to whoever wants to know (CloudEvents 1.0)."""

    id: str
    type: str
    time: str
    subject: str
    data: dict[str, Any]
    user_id: str
    """The UUID of the board's owner."""


def stamp(at: datetime) -> str:
    """RFC 3339, UTC, whole seconds: the time of records."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def precise(at: datetime) -> str:
    """RFC 3339, UTC, milliseconds: the time of heartbeats and changes."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(value: Any) -> Any:
    if isinstance(value, datetime):
        return stamp(value)
    return value if isinstance(value, str | int | None) else str(value)
