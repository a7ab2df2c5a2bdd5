"""Telemetry as a part of the process: its routes, its lanes, its loop, and what it deletes of a person."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from litestar.handlers import HTTPRouteHandler
from prometheus_client import CollectorRegistry

from entrepot.accounts.deletion import Cleared, Leaving
from entrepot.http.asgi import ASGIApp
from entrepot.tables import Database
from entrepot.telemetry.alerting import Alerting
from entrepot.telemetry.alerts import AlertBook
from entrepot.telemetry.api import Context, telemetry_routes
from entrepot.telemetry.devices import DeviceBook
from entrepot.telemetry.events import Publish
from entrepot.telemetry.heat import DeviceHeat
from entrepot.telemetry.ingest import Ingest
from entrepot.telemetry.keys import KeyRing
from entrepot.telemetry.lane import DATA_PATH, REGISTER_PATH, data_lane, register_lane
from entrepot.telemetry.notices import NoticeBoard
from entrepot.telemetry.readings import ReadingBook
from entrepot.telemetry.rollups import Rollups
from entrepot.telemetry.rules import Bounds
from entrepot.telemetry.settings import Telemetry
from entrepot.telemetry.silence import Silence
from entrepot.work import Work

FORGOTTEN_AT_ONCE = 500


class TelemetryPart:
    """Give its routes and lanes to the application, and itself as a part.

    `publish` is told every domain event at least once; without it events are logged. A process that does not serve
    says so, since it hears no device.
    """

    name = "telemetry"

    def __init__(
        self,
        db: Database,
        *,
        work: Work,
        settings: Telemetry,
        pepper: str,
        registry: CollectorRegistry,
        publish: Publish | None = None,
        serves: bool = True,
    ) -> None:
        bounds = Bounds(
            retention_seconds=settings.retention_days * 24 * 3600, future_ms=settings.future_hours * 3_600_000
        )
        self._serves = serves
        self._listening: asyncio.Task[None] | None = None
        self.keys = KeyRing(db, pepper=settings.api_key_pepper or pepper)
        self.devices = DeviceBook(db)
        self.readings = ReadingBook(db)
        self.notices = NoticeBoard(db, work, publish)
        self.alerts = AlertBook(db, self.notices)
        self.silence = Silence(db, work, self.devices, self.notices)
        self.rollups = Rollups(db, work, bounds)
        self.heat = DeviceHeat(db.clock, registry)
        self.ingest = Ingest(
            db,
            devices=self.devices,
            rollups=self.rollups,
            alerting=Alerting(db, self.alerts, self.notices),
            heat=self.heat,
            bounds=bounds,
        )
        context = Context(
            devices=self.devices,
            readings=self.readings,
            keys=self.keys,
            alerts=self.alerts,
            clock=db.clock,
            bounds_future_ms=bounds.future_ms,
        )
        self.routes: list[HTTPRouteHandler] = telemetry_routes(context)
        self.lanes: Mapping[str, ASGIApp] = {
            DATA_PATH: data_lane(self.keys, self.ingest),
            REGISTER_PATH: register_lane(self.keys, self.devices, db.clock),
        }

    async def start(self) -> None:
        if self._serves:
            self._listening = asyncio.create_task(self.silence.keep_listening(), name="telemetry listening")

    async def check(self) -> None:
        if self._listening is not None and self._listening.done():
            raise RuntimeError("the loop that says that we listen has ended")

    async def stop(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)

    async def clean_up(self, leaving: Leaving, _: Any) -> Cleared:
        """Delete a part of what is kept of a person who leaves: keys, readings and hours, devices, alerts.

        The ids of processed batches stay until they expire, within 30 days; they lead nowhere any more.
        """
        count = await self.keys.forget(leaving.userId, limit=FORGOTTEN_AT_ONCE)
        if count:
            return Cleared(count, cursor="keys")
        page = await self.devices.page(leaving.userId, limit=1, cursor=None)
        for device in page.items:
            count = await self.readings.forget(device, limit=FORGOTTEN_AT_ONCE)
            if count == 0:
                await self.devices.forget(device)
            return Cleared(count or 1, cursor="devices")
        alerts = await self.alerts.page(leaving.userId, limit=1, cursor=None)
        for alert in alerts.items:
            await self.alerts.delete(leaving.userId, alert.alert_id)
            return Cleared(1, cursor="alerts")
        return Cleared()
