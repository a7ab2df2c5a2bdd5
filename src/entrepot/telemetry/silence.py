"""Silence: devices that were heard once and are not any more, counted only while somebody listened."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime

from entrepot.tables import Database, TablesError, TransactionLost
from entrepot.telemetry.alerts import flipped
from entrepot.telemetry.devices import ACTIVITY_MS, DeviceBook
from entrepot.telemetry.errors import Unknown
from entrepot.telemetry.model import (
    Alert,
    Alerts,
    AlertState,
    AlertStates,
    Device,
    Listening,
    Listenings,
)
from entrepot.telemetry.notices import NoticeBoard
from entrepot.work import Lease, Work

SWEEP_SECONDS = 60
LISTEN_SECONDS = 15.0
# When nobody has said for this long that they listen, silence says nothing about the devices.
GAP_MS = 60_000
ALERTS_MAX = 100_000

log = logging.getLogger(__name__)


class Silence:
    """Says that we listen, and looks for devices that say nothing."""

    def __init__(self, db: Database, work: Work, devices: DeviceBook, notices: NoticeBoard) -> None:
        self._db = db
        self._devices = devices
        self._notices = notices
        self._alerts = Alerts(db)
        self._states = AlertStates(db)
        self._listenings = Listenings(db)
        work.schedules.every("telemetry.silence", self._swept, seconds=SWEEP_SECONDS)

    async def listen(self, *, fresh: bool = False) -> None:
        """Say that readings are being taken, now; `fresh` when this process has just begun to."""
        now_ms = self._db.clock.epoch_ms()
        known = await self._listenings.one()
        gap = known is None or now_ms - known.until_ms > GAP_MS
        since_ms = now_ms if fresh or known is None or gap else known.since_ms
        await self._db.put(Listening(since_ms=since_ms, until_ms=now_ms))

    async def keep_listening(self) -> None:
        """Say so again and again, until cancelled."""
        fresh = True
        while True:
            try:
                await self.listen(fresh=fresh)
                fresh = False
            except TablesError as error:
                log.warning("it could not be noted that we listen", exc_info=error)
            await asyncio.sleep(LISTEN_SECONDS)

    async def sweep(self) -> int:
        """Raise the alerts of devices that went silent, and end those of devices that came back."""
        now_ms = self._db.clock.epoch_ms()
        listening = await self._listenings.one()
        if listening is None or now_ms - listening.until_ms > GAP_MS:
            return 0
        moved = 0
        async for alert in self._alerts.of_kind("silent").each(at_most=ALERTS_MAX):
            if alert.is_active:
                moved += await self._sweep_alert(alert, listening.since_ms, now_ms)
        return moved

    async def _swept(self, lease: Lease) -> None:
        await self.sweep()

    async def _sweep_alert(self, alert: Alert, since_ms: int, now_ms: int) -> int:
        devices = await self._devices.of_owner(alert.owner)
        states = {
            state.hardware_id: state
            for state in await self._states.of_alert(alert.owner, alert.alert_id).all()
        }
        moved = 0
        for device in devices:
            if alert.hardware_id in (None, device.hardware_id):
                state = states.get(device.hardware_id)
                moved += await self._judge(alert, device, state, since_ms=since_ms, now_ms=now_ms)
        return moved

    async def _judge(
        self, alert: Alert, device: Device, state: AlertState | None, *, since_ms: int, now_ms: int
    ) -> bool:
        seen_ms = _epoch_ms(device.last_seen_at)
        if state is not None and state.is_raised:
            # Only a sign of life ends it; that we began to listen anew does not.
            is_over = seen_ms > (state.since_ms or 0)
            return is_over and await self._move(alert, device, state, now_ms)
        if not _is_silent(alert, seen_ms, since_ms=since_ms, now_ms=now_ms):
            return False
        # The list comes from an index, and indexes lag: the device itself has the last word.
        try:
            device = await self._devices.one(device.hardware_id, None)
        except Unknown:
            return False
        seen_ms = _epoch_ms(device.last_seen_at)
        is_silent = _is_silent(alert, seen_ms, since_ms=since_ms, now_ms=now_ms)
        return is_silent and await self._move(alert, device, state, now_ms)

    async def _move(self, alert: Alert, device: Device, state: AlertState | None, now_ms: int) -> bool:
        after = flipped(alert, state, device.hardware_id, at_ms=now_ms, value=None)
        try:
            async with self._db.transaction() as t:
                if state is None:
                    t.create(after)
                else:
                    t.replace(after)
                if after.is_raised:
                    self._notices.put(t, alert, after, at_ms=now_ms, friendly_name=device.friendly_name)
        except TransactionLost:
            # Another process saw it first.
            return False
        return True


def _is_silent(alert: Alert, seen_ms: int, *, since_ms: int, now_ms: int) -> bool:
    # Activity is written every five minutes at most: the device may have been heard that much later.
    heard_ms = max(seen_ms, since_ms) + ACTIVITY_MS
    return now_ms - heard_ms >= (alert.silent_for_seconds or 0) * 1000


def _epoch_ms(stamp: str) -> int:
    return int(datetime.fromisoformat(stamp).timestamp() * 1000)
