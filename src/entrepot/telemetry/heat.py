"""Heat: devices that write more than their partition should take for long."""

from __future__ import annotations

import logging

from prometheus_client import CollectorRegistry, Counter, Gauge

from entrepot.clock import Clock
from entrepot.log import fields

WINDOW_MS = 300_000
WRITES_PER_SECOND_MAX = 1.0
DEVICES_COUNTED_MAX = 100_000

log = logging.getLogger(__name__)


class DeviceHeat:
    """Counts readings by device in windows of five minutes: a burst from a buffer is no heat, a whole window is."""

    def __init__(self, clock: Clock, registry: CollectorRegistry) -> None:
        self._clock = clock
        self._counts: dict[str, int] = {}
        self._began_ms = clock.epoch_ms()
        self.hot: dict[str, float] = {}
        """The devices that were too hot in the last window, and their writes a second."""
        self._gauge = Gauge(
            "entrepot_telemetry_hot_devices",
            "Devices above one write a second, sustained over five minutes.",
            registry=registry,
        )
        self._readings = Counter(
            "entrepot_telemetry_readings", "Readings that were stored.", registry=registry
        )

    def count(self, hardware_id: str) -> None:
        """Count a reading that was stored."""
        self._readings.inc()
        counts = self._counts
        if hardware_id in counts or len(counts) < DEVICES_COUNTED_MAX:
            counts[hardware_id] = counts.get(hardware_id, 0) + 1
        if self._clock.epoch_ms() - self._began_ms >= WINDOW_MS:
            self.turn()

    def turn(self) -> None:
        """End a window and tell who was hot in it."""
        now_ms = self._clock.epoch_ms()
        seconds = max(now_ms - self._began_ms, WINDOW_MS) / 1000
        rates = {hardware_id: count / seconds for hardware_id, count in self._counts.items()}
        self.hot = {name: rate for name, rate in rates.items() if rate > WRITES_PER_SECOND_MAX}
        self._counts, self._began_ms = {}, now_ms
        self._gauge.set(len(self.hot))
        for hardware_id, rate in self.hot.items():
            log.warning(
                "a device writes more than one reading a second: let it send less often, or shard it",
                extra=fields(device=hardware_id, writes_per_second=round(rate, 2)),
            )
