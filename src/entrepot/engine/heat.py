"""Heat: which partition keys of which tables and indexes take the most units, over a sliding window.

Reports know keys only by their hash: they tell no owner's data. The window is a ring of seconds, so that
counting costs one addition. Its memory is bounded: a second counts so many keys apart and the rest
together, and once it is over only its hottest keys are kept apart.

A local index lies in the partitions of its table, and its units are counted there; a global index has
partitions of its own, and when one of them is full it holds up the writes of the table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from hashlib import blake2b
from heapq import nlargest
from typing import Any

import msgspec

from entrepot.engine.actions import Change, Unchanged
from entrepot.engine.capacity import read_units, write_units
from entrepot.engine.schema import Index, Table
from entrepot.engine.throttling import over_capacity
from entrepot.engine.values import Item, equal, item_size

WINDOW_SECONDS = 60
KEYS_PER_SECOND_MAX = 10_000
KEYS_KEPT_MAX = 500
WRITE_UNITS_CEILING = 1_000
READ_UNITS_CEILING = 3_000

OTHERS = "others"
"""The name of the keys that are counted together."""

_Place = tuple[str, Any]
_Seconds = dict[int, dict[_Place, float]]


class Hot(msgspec.Struct, frozen=True):
    """A partition key, hashed, and its units per second; shares are of what one partition can take.

    `share` is over the window, `peak` that of its busiest second.
    """

    table: str
    index: str | None
    key: str
    reads: float
    writes: float
    share: float
    peak: float


class Heat:
    """Counts units by partition key; refuses what is over the ceiling, when asked to."""

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        *,
        throttles: bool = False,
        window_seconds: int = WINDOW_SECONDS,
    ) -> None:
        self.throttles = throttles
        self._clock = clock
        self._window = window_seconds
        self._began = int(clock())
        self._reads: _Seconds = {}
        self._writes: _Seconds = {}
        self._names: dict[str, tuple[str, str | None]] = {}
        """Table and index by the name of their rows, which is what is counted by."""

    def read(
        self, table: Table, index: Index | None, value: Any, size: int, *, consistent: bool, factor: int = 1
    ) -> None:
        """Counts a read of so many bytes in one partition."""
        rows = table.rows if index is None or not index.is_global else index.rows
        if rows not in self._names:
            self._name(table)
        self._count(self._reads, (rows, value), read_units(size, consistent=consistent) * factor)

    def wrote(self, change: Change, factor: int = 1) -> None:
        """Counts a change of an item, its indexes included."""
        if change.table.rows not in self._names:
            self._name(change.table)
        for _, place, units in _written(change):
            self._count(self._writes, place, units * factor)

    def demand_read_room(self, table: Table, index: Index | None, value: Any) -> None:
        """Refuses a read in a partition that has used up its second, as the service does."""
        if not self.throttles:
            return
        own = index if index is not None and index.is_global else None
        counts = self._reads.get(int(self._clock()))
        rows = table.rows if own is None else own.rows
        if counts is not None and counts.get((rows, value), 0.0) >= READ_UNITS_CEILING:
            raise over_capacity(table, own, writing=False, is_hot=True)

    def demand_write_room(self, change: Change) -> None:
        """Refuses a change when a partition it writes to has used up its second, in the table or an index."""
        if not self.throttles:
            return
        counts = self._writes.get(int(self._clock()))
        if counts is None:
            return
        for index, place, _ in _written(change):
            if counts.get(place, 0.0) >= WRITE_UNITS_CEILING:
                raise over_capacity(change.table, index, writing=True, is_hot=True)

    def hottest(self, count: int = 10) -> list[Hot]:
        """The keys with the most units per second over the window, the hottest first."""
        now = int(self._clock())
        seconds = max(1, min(self._window, now - self._began + 1))
        places: dict[_Place, list[float]] = {}
        for column, ring, ceiling in (
            (0, self._reads, READ_UNITS_CEILING),
            (1, self._writes, WRITE_UNITS_CEILING),
        ):
            for second, counts in ring.items():
                if second <= now - self._window:
                    continue
                for place, units in counts.items():
                    sums = places.setdefault(place, [0.0, 0.0, 0.0])
                    sums[column] += units
                    sums[2] = max(sums[2], units / ceiling)
        hot = (self._hot(place, sums, seconds) for place, sums in places.items())
        return nlargest(count, hot, key=lambda each: each.share)

    def _hot(self, place: _Place, sums: list[float], seconds: int) -> Hot:
        table, index = self._names[place[0]]
        reads, writes = sums[0] / seconds, sums[1] / seconds
        return Hot(
            table=table,
            index=index,
            key=OTHERS if place[1] is None else hash_key(place[1]),
            reads=round(reads, 3),
            writes=round(writes, 3),
            share=round(max(reads / READ_UNITS_CEILING, writes / WRITE_UNITS_CEILING), 6),
            peak=round(sums[2], 6),
        )

    def _name(self, table: Table) -> None:
        self._names[table.rows] = (table.name, None)
        for index in table.indexes.values():
            self._names[index.rows] = (table.name, index.name)

    def _count(self, ring: _Seconds, place: _Place, units: float) -> None:
        second = int(self._clock())
        counts = ring.get(second)
        if counts is None:
            counts = self._turn(ring, second)
        known = counts.get(place)
        if known is not None:
            counts[place] = known + units
        elif len(counts) < KEYS_PER_SECOND_MAX:
            counts[place] = units
        else:
            _add_to_others(counts, place, units)

    def _turn(self, ring: _Seconds, second: int) -> dict[_Place, float]:
        """Begins another second: the one before keeps its hottest keys, the oldest are dropped."""
        if ring:
            last = next(reversed(ring))
            ring[last] = _hottest_of(ring[last])
        for old in [known for known in ring if known <= second - self._window]:
            del ring[old]
        counts: dict[_Place, float] = {}
        ring[second] = counts
        return counts


def hash_key(value: Any) -> str:
    """A partition key as reports name it."""
    return blake2b(repr(value).encode(), digest_size=6).hexdigest()


def _hottest_of(counts: dict[_Place, float]) -> dict[_Place, float]:
    if len(counts) <= KEYS_KEPT_MAX:
        return counts
    kept = dict(nlargest(KEYS_KEPT_MAX, counts.items(), key=lambda counted: counted[1]))
    for place, units in counts.items():
        if place not in kept:
            _add_to_others(kept, place, units)
    return kept


def _add_to_others(counts: dict[_Place, float], place: _Place, units: float) -> None:
    others = (place[0], None)
    counts[others] = counts.get(others, 0.0) + units


def _written(change: Change) -> Iterator[tuple[Index | None, _Place, float]]:
    """What a change writes: units by place, and the global index that the place is of."""
    table = change.table
    old, new = change.old, change.new
    old_size = 0 if change.found is None else change.found.size
    new_size = 0 if change.after is None else change.after[1]
    item = new if new is not None else old
    if item is None:
        return
    place = (table.rows, item[table.hash.name])
    yield None, place, write_units(max(old_size, new_size))
    if isinstance(change, Unchanged):
        return
    for index in table.maintained:
        own = index if index.is_global else None
        for value, units in _entries(index, _entry(index, old, old_size), _entry(index, new, new_size)):
            yield own, place if own is None else (index.rows, value), units


def _entry(index: Index, item: Item | None, size: int) -> tuple[Item, int] | None:
    """What an index holds of an item, and how many bytes that is."""
    if item is None or index.hash.name not in item:
        return None
    if index.range is not None and index.range.name not in item:
        return None
    if index.definition.added_later and index.key_if_fit(item, b"") is None:
        return None
    if index.projected is None:
        return item, size
    shown = index.shows(item)
    return shown, item_size(shown)


def _entries(
    index: Index, old: tuple[Item, int] | None, new: tuple[Item, int] | None
) -> Iterator[tuple[Any, float]]:
    """Partition key and units of each entry of an index that a change writes."""
    name = index.hash.name
    if (
        old is not None
        and new is not None
        and all(old[0][part.name] == new[0][part.name] for part in index.parts)
    ):
        if not equal(old[0], new[0]):
            yield new[0][name], write_units(max(old[1], new[1]))
        return
    for entry in (old, new):
        if entry is not None:
            yield entry[0][name], write_units(entry[1])
