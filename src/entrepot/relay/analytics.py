"""Analytics: how an owner's sources and connections do, from roll-ups alone, never by reading events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from entrepot.accounts.model import UserId
from entrepot.clock import stamp_of
from entrepot.relay.model import Rollup, Rollups, SourceId
from entrepot.relay.tallies import DAY_SECONDS, HOUR_SECONDS, LATENCIES_MS, bucket_counts
from entrepot.tables import Database

Period = Literal["24h", "7d", "30d"]

TOP_SOURCES = 10
# What took longer than the last bound is told as this: a timeout's usual length.
SLOWEST_MS = 30_000

_SPANS: dict[Period, tuple[Literal["hour", "day"], int, int]] = {
    "24h": ("hour", HOUR_SECONDS, 24),
    "7d": ("day", DAY_SECONDS, 7),
    "30d": ("day", DAY_SECONDS, 30),
}


class Counts(msgspec.Struct, kw_only=True):
    """What happened; `successRate` is null when nothing ended."""

    received: int = 0
    delivered: int = 0
    failed: int = 0
    filtered: int = 0
    successRate: float | None = None

    def add(self, rollup: Rollup) -> None:
        """Count a roll-up in."""
        self.received += rollup.received
        self.delivered += rollup.delivered
        self.failed += rollup.failed
        self.filtered += rollup.filtered
        ended = self.delivered + self.failed
        self.successRate = round(self.delivered / ended, 4) if ended else None


class Latency(msgspec.Struct, kw_only=True):
    """Milliseconds of deliveries that arrived, estimated within the bounds of the roll-ups."""

    p50: int | None = None
    p95: int | None = None


class Span(Counts, kw_only=True):
    """The counts of one hour or day, which begins at `startsAt`."""

    startsAt: str


class SourceCounts(Counts, kw_only=True):
    """The counts of one source."""

    sourceId: SourceId


class Report(msgspec.Struct, kw_only=True):
    """An owner's analytics."""

    period: Period
    totals: Counts
    latencyMs: Latency
    spans: list[Span]
    topSources: list[SourceCounts]


class Analytics:
    """Makes reports."""

    def __init__(self, db: Database) -> None:
        self._clock = db.clock
        self._rollups = Rollups(db)

    async def report(self, user_id: UserId, period: Period) -> Report:
        """The report of the hours or days that end now."""
        unit, seconds, count = _SPANS[period]
        last = self._clock.epoch_seconds() // seconds * seconds
        first = last - (count - 1) * seconds
        found = await self._rollups.of_user_between(user_id, unit, first, last).all()
        return report_of(period, found, range(first, last + 1, seconds))


def report_of(period: Period, rollups: Sequence[Rollup], starts: Iterable[int]) -> Report:
    """The report of these roll-ups, with a span for each start, also where nothing happened."""
    totals = Counts()
    spans = {start: Span(startsAt=stamp_of(start * 1000)) for start in starts}
    sources: dict[SourceId, SourceCounts] = {}
    buckets: dict[int, int] = defaultdict(int)
    for rollup in rollups:
        totals.add(rollup)
        if rollup.startsAt in spans:
            spans[rollup.startsAt].add(rollup)
        sources.setdefault(rollup.sourceId, SourceCounts(sourceId=rollup.sourceId)).add(rollup)
        for number, count in enumerate(bucket_counts(rollup)):
            buckets[number] += count
    counts = [buckets[number] for number in range(len(LATENCIES_MS) + 1)]
    top = sorted(sources.values(), key=lambda counted: (-counted.received, counted.sourceId))
    return Report(
        period=period,
        totals=totals,
        latencyMs=Latency(p50=quantile_ms(counts, 0.5), p95=quantile_ms(counts, 0.95)),
        spans=list(spans.values()),
        topSources=top[:TOP_SOURCES],
    )


def quantile_ms(counts: Sequence[int], share: float) -> int | None:
    """A quantile of latencies counted by their bounds, straight within a bound; None without any."""
    wanted = sum(counts) * share
    if not wanted:
        return None
    bounds = (0, *LATENCIES_MS, SLOWEST_MS)
    before = 0.0
    for number, count in enumerate(counts):
        if count and before + count >= wanted:
            low, high = bounds[number], bounds[number + 1]
            return round(low + (high - low) * (wanted - before) / count)
        before += count
    return SLOWEST_MS
