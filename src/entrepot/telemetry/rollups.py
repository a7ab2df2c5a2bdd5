"""Roll-ups: the hours of a day of a device, worked out from its readings once no more are expected.

A request puts the work of rolling up the days of its readings, unless this process knows that it is put already and not
about to be done. A device is answered only when that is done too, and sends again what was not answered: so no day is
missed however late a reading comes, and most readings cost nothing.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Iterable

from msgspec import Struct

from entrepot.tables import Database
from entrepot.telemetry.model import HardwareId, Hour, Hours, Readings
from entrepot.telemetry.rules import NUMBER_MIN, Accepted, Bounds
from entrepot.work import DONE, Lease, Outcome, Work, WorkItem

ROLLUP = "telemetry.rollup"
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
KEPT_SECONDS = 2 * 365 * 24 * 3600
# Work is due this long after the full hour, spread over some minutes by device.
AFTER_MS = 300_000
SPREAD_MS = 600_000
# A request that found the work put may take this long to be committed, on clocks that differ.
MARGIN_MS = 60_000
MARKS_MAX = 100_000
READINGS_PER_DAY_MAX = 1_000_000
TOTAL_MAX = 9.9e125

Place = tuple[str, int]
"""A device and a day."""


class Sample(Struct):
    """What of a reading is charted."""

    timestamp_ms: int
    sensors: dict[str, float]


class Rollups:
    """Marks days that have to be rolled up, and rolls them up."""

    def __init__(self, db: Database, work: Work, bounds: Bounds) -> None:
        self._db = db
        self._work = work
        self._bounds = bounds
        self._readings = Readings(db)
        self._hours = Hours(db)
        self._marks: OrderedDict[Place, int] = OrderedDict()
        work.handle(ROLLUP, self._run, concurrency=2, lease_seconds=120, attempts_max=None)

    def unmarked(self, readings: Iterable[Accepted]) -> set[Place]:
        """The days of these readings whose roll-up this process does not know to be put."""
        now_ms = self._db.clock.epoch_ms()
        oldest_ms = now_ms - self._bounds.retention_seconds * 1000
        places = {
            (reading.hardware_id, reading.timestamp_ms // DAY_MS)
            for reading in readings
            if reading.timestamp_ms > oldest_ms
        }
        return {place for place in places if self._marks.get(place, 0) <= now_ms + MARGIN_MS}

    async def mark(self, place: Place) -> None:
        """Put the work of rolling a day up."""
        hardware_id, day = place
        due_ms = self._due_ms(hardware_id, self._db.clock.epoch_ms())
        # The time is part of the name, or a device that reports all day would put it off for ever.
        async with self._db.transaction() as transaction:
            self._work.put(
                transaction,
                kind=ROLLUP,
                subject=hardware_id,
                arguments={"day": day},
                due_at_ms=due_ms,
                work_id=f"{ROLLUP}.{hardware_id}.{day}.{due_ms // HOUR_MS}",
            )
        self._marks[place] = due_ms
        self._marks.move_to_end(place)
        if len(self._marks) > MARKS_MAX:
            self._marks.popitem(last=False)

    async def roll_up(self, hardware_id: HardwareId, day: int) -> int:
        """Work out a day's hours from its readings, and write those that differ; gives how many."""
        fresh = await self._fresh_hours(hardware_id, day)
        written = 0
        for metric in {hour.metric for hour in fresh}:
            known = {
                hour.hour_ms: hour
                for hour in await self._hours.between(
                    hardware_id, metric, day * DAY_MS, (day + 1) * DAY_MS - 1
                ).all()
            }
            changed = [
                hour for hour in fresh if hour.metric == metric and _is_fuller(hour, known.get(hour.hour_ms))
            ]
            await self._db.put_all(changed)
            written += len(changed)
        return written

    async def _run(self, item: WorkItem, lease: Lease) -> Outcome:
        await self.roll_up(HardwareId(item.subject or ""), item.arguments["day"])
        return DONE

    async def _fresh_hours(self, hardware_id: HardwareId, day: int) -> list[Hour]:
        hours: dict[tuple[int, str], Hour] = {}
        readings = self._readings.between(hardware_id, day * DAY_MS, (day + 1) * DAY_MS - 1).reversed()
        async for sample in readings.only(Sample).each(at_most=READINGS_PER_DAY_MAX):
            for metric, value in sample.sensors.items():
                hour_ms = sample.timestamp_ms // HOUR_MS * HOUR_MS
                hour = hours.get((hour_ms, metric))
                if hour is None:
                    hours[hour_ms, metric] = _first(hardware_id, metric, hour_ms, value, sample.timestamp_ms)
                else:
                    _add(hour, value, sample.timestamp_ms)
        for hour in hours.values():
            hour.total = _storable(hour.total)
        return list(hours.values())

    def _due_ms(self, hardware_id: str, now_ms: int) -> int:
        spread = zlib.crc32(hardware_id.encode()) % SPREAD_MS
        return (now_ms // HOUR_MS + 1) * HOUR_MS + AFTER_MS + spread


def _first(hardware_id: HardwareId, metric: str, hour_ms: int, value: float, at_ms: int) -> Hour:
    return Hour(
        hardware_id=hardware_id,
        metric=metric,
        hour_ms=hour_ms,
        count=1,
        total=value,
        low=value,
        high=value,
        last=value,
        last_ms=at_ms,
        expiration_time=hour_ms // 1000 + KEPT_SECONDS,
    )


def _add(hour: Hour, value: float, at_ms: int) -> None:
    hour.count += 1
    hour.total += value
    hour.low = min(hour.low, value)
    hour.high = max(hour.high, value)
    hour.last, hour.last_ms = value, at_ms


def _storable(total: float) -> float:
    """A sum of numbers that can be stored, as one that can be too."""
    if abs(total) < NUMBER_MIN:
        return 0.0
    return max(-TOTAL_MAX, min(TOTAL_MAX, total))


def _is_fuller(fresh: Hour, known: Hour | None) -> bool:
    # Readings go when their time is over, hours stay: what is worked out from fewer must not replace them.
    return known is None or (fresh.count >= known.count and fresh != known)
