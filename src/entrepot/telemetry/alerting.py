"""Alerting: readings that cross a threshold move the alert's state in the transaction that stores them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from entrepot.accounts.model import UserId
from entrepot.tables import Database, Throttled
from entrepot.telemetry.alerts import AlertBook, flipped
from entrepot.telemetry.model import Alert, AlertState, AlertStates, HardwareId
from entrepot.telemetry.notices import NoticeBoard
from entrepot.telemetry.rules import Accepted
from entrepot.telemetry.thresholds import READING_AGE_MS_MAX, concerns, is_raised

CROSSING_TRIES_MAX = 8

Puts = Sequence[dict[str, Any]]


class StateMoved(Exception):
    """Another reading moved an alert's state first: judge again."""


class Alerting:
    """Judges readings by the alerts of their owner."""

    def __init__(self, db: Database, book: AlertBook, notices: NoticeBoard) -> None:
        self._db = db
        self._book = book
        self._notices = notices
        self._states = AlertStates(db)

    async def crossings_of(self, owner: UserId | None, readings: Sequence[Accepted]) -> set[str]:
        """The keys of the readings that seem to cross a threshold; they are judged again when they are stored."""
        alerts = await self._book.thresholds_of(owner) if owner is not None else []
        if not alerts:
            return set()
        pairs = {
            (alert.alert_id, reading.hardware_id): self._state_of(alert, reading.hardware_id)
            for reading in readings
            for alert in self._relevant(alerts, reading)
        }
        found = await self._db.get_all(list(pairs.values()))
        states = dict(zip(pairs, found, strict=True))
        crossing: set[str] = set()
        for reading in sorted(readings, key=lambda reading: reading.timestamp_ms):
            for alert in self._relevant(alerts, reading):
                place = (alert.alert_id, reading.hardware_id)
                after = _judge(alert, states[place], reading)
                if after is not None:
                    states[place] = after
                    crossing.add(reading.key)
        return crossing

    async def with_crossing(
        self,
        owner: UserId | None,
        reading: Accepted,
        friendly_name: str | None,
        put: Callable[[Puts], Awaitable[bool]],
    ) -> bool:
        """Store a reading together with the states that it moves; raises Throttled when others always come first."""
        for _ in range(CROSSING_TRIES_MAX):
            try:
                return await put(await self._moves(owner, reading, friendly_name))
            except StateMoved:
                continue
        raise Throttled(f"the alerts of {reading.hardware_id}: others came first {CROSSING_TRIES_MAX} times")

    async def _moves(self, owner: UserId | None, reading: Accepted, friendly_name: str | None) -> Puts:
        alerts = await self._book.thresholds_of(owner) if owner is not None else []
        transaction = self._db.transaction()
        for alert in self._relevant(alerts, reading):
            before = await self._state_of(alert, reading.hardware_id)
            after = _judge(alert, before, reading)
            if after is None:
                continue
            if before is None:
                transaction.create(after)
            else:
                transaction.replace(after)
            self._notices.put(
                transaction, alert, after, at_ms=reading.timestamp_ms, friendly_name=friendly_name
            )
        return [{action.kind: action.request} for action in transaction.actions]

    def _relevant(self, alerts: Sequence[Alert], reading: Accepted) -> list[Alert]:
        if self._db.clock.epoch_ms() - reading.timestamp_ms > READING_AGE_MS_MAX:
            return []
        return [
            alert
            for alert in alerts
            if alert.metric in reading.sensors and concerns(alert, reading.hardware_id)
        ]

    def _state_of(self, alert: Alert, hardware_id: str) -> Any:
        return self._states.one(alert.owner, alert.alert_id, HardwareId(hardware_id))


def _judge(alert: Alert, state: AlertState | None, reading: Accepted) -> AlertState | None:
    """The state after a reading, or None when it stays."""
    if state is not None and state.since_ms is not None and reading.timestamp_ms <= state.since_ms:
        # What came late tells of a time before the state that is known.
        return None
    value = float(reading.sensors[alert.metric or ""])
    before = state is not None and state.is_raised
    if is_raised(alert, value, before=before) == before:
        return None
    return flipped(alert, state, HardwareId(reading.hardware_id), at_ms=reading.timestamp_ms, value=value)
