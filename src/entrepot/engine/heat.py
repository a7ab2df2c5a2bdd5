"""Heat: which partition keys of which tables and indexes take the most units, over a sliding window.

Keys are known only by their hash: a report tells no owner's data. The window is a ring of seconds, so that
counting costs one addition; the keys of a second are bounded, and what goes past the bound is counted
together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec

from entrepot.engine.actions import Change
from entrepot.engine.capacity import index_write_units, write_units
from entrepot.engine.errors import Throttled
from entrepot.engine.schema import Index, Table

WINDOW_SECONDS = 60
KEYS_PER_SECOND_MAX = 10_000
WRITE_UNITS_CEILING = 1_000
READ_UNITS_CEILING = 3_000

THROTTLED = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)

_Place = tuple[str, str | None, str]


class Hot(msgspec.Struct, frozen=True):
    """A partition key, hashed, and its units per second; `share` is of what one partition can take."""

    table: str
    index: str | None
    key: str
    reads: float
    writes: float
    share: float


class Heat:
    """Counts units by partition key; refuses what is over the ceiling, when asked to."""

    def __init__(
        self, clock: Callable[[], float], *, throttles: bool = False, window_seconds: int = WINDOW_SECONDS
    ) -> None:
        self._clock = clock
        self._window = window_seconds
        self.throttles = throttles
        self._reads: dict[int, Counter[_Place]] = {}
        self._writes: dict[int, Counter[_Place]] = {}

    def wrote(self, change: Change, factor: int = 1) -> None:
        """Counts a change of an item, its indexes included."""
        table = change.table
        item = change.new if change.new is not None else change.old
        if item is None:
            return
        size = max(
            0 if change.found is None else change.found.size, 0 if change.after is None else change.after[1]
        )
        self._count(self._writes, _place(table, None, item[table.hash.name]), write_units(size) * factor)
        for index in table.maintained:
            units = index_write_units(index, change.old, change.new) * factor
            shown = change.new if change.new is not None and index.hash.name in change.new else change.old
            if units and shown is not None and index.hash.name in shown:
                self._count(self._writes, _place(table, index, shown[index.hash.name]), units)

    def read(self, table: Table, index: Index | None, value: Any, units: float) -> None:
        """Counts a read in one partition."""
        self._count(self._reads, _place(table, index, value), units)

    def demand_room(self, table: Table, index: Index | None, value: Any, *, writes: bool) -> None:
        """Refuses a request on a partition key that has used up its second, as the service does."""
        if not self.throttles:
            return
        ring, ceiling = (self._writes, WRITE_UNITS_CEILING) if writes else (self._reads, READ_UNITS_CEILING)
        now = ring.get(int(self._clock()))
        if now is not None and now[_place(table, index, value)] >= ceiling:
            raise Throttled(THROTTLED, "ProvisionedThroughputExceededException")

    def hottest(self, count: int = 10) -> list[Hot]:
        """The keys with the most units per second over the window, the hottest first."""
        reads, writes = self._total(self._reads), self._total(self._writes)
        rows = []
        for place in reads.keys() | writes.keys():
            read, write = reads[place] / self._window, writes[place] / self._window
            share = max(read / READ_UNITS_CEILING, write / WRITE_UNITS_CEILING)
            rows.append(Hot(*place, reads=round(read, 3), writes=round(write, 3), share=round(share, 6)))
        return sorted(rows, key=lambda hot: hot.share, reverse=True)[:count]

    def _total(self, ring: dict[int, Counter[_Place]]) -> Counter[_Place]:
        oldest = int(self._clock()) - self._window
        total: Counter[_Place] = Counter()
        for second, counts in ring.items():
            if second > oldest:
                total.update(counts)
        return total

    def _count(self, ring: dict[int, Counter[_Place]], place: _Place, units: float) -> None:
        second = int(self._clock())
        counts = ring.get(second)
        if counts is None:
            counts = ring[second] = Counter()
            for old in [known for known in ring if known <= second - self._window]:
                del ring[old]
        if place not in counts and len(counts) >= KEYS_PER_SECOND_MAX:
            place = (place[0], place[1], "others")
        counts[place] += units  # type: ignore[assignment]


def _place(table: Table, index: Index | None, value: Any) -> _Place:
    return table.name, None if index is None else index.name, hash_key(value)


def hash_key(value: Any) -> str:
    """A partition key as reports name it."""
    return blake2b(repr(value).encode(), digest_size=6).hexdigest()
