"""Domain events of telemetry (CloudEvents 1.0), for whoever passes them on."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct

from entrepot.clock import stamp_of
from entrepot.telemetry.model import Alert, Notice

CROSSED = "telemetry.threshold.crossed"
SILENT = "telemetry.device.silent"


class DomainEvent(Struct, frozen=True, kw_only=True):
    """Something that happened, of an owner; the same event may come twice, with the same id."""

    id: str
    type: str
    time: str
    subject: str
    data: dict[str, Any]
    user_id: str


Publish = Callable[[DomainEvent], Awaitable[None]]


def event_of(alert: Alert, notices: Sequence[Notice]) -> DomainEvent:
    """One event of all that one alert has to tell."""
    names = "\n".join(f"{notice.at_ms} {notice.hardware_id} {notice.is_raised}" for notice in notices)
    digest = hashlib.sha256(f"{alert.alert_id}\n{names}".encode()).hexdigest()
    devices = {notice.hardware_id for notice in notices}
    terms: dict[str, Any] = (
        {"silent_for": alert.silent_for_seconds}
        if alert.kind == "silent"
        else {"metric": alert.metric, alert.kind: alert.threshold, "hysteresis": alert.hysteresis}
    )
    return DomainEvent(
        id=f"evt_{digest[:32]}",
        type=SILENT if alert.kind == "silent" else CROSSED,
        time=stamp_of(max(notice.at_ms for notice in notices)),
        subject=notices[0].hardware_id if len(devices) == 1 else alert.alert_id,
        data={"alert_id": alert.alert_id, **terms, "devices": [_device(notice) for notice in notices]},
        user_id=alert.owner,
    )


def _device(notice: Notice) -> dict[str, Any]:
    told: dict[str, Any] = {
        "hardware_id": notice.hardware_id,
        "state": "raised" if notice.is_raised else "cleared",
        "at_ms": notice.at_ms,
    }
    if notice.value is not None:
        told["value"] = notice.value
    if notice.friendly_name is not None:
        told["friendly_name"] = notice.friendly_name
    return told
