"""Readings as people ask for them: the latest, a range, a series, a file."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from entrepot.clock import stamp_of
from entrepot.tables import Database, Many, Page, TooMany
from entrepot.telemetry.errors import Unfit, Unknown
from entrepot.telemetry.model import Device, HardwareId, Hour, Hours, Reading, Readings
from entrepot.telemetry.rollups import HOUR_MS, Sample
from entrepot.telemetry.series import Fn, Part, Point, bucketed, lttb

# The largest time that thirteen digits hold.
TIME_MS_MAX = 9_999_999_999_999
# Hours that are younger than this may not be rolled up yet.
ROLLED_AFTER_MS = 3 * HOUR_MS
SERIES_READINGS_MAX = 500_000
EXPORT_READINGS_MAX = 1_000_000_000
EXPORT_CHUNK_READINGS = 500

Format = Literal["csv", "jsonl"]


class Range(Struct, frozen=True):
    """A time range, both ends included."""

    from_ms: int
    to_ms: int

    def __post_init__(self) -> None:
        for name, value in (("from", self.from_ms), ("to", self.to_ms)):
            if not 0 <= value <= TIME_MS_MAX:
                raise Unfit("INVALID_VALUE", name, f"must be epoch milliseconds, 0 to {TIME_MS_MAX}")
        if self.from_ms > self.to_ms:
            raise Unfit("INVALID_VALUE", "from", "must not be after `to`")


class Series(Struct):
    """A downsampled series."""

    metric: str
    fn: str
    bucket_ms: int
    points: list[Point]


class ReadingBook:
    """The readings of devices, and the hours that are made of them."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._readings = Readings(db)
        self._hours = Hours(db)

    async def latest(self, hardware_id: HardwareId) -> Reading:
        """The newest reading by the time it was taken; raises Unknown."""
        found = await self._readings.latest(hardware_id)
        if found is None:
            raise Unknown("NO_READINGS", f"The device {hardware_id} has no readings.")
        return found

    async def page(
        self, hardware_id: HardwareId, span: Range, *, ascending: bool, limit: int, cursor: str | None
    ) -> Page[Reading]:
        """A page of a range."""
        found = self._readings.between(hardware_id, span.from_ms, span.to_ms)
        return await (found.reversed() if ascending else found).page(limit=limit, cursor=cursor)

    async def series(
        self, hardware_id: HardwareId, metric: str, span: Range, *, points: int, fn: Fn
    ) -> Series:
        """A metric drawn together into about so many points; long ones are made of hours."""
        bucket_ms = -(-(span.to_ms - span.from_ms + 1) // points)
        parts: list[Part] = []
        if bucket_ms >= HOUR_MS:
            bucket_ms = -(-bucket_ms // HOUR_MS) * HOUR_MS
            rolled_ms = (self._db.clock.epoch_ms() - ROLLED_AFTER_MS) // HOUR_MS * HOUR_MS
            parts = await self._rolled(hardware_id, metric, span, rolled_ms)
            rest = max(span.from_ms, rolled_ms)
        else:
            rest = span.from_ms
        if rest <= span.to_ms:
            parts += await self._raw(hardware_id, metric, rest, span.to_ms)
        if fn == "lttb":
            line = [(part.at_ms, part.value("avg")) for part in parts]
            return Series(metric, fn, bucket_ms, lttb(line, points))
        return Series(metric, fn, bucket_ms, bucketed(parts, bucket_ms=bucket_ms, fn=fn))

    async def export(self, device: Device, span: Range, format_: Format) -> AsyncIterator[bytes]:
        """A range as a file, oldest first, a bounded part at a time."""
        metrics = sorted(device.metrics or ())
        if format_ == "csv":
            yield _csv_rows([["time", "timestamp_ms", *_COLUMNS, *metrics, "sensor_status"]])
        found = self._ascending(device.hardware_id, span.from_ms, span.to_ms)
        chunk: list[Reading] = []
        async for reading in found.each(at_most=EXPORT_READINGS_MAX):
            chunk.append(reading)
            if len(chunk) == EXPORT_CHUNK_READINGS:
                yield _encoded(chunk, metrics, format_)
                chunk = []
        if chunk:
            yield _encoded(chunk, metrics, format_)

    async def forget(self, device: Device, *, limit: int) -> int:
        """Delete some of a device's readings, then some of its hours; 0 when none is left."""
        page = await self._readings.between(device.hardware_id, 0, TIME_MS_MAX).page(limit=limit)
        if page.items:
            await self._db.delete_all(
                self._readings.one(reading.hardware_id, reading.timestamp_ms, reading.batch_id)
                for reading in page.items
            )
            return len(page.items)
        for metric in device.metrics or ():
            hours = await self._hours.between(device.hardware_id, metric, 0, TIME_MS_MAX).page(limit=limit)
            if hours.items:
                await self._db.delete_all(
                    self._hours.one(hour.hardware_id, hour.metric, hour.hour_ms) for hour in hours.items
                )
                return len(hours.items)
        return 0

    def _ascending(self, hardware_id: HardwareId, from_ms: int, to_ms: int) -> Many[Reading]:
        return self._readings.between(hardware_id, from_ms, to_ms).reversed()

    async def _raw(self, hardware_id: HardwareId, metric: str, from_ms: int, to_ms: int) -> list[Part]:
        parts = []
        samples = self._ascending(hardware_id, from_ms, to_ms).only(Sample)
        try:
            async for sample in samples.each(at_most=SERIES_READINGS_MAX):
                value = sample.sensors.get(metric)
                if value is not None:
                    parts.append(Part.of(sample.timestamp_ms, value))
        except TooMany:
            reason = (
                f"the range has more than {SERIES_READINGS_MAX} readings: ask for less time or fewer points"
            )
            raise Unfit("INVALID_VALUE", "points", reason) from None
        return parts

    async def _rolled(self, hardware_id: HardwareId, metric: str, span: Range, rolled_ms: int) -> list[Part]:
        first_ms, last_ms = span.from_ms // HOUR_MS * HOUR_MS, min(span.to_ms, rolled_ms - 1)
        if first_ms > last_ms:
            return []
        hours: list[Hour] = await self._hours.between(hardware_id, metric, first_ms, last_ms).all()
        return [
            Part(hour.hour_ms, hour.count, hour.total, hour.low, hour.high, hour.last, hour.last_ms)
            for hour in hours
        ]


_COLUMNS = ("batch_id", "boot_id", "firmware_version", "friendly_name", "time_source")


def _encoded(readings: list[Reading], metrics: list[str], format_: Format) -> bytes:
    if format_ == "jsonl":
        return b"".join(msgspec.json.encode(view_of(reading)) + b"\n" for reading in readings)
    return _csv_rows([_row(reading, metrics) for reading in readings])


def _row(reading: Reading, metrics: list[str]) -> list[Any]:
    status = ";".join(f"{name}={value}" for name, value in sorted(reading.sensor_status.items()))
    return [
        stamp_of(reading.timestamp_ms),
        reading.timestamp_ms,
        reading.batch_id,
        reading.boot_id,
        _inert(reading.firmware_version),
        _inert(reading.friendly_name or ""),
        reading.time_source or "",
        *(reading.sensors.get(metric, "") for metric in metrics),
        _inert(status),
    ]


def _inert(text: str) -> str:
    # A spreadsheet would run what begins like this.
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _csv_rows(rows: list[list[Any]]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue().encode()


def view_of(reading: Reading) -> dict[str, Any]:
    """A reading as the API shows it."""
    view: dict[str, Any] = {
        "hardware_id": reading.hardware_id,
        "timestamp_ms": reading.timestamp_ms,
        "batch_id": reading.batch_id,
        "boot_id": reading.boot_id,
        "firmware_version": reading.firmware_version,
        "sensors": reading.sensors,
        "sensor_status": reading.sensor_status,
    }
    if reading.friendly_name is not None:
        view["friendly_name"] = reading.friendly_name
    if reading.time_source is not None:
        view["time_source"] = reading.time_source
    return view
