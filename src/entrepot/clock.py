"""The one clock that everything asks for the time, so that tests can move it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock:
    """Wall time plus an offset; `advance` moves it, and only forward, as time does."""

    __slots__ = ("_offset_ms",)

    def __init__(self, *, offset_seconds: float = 0.0) -> None:
        self._offset_ms = round(offset_seconds * 1000)

    def epoch_ms(self) -> int:
        """Milliseconds since 1970: the time of readings and events."""
        return time.time_ns() // 1_000_000 + self._offset_ms

    def epoch_seconds(self) -> int:
        """Whole seconds since 1970: the time of TTL attributes."""
        return self.epoch_ms() // 1000

    def stamp(self) -> str:
        """RFC 3339, UTC, whole seconds: the time of records."""
        return stamp_of(self.epoch_ms())

    def utc(self) -> datetime:
        """The present as an aware datetime."""
        return _EPOCH + timedelta(milliseconds=self.epoch_ms())

    def advance(self, seconds: float) -> None:
        """Move the clock forward, for tests."""
        if seconds < 0:
            raise ValueError(f"a clock can't go back {-seconds} s")
        self._offset_ms += round(seconds * 1000)


def stamp_of(epoch_ms: int) -> str:
    """A time in milliseconds as RFC 3339, UTC, whole seconds."""
    return (_EPOCH + timedelta(seconds=epoch_ms // 1000)).strftime("%Y-%m-%dT%H:%M:%SZ")
