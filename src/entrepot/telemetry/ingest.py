"""Ingest: each reading is one transaction of its own, and those of a request share one commit.

A transaction puts `processed_batches` on condition that it is not there, and `device_readings`. Now and then it holds
more: the crossing of a threshold, with the notice of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from entrepot.accounts.model import UserId
from entrepot.clock import stamp_of
from entrepot.engine.errors import TransactionCanceled
from entrepot.tables import Database
from entrepot.telemetry import rules
from entrepot.telemetry.alerting import Alerting, StateMoved
from entrepot.telemetry.devices import DeviceBook, Known
from entrepot.telemetry.errors import Taken, TelemetryError
from entrepot.telemetry.heat import DeviceHeat
from entrepot.telemetry.rollups import Rollups
from entrepot.telemetry.rules import Accepted, Bounds, ReadingBody, Root

CONDITION_FAILED = "ConditionalCheckFailed"
UNLESS_KNOWN = "attribute_not_exists(batch_id)"
UNLESS_LIVE = "attribute_not_exists(batch_id) OR expiration_time <= :now"

Put = dict[str, Any]


class Rejected(Struct):
    """A reading that is not stored, and why; the others are."""

    index: int
    batch_id: str | None
    error: str
    message: str


class Answer(Struct):
    """What became of each reading of a request."""

    acknowledged_batch_ids: list[str]
    duplicate_batch_ids: list[str]
    rejected: list[Rejected]
    server_time_ms: int


class Receipt(Struct, frozen=True):
    """The time of a request, worked out once for all its readings."""

    now: int
    received_at: str


class Ingest:
    """Takes requests of readings."""

    def __init__(
        self,
        db: Database,
        *,
        devices: DeviceBook,
        rollups: Rollups,
        alerting: Alerting,
        heat: DeviceHeat,
        bounds: Bounds,
    ) -> None:
        self._db = db
        self._devices = devices
        self._rollups = rollups
        self._alerting = alerting
        self._heat = heat
        self._bounds = bounds

    async def take(
        self, owner: UserId | None, root: Root, bodies: Sequence[ReadingBody | Rejected]
    ) -> Answer:
        """Store what can be stored and tell what became of each; raises Throttled when the device must resend."""
        now_ms = self._db.clock.epoch_ms()
        answer = Answer([], [], [], now_ms)
        accepted = self._judge(bodies, root, answer.rejected, now_ms)
        known = await self._known_devices(owner, accepted, answer.rejected)
        readings = [reading for reading in accepted if reading.hardware_id in known]
        if readings:
            await self._store(owner, readings, known, answer)
        answer.rejected.sort(key=lambda rejected: rejected.index)
        return answer

    def _judge(
        self,
        bodies: Sequence[ReadingBody | Rejected],
        root: Root,
        rejected: list[Rejected],
        now_ms: int,
    ) -> list[Accepted]:
        accepted = []
        for index, body in enumerate(bodies):
            if isinstance(body, Rejected):
                rejected.append(body)
                continue
            try:
                accepted.append(rules.accept(body, root, index, now_ms=now_ms, bounds=self._bounds))
            except TelemetryError as error:
                rejected.append(Rejected(index, body.batch_id, error.code, error.message))
        return accepted

    async def _known_devices(
        self, owner: UserId | None, accepted: list[Accepted], rejected: list[Rejected]
    ) -> dict[str, Known]:
        known: dict[str, Known] = {}
        firsts = {reading.hardware_id: reading for reading in reversed(accepted)}
        for hardware_id, first in firsts.items():
            try:
                known[hardware_id] = await self._devices.known(owner, first)
            except Taken as taken:
                rejected.extend(
                    Rejected(reading.index, reading.batch_id, taken.code, taken.message)
                    for reading in accepted
                    if reading.hardware_id == hardware_id
                )
        return known

    async def _store(
        self, owner: UserId | None, readings: list[Accepted], known: dict[str, Known], answer: Answer
    ) -> None:
        now = self._db.now()
        receipt = Receipt(now, stamp_of(now * 1000))
        crossings = await self._alerting.crossings_of(owner, readings)
        plain = [reading for reading in readings if reading.key not in crossings]
        # All at once: they wait for the writer together, and one sync makes them durable.
        stored = await asyncio.gather(
            *(self._put(reading, known[reading.hardware_id], receipt) for reading in plain),
            *self._notes(readings, known),
            return_exceptions=True,
        )
        for failure in stored:
            # Only now that all have ended: none goes on behind a request that was answered.
            if isinstance(failure, BaseException):
                raise failure
        outcome = {reading.index: bool(new) for reading, new in zip(plain, stored, strict=False)}
        crossing = [reading for reading in readings if reading.key in crossings]
        for reading in sorted(crossing, key=lambda reading: reading.timestamp_ms):
            device = known[reading.hardware_id]
            outcome[reading.index] = await self._put_crossing(owner, reading, device, receipt)
        for reading in readings:
            is_new = outcome[reading.index]
            (answer.acknowledged_batch_ids if is_new else answer.duplicate_batch_ids).append(reading.batch_id)
            if is_new:
                self._heat.count(reading.hardware_id)

    def _notes(self, readings: list[Accepted], known: dict[str, Known]) -> list[Any]:
        """What else is written of the devices, seldom."""
        notes: list[Any] = [self._rollups.mark(place) for place in self._rollups.unmarked(readings)]
        names: dict[str, set[str]] = {}
        for reading in readings:
            if not reading.sensors.keys() <= known[reading.hardware_id].metrics:
                names.setdefault(reading.hardware_id, set()).update(reading.sensors)
        for hardware_id, device in known.items():
            if self._devices.needs_note(device):
                notes.append(self._devices.note_activity(hardware_id, device))
            if hardware_id in names:
                notes.append(self._devices.note_metrics(hardware_id, device, names[hardware_id]))
        return notes

    async def _put(
        self, reading: Accepted, device: Known, receipt: Receipt, more: Sequence[Put] = ()
    ) -> bool:
        """Store a reading once: True when it is new, False when it is there already."""
        puts = [_batch(reading, receipt), self._reading(reading, device), *more]
        return await self._send(puts, receipt)

    async def _send(self, puts: list[Put], receipt: Receipt) -> bool:
        try:
            # Without a token: a repeat after a lost answer finds the batch, which is what it has to find.
            await self._db.call("TransactWriteItems", {"TransactItems": puts})
        except TransactionCanceled as canceled:
            # What may pass later was tried again until the deadline; what comes here is a condition.
            first = canceled.reasons[0]
            if first.code == CONDITION_FAILED:
                is_first_try = puts[0]["Put"]["ConditionExpression"] == UNLESS_KNOWN
                if not is_first_try or not _has_expired(first.item, receipt.now):
                    return False
                return await self._send([_replacing(puts[0], receipt), *puts[1:]], receipt)
            if any(reason.code == CONDITION_FAILED for reason in canceled.reasons):
                raise StateMoved from None
            raise
        return True

    async def _put_crossing(
        self, owner: UserId | None, reading: Accepted, device: Known, receipt: Receipt
    ) -> bool:
        """Store a reading with the crossing that it is, judged again as often as another's comes between."""

        async def put(more: Sequence[Put]) -> bool:
            return await self._put(reading, device, receipt, more)

        return await self._alerting.with_crossing(owner, reading, device.friendly_name, put)

    def _reading(self, reading: Accepted, device: Known) -> Put:
        item: dict[str, Any] = {
            "hardware_id": reading.hardware_id,
            "ts_batch": f"{reading.timestamp_ms:013}#{reading.batch_id}",
            "timestamp_ms": reading.timestamp_ms,
            "batch_id": reading.batch_id,
            "boot_id": reading.boot_id,
            "firmware_version": reading.firmware_version,
            "sensors": reading.sensors,
            "sensor_status": reading.sensor_status,
            "expiration_time": reading.timestamp_ms // 1000 + self._bounds.retention_seconds,
        }
        name = reading.friendly_name or device.friendly_name
        if name is not None:
            item["friendly_name"] = name
        if reading.server_time:
            item["time_source"] = "server"
        return {"Put": {"TableName": "device_readings", "Item": item}}


def _batch(reading: Accepted, receipt: Receipt) -> Put:
    return {
        "Put": {
            "TableName": "processed_batches",
            "Item": {
                "batch_id": reading.key,
                "hardware_id": reading.hardware_id,
                "received_at": receipt.received_at,
                "expiration_time": receipt.now + rules.BATCH_SECONDS,
            },
            "ConditionExpression": UNLESS_KNOWN,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }


def _has_expired(batch: Mapping[str, Any] | None, now: int) -> bool:
    return batch is not None and int(batch["expiration_time"]) <= now


def _replacing(put: Put, receipt: Receipt) -> Put:
    """The put of a batch whose time is over: gone, whether or not the store has deleted it yet."""
    values = {":now": receipt.now}
    return {"Put": {**put["Put"], "ConditionExpression": UNLESS_LIVE, "ExpressionAttributeValues": values}}
