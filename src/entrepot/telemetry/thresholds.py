"""Pure decisions on alerts: what one may say, when it is raised and when it is over."""

from __future__ import annotations

import math
from typing import Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from entrepot.telemetry import rules
from entrepot.telemetry.errors import Unfit
from entrepot.telemetry.model import Alert

SILENT_SECONDS_MIN = 300
SILENT_SECONDS_MAX = 90 * 24 * 3600
# What a device measured longer ago than this tells of the past: it raises nothing.
READING_AGE_MS_MAX = 24 * 3600 * 1000

Kind = Literal["above", "below", "silent"]
T = TypeVar("T")


class AlertBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An alert as it is asked for: exactly one of `above`, `below` and `silent_for` (seconds)."""

    hardware_id: str | UnsetType | None = UNSET
    metric: str | UnsetType | None = UNSET
    above: float | UnsetType | None = UNSET
    below: float | UnsetType | None = UNSET
    silent_for: int | UnsetType | None = UNSET
    hysteresis: float | UnsetType = UNSET
    is_active: bool | UnsetType = UNSET


class Terms(msgspec.Struct, frozen=True):
    """The checked terms of an alert."""

    kind: Kind
    hardware_id: str | None
    metric: str | None
    threshold: float | None
    silent_for_seconds: int | None
    hysteresis: float
    is_active: bool


def terms_of(body: AlertBody, before: Alert | None = None) -> Terms:
    """The terms that a body asks for, on top of those before; raises Unfit."""
    conditions = {
        "above": _given(body.above, before.threshold if before and before.kind == "above" else None),
        "below": _given(body.below, before.threshold if before and before.kind == "below" else None),
        "silent_for": _given(body.silent_for, before.silent_for_seconds if before else None),
    }
    said = {name: value for name, value in conditions.items() if value is not None}
    if len(said) != 1:
        raise Unfit("INVALID_VALUE", "above", "say exactly one of above, below and silent_for")
    ((name, value),) = said.items()
    metric = _given(body.metric, before.metric if before else None)
    hardware_id = _given(body.hardware_id, before.hardware_id if before else None)
    hysteresis = body.hysteresis if body.hysteresis is not UNSET else before.hysteresis if before else 0.0
    is_active = body.is_active if body.is_active is not UNSET else before.is_active if before else True
    _check(name, value, metric, hysteresis)
    return Terms(
        kind="above" if name == "above" else "below" if name == "below" else "silent",
        hardware_id=None if hardware_id is None else rules.hardware_id_of(hardware_id),
        metric=metric,
        threshold=None if name == "silent_for" else float(value),
        silent_for_seconds=int(value) if name == "silent_for" else None,
        hysteresis=float(hysteresis),
        is_active=is_active,
    )


def is_raised(alert: Alert, value: float, *, before: bool) -> bool:
    """Whether a value raises the alert, or keeps it raised until it is back by the hysteresis."""
    threshold = alert.threshold or 0.0
    if alert.kind == "above":
        return value > threshold - alert.hysteresis if before else value > threshold
    return value < threshold + alert.hysteresis if before else value < threshold


def concerns(alert: Alert, hardware_id: str) -> bool:
    """Whether an alert is about this device."""
    return alert.hardware_id is None or alert.hardware_id == hardware_id


def _given(said: T | UnsetType | None, before: T | None) -> T | None:
    return before if isinstance(said, UnsetType) else said


def _check(name: str, value: float, metric: str | None, hysteresis: float) -> None:
    if name == "silent_for":
        if not SILENT_SECONDS_MIN <= value <= SILENT_SECONDS_MAX:
            reason = f"must be {SILENT_SECONDS_MIN} to {SILENT_SECONDS_MAX} seconds"
            raise Unfit("INVALID_VALUE", name, reason)
        if metric is not None:
            raise Unfit("INVALID_VALUE", "metric", "silence has no metric")
        return
    if metric is None:
        raise Unfit("MISSING_FIELD", "metric", "is missing")
    if not 1 <= len(metric) <= rules.NAME_CHARACTERS_MAX:
        raise Unfit("INVALID_VALUE", "metric", f"must be 1 to {rules.NAME_CHARACTERS_MAX} characters")
    for field, number in ((name, value), ("hysteresis", hysteresis)):
        if not math.isfinite(number) or (number and not rules.NUMBER_MIN <= abs(number) < rules.NUMBER_MAX):
            raise Unfit("INVALID_VALUE", field, "must be a finite number in DynamoDB's range")
    if hysteresis < 0:
        raise Unfit("INVALID_VALUE", "hysteresis", "must not be negative")
