"""Series for charts: readings or hours drawn together into so many points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from msgspec import Struct

Fn = Literal["avg", "min", "max", "last", "lttb"]
FUNCTIONS: tuple[str, ...] = get_args(Fn)

Point = tuple[int, float]


class Part(Struct):
    """Some values that are one: those of a reading, of an hour, or of a bucket."""

    at_ms: int
    count: int
    total: float
    low: float
    high: float
    last: float
    last_ms: int

    @classmethod
    def of(cls, at_ms: int, value: float) -> Part:
        """The part that is one value."""
        return cls(at_ms, 1, value, value, value, value, at_ms)

    def take(self, other: Part) -> None:
        """Take another part in."""
        self.count += other.count
        self.total += other.total
        self.low = min(self.low, other.low)
        self.high = max(self.high, other.high)
        if other.last_ms >= self.last_ms:
            self.last, self.last_ms = other.last, other.last_ms

    def value(self, fn: Fn) -> float:
        """What stands for this part."""
        if fn == "min":
            return self.low
        if fn == "max":
            return self.high
        if fn == "last":
            return self.last
        # Rounding must not carry an average past its values.
        return min(max(self.total / self.count, self.low), self.high)


def bucketed(parts: Sequence[Part], *, bucket_ms: int, fn: Fn) -> list[Point]:
    """A point for each bucket with values in it, at the bucket's beginning; oldest first."""
    buckets: dict[int, Part] = {}
    for part in parts:
        start = part.at_ms // bucket_ms * bucket_ms
        known = buckets.get(start)
        if known is None:
            buckets[start] = Part(start, part.count, part.total, part.low, part.high, part.last, part.last_ms)
        else:
            known.take(part)
    return [(start, buckets[start].value(fn)) for start in sorted(buckets)]


def lttb(points: Sequence[Point], count: int) -> list[Point]:
    """The points that keep the line's shape: largest triangle three buckets (Steinarsson 2013)."""
    if count >= len(points):
        return list(points)
    if count <= 2:
        return [points[0], points[-1]][:count]
    chosen = [points[0]]
    width = (len(points) - 2) / (count - 2)
    for number in range(count - 2):
        start, end = int(number * width) + 1, int((number + 1) * width) + 1
        following = points[end : min(int((number + 2) * width) + 1, len(points))] or [points[-1]]
        middle_t = sum(point[0] for point in following) / len(following)
        middle_v = sum(point[1] for point in following) / len(following)
        last_t, last_v = chosen[-1]
        chosen.append(
            max(
                points[start:end],
                key=lambda point: abs(
                    (last_t - middle_t) * (point[1] - last_v) - (last_t - point[0]) * (middle_v - last_v)
                ),
            )
        )
    chosen.append(points[-1])
    return chosen
