"""Telemetry's parts on a store, without HTTP; and readings as devices send them."""

from __future__ import annotations

from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from entrepot.accounts.model import UserId
from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.tables import Database, provision
from entrepot.telemetry import model
from entrepot.telemetry.events import DomainEvent
from entrepot.telemetry.ingest import Answer
from entrepot.telemetry.lane import decode_data
from entrepot.telemetry.part import TelemetryPart
from entrepot.telemetry.settings import Telemetry
from entrepot.work import Work
from entrepot.work.model import work as work_table

ANN = UserId("usr_" + "a" * 16)
BOB = UserId("usr_" + "b" * 16)
MAC = "AA:BB:CC:DD:EE:FF"
BOOT = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
OTHER_BOOT = "550e8400-e29b-41d4-a716-446655440000"
PEPPER = "pepper of the tests"


class Floor:
    """All of telemetry on one store, and the events that it told."""

    def __init__(self, db: Database, engine: Engine, clock: Clock) -> None:
        self.db = db
        self.engine = engine
        self.clock = clock
        self.events: list[DomainEvent] = []
        self.work = Work(db)
        self.part = TelemetryPart(
            db,
            work=self.work,
            settings=Telemetry(),
            pepper=PEPPER,
            registry=CollectorRegistry(),
            publish=self._publish,
        )

    async def _publish(self, event: DomainEvent) -> None:
        self.events.append(event)

    async def send(self, *readings: dict[str, Any], owner: UserId | None = ANN, **root: Any) -> Answer:
        """Send readings as a device would, past the lane's decoding."""
        top, bodies = decode_data(msgspec.json.encode({**root, "readings": list(readings)}))
        return await self.part.ingest.take(owner, top, bodies)

    def now(self) -> int:
        return self.clock.epoch_ms()


async def floor_on(engine: Engine, clock: Clock) -> Floor:
    db = Database(engine, clock=clock, deadline_seconds=30)
    await provision(db, [*model.TABLES, work_table])
    return Floor(db, engine, clock)


def reading(at_ms: int, *, mac: str = MAC, boot: str = BOOT, **more: Any) -> dict[str, Any]:
    """A reading of a window of five minutes that ended at this time."""
    body = {
        "batch_id": f"{mac}_{boot}_{at_ms - 300_000}_{at_ms}",
        "hardware_id": mac,
        "boot_id": boot,
        "firmware_version": "1.0.16",
        "timestamp_ms": at_ms,
        "sensors": {"bme280_temp_c": 22.5, "humidity_pct": 45.2},
        "sensor_status": {"bme280": "ok"},
    }
    return {**body, **more}
