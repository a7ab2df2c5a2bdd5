"""Capacity: what a request consumed, by table and index, in DynamoDB's units."""

from __future__ import annotations

from typing import Any

from entrepot.engine.schema import Index, Table
from entrepot.engine.values import Item, equal, item_size

READ_UNIT_BYTES = 4096
WRITE_UNIT_BYTES = 1024


def read_units(size: int, *, consistent: bool) -> float:
    """Units of reading this many bytes; a read of nothing still costs the least."""
    units = -(-size // READ_UNIT_BYTES) or 1
    return float(units) if consistent else units * 0.5


def write_units(size: int) -> float:
    return float(-(-size // WRITE_UNIT_BYTES) or 1)


def index_write_units(index: Index, before: Item | None, after: Item | None) -> float:
    """Units of keeping one index in step with a change of an item."""
    old = _entry(index, before)
    new = _entry(index, after)
    if old is None:
        return 0.0 if new is None else write_units(item_size(new))
    if new is None:
        return write_units(item_size(old))
    if all(equal(old[part.name], new[part.name]) for part in index.parts):
        return 0.0 if equal(old, new) else write_units(max(item_size(old), item_size(new)))
    return write_units(item_size(old)) + write_units(item_size(new))


def _entry(index: Index, item: Item | None) -> Item | None:
    if item is None or any(part.name not in item for part in index.parts):
        return None
    return index.shows(item)


class Consumed:
    """The units of one request on one table."""

    __slots__ = ("_indexes", "reads", "table", "writes")

    def __init__(self, table: Table) -> None:
        self.table = table
        self.reads = 0.0
        self.writes = 0.0
        self._indexes: dict[str, list[float]] = {}

    def read(self, units: float, index: Index | None = None) -> None:
        if index is None:
            self.reads += units
        else:
            self._indexes.setdefault(index.name, [0.0, 0.0])[0] += units

    def write(self, units: float, index: Index | None = None) -> None:
        if index is None:
            self.writes += units
        elif units:
            self._indexes.setdefault(index.name, [0.0, 0.0])[1] += units

    def change(self, before: Item | None, after: Item | None, *, size: int, factor: int = 1) -> None:
        """Counts the change of one item whose larger image has this size."""
        self.write(write_units(size) * factor)
        for index in self.table.maintained:
            # A transaction costs twice on the table only.
            self.write(index_write_units(index, before, after), index)

    def answer(self, wanted: str, *, transaction: bool = False) -> dict[str, Any]:
        """The ConsumedCapacity of an answer; `wanted` is TOTAL or INDEXES."""
        indexes = self._indexes.items()
        reads = self.reads + sum(units[0] for _, units in indexes)
        writes = self.writes + sum(units[1] for _, units in indexes)
        answer: dict[str, Any] = {"TableName": self.table.name, "CapacityUnits": reads + writes}
        if transaction:
            answer |= _split(reads, writes)
        if wanted != "INDEXES":
            return answer
        answer["Table"] = {"CapacityUnits": self.reads + self.writes}
        if transaction:
            answer["Table"] |= _split(self.reads, self.writes)
        for name, units in indexes:
            index = self.table.indexes[name]
            group = "GlobalSecondaryIndexes" if index.is_global else "LocalSecondaryIndexes"
            entry = answer.setdefault(group, {}).setdefault(name, {"CapacityUnits": sum(units)})
            if transaction:
                entry |= _split(*units)
        return answer


def _split(reads: float, writes: float) -> dict[str, float]:
    split = {}
    if reads:
        split["ReadCapacityUnits"] = reads
    if writes:
        split["WriteCapacityUnits"] = writes
    return split
