"""Heat: which partition keys of which tables and indexes take the most units, over a sliding window.

Reports know keys only by their hash: they tell no owner's data. The window is a ring of seconds, so that
counting costs one addition. Its memory is bounded: a second counts so many keys apart and the rest
together, and once it is over only its hottest keys are kept apart.

A local index lies in the partitions of its table, and its units are counted there; a global index has
partitions of its own, and when one of them is full it holds up the writes of the table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from heapq import nlargest
from typing import Any

import msgspec

from entrepot.engine.actions import Change, Unchanged
from entrepot.engine.capacity import WRITE_UNIT_BYTES, read_units, write_units
from entrepot.engine.errors import Reason, Throttled, TransactionCanceled
from entrepot.engine.schema import Index, Table
from entrepot.engine.throttling import over_capacity, reason_of
from entrepot.engine.values import Item, equal, item_size

WINDOW_SECONDS = 60
KEYS_PER_SECOND_MAX = 10_000
KEYS_KEPT_MAX = 500
WRITE_UNITS_CEILING = 1_000
READ_UNITS_CEILING = 3_000

OTHERS = "others"
"""The name of the keys that are counted together."""

_ABSENT: Any = object()

_Place = tuple[str, Any]
_Seconds = dict[int, dict[_Place, float]]
_Written = tuple[Index | None, _Place, float]


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
        self._tables: dict[str, Table] = {}
        self._names: dict[str, tuple[str, str | None]] = {}
        """Table and index by the name of their rows, which is what is counted by."""

    def read(
        self, table: Table, index: Index | None, value: Any, size: int, *, consistent: bool, factor: int = 1
    ) -> None:
        """Counts a read of so many bytes in one partition."""
        rows = table.rows if index is None or not index.is_global else index.rows
        if self._tables.get(table.rows) is not table:
            self._name(table)
        units = read_units(size, consistent=consistent) * factor
        _add(self._this_second(self._reads), (rows, value), units)

    def write(self, change: Change) -> None:
        """Counts a change of an item, its indexes included, or refuses it where one of them is too hot."""
        written = _written(change)
        if self.throttles:
            self._demand_write_room(change.table, written)
        self._count_writes(change.table, written, 1)

    def write_together(self, changes: Sequence[Change]) -> None:
        """Counts the changes of a transaction, each twice as the service does, or cancels them all."""
        written = [(change.table, _written(change)) for change in changes]
        reasons = [Reason() for _ in changes]
        for number, (table, places) in enumerate(written if self.throttles else ()):
            try:
                self._demand_write_room(table, places)
            except Throttled as error:
                reasons[number] = reason_of(error)
        if any(reason.code != "None" for reason in reasons):
            raise TransactionCanceled(reasons)
        for table, places in written:
            self._count_writes(table, places, 2)

    def demand_read_room(self, table: Table, index: Index | None, value: Any) -> None:
        """Refuses a read in a partition that has used up its second, as the service does."""
        if not self.throttles:
            return
        own = index if index is not None and index.is_global else None
        counts = self._reads.get(int(self._clock()))
        rows = table.rows if own is None else own.rows
        if counts is not None and counts.get((rows, value), 0.0) >= READ_UNITS_CEILING:
            raise over_capacity(table, own, writing=False, is_hot=True)

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
        first = nlargest(count, places.items(), key=lambda counted: _share(*counted))
        return [self._hot(place, sums, seconds) for place, sums in first]

    def _hot(self, place: _Place, sums: list[float], seconds: int) -> Hot:
        rows, value = place
        table, index = self._names[rows]
        return Hot(
            table=table,
            index=index,
            key=OTHERS if value is None else hash_key(value),
            reads=round(sums[0] / seconds, 3),
            writes=round(sums[1] / seconds, 3),
            share=round(_share(place, sums) / seconds, 6),
            peak=0.0 if value is None else round(sums[2], 6),
        )

    def _demand_write_room(self, table: Table, written: list[_Written]) -> None:
        """Refuses a change when a partition it writes to has used up its second, in the table or an index."""
        counts = self._writes.get(int(self._clock()))
        if counts is None:
            return
        for index, place, _ in written:
            if counts.get(place, 0.0) >= WRITE_UNITS_CEILING:
                raise over_capacity(table, index, writing=True, is_hot=True)

    def _count_writes(self, table: Table, written: list[_Written], factor: int) -> None:
        if self._tables.get(table.rows) is not table:
            self._name(table)
        counts = self._this_second(self._writes)
        for _, place, units in written:
            _add(counts, place, units * factor)

    def _name(self, table: Table) -> None:
        self._tables[table.rows] = table
        self._names[table.rows] = (table.name, None)
        for index in table.indexes.values():
            self._names[index.rows] = (table.name, index.name)

    def _this_second(self, ring: _Seconds) -> dict[_Place, float]:
        second = int(self._clock())
        counts = ring.get(second)
        return self._turn(ring, second) if counts is None else counts

    def _turn(self, ring: _Seconds, second: int) -> dict[_Place, float]:
        """Begins another second: the one before keeps its hottest keys, the oldest are dropped."""
        if ring:
            last = next(reversed(ring))
            ring[last] = _hottest_of(ring[last])
        # A clock that stepped back leaves seconds that are still to come; they go too.
        for other in [known for known in ring if not second - self._window < known < second]:
            del ring[other]
        counts: dict[_Place, float] = {}
        ring[second] = counts
        return counts


def _share(place: _Place, sums: list[float]) -> float:
    """What part of a partition's ceiling a key takes; many keys together say nothing of a partition."""
    return 0.0 if place[1] is None else max(sums[0] / READ_UNITS_CEILING, sums[1] / WRITE_UNITS_CEILING)


def hash_key(value: Any) -> str:
    """A partition key as reports name it."""
    return blake2b(repr(value).encode(), digest_size=6).hexdigest()


def _add(counts: dict[_Place, float], place: _Place, units: float) -> None:
    known = counts.get(place)
    if known is not None:
        counts[place] = known + units
    elif len(counts) < KEYS_PER_SECOND_MAX:
        counts[place] = units
    else:
        _add_to_others(counts, place, units)


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


def _written(change: Change) -> list[_Written]:
    """What a change writes: units by place, and the global index that the place is of."""
    table, old, new = change.table, change.old, change.new
    item = new if new is not None else old
    if item is None:
        return []
    old_size = 0 if change.found is None else change.found.size
    new_size = 0 if change.after is None else change.after[1]
    place = (table.rows, item[table.hash.name])
    written: list[_Written] = [(None, place, write_units(max(old_size, new_size)))]
    if isinstance(change, Unchanged):
        return written
    for index in table.maintained:
        own = index if index.is_global else None
        for entry, units in _entries(index, old, old_size, new, new_size):
            written.append((own, place if own is None else (index.rows, entry[index.hash.name]), units))
    return written


def _entries(
    index: Index, old: Item | None, old_size: int, new: Item | None, new_size: int
) -> list[tuple[Item, float]]:
    """The items whose entry in an index a change writes, and its units."""
    had = old if old is not None and _holds(index, old) else None
    has = new if new is not None and _holds(index, new) else None
    if had is not None and has is not None and all(had[part.name] == has[part.name] for part in index.parts):
        if not _shows_change(index, had, has):
            return []
        return [(has, max(_entry_units(index, had, old_size), _entry_units(index, has, new_size)))]
    sides = ((had, old_size), (has, new_size))
    return [(item, _entry_units(index, item, size)) for item, size in sides if item is not None]


def _holds(index: Index, item: Item) -> bool:
    if index.hash.name not in item or (index.range is not None and index.range.name not in item):
        return False
    return not index.definition.added_later or index.key_if_fit(item, b"") is not None


def _shows_change(index: Index, old: Item, new: Item) -> bool:
    if index.projected is None:
        # Python's own comparison is fast, and finds all differences but those of type.
        return old != new or not equal(old, new)
    for name in index.projected:
        before, after = old.get(name, _ABSENT), new.get(name, _ABSENT)
        if before is not after and (before is _ABSENT or after is _ABSENT or not equal(before, after)):
            return True
    return False


def _entry_units(index: Index, item: Item, size: int) -> float:
    if index.projected is None or size <= WRITE_UNIT_BYTES:
        # What is smaller than one unit as a whole is one unit in part.
        return write_units(size)
    return write_units(item_size(index.shows(item)))
