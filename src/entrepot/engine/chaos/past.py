"""A stretch of a table or an index as it was: the rows of now, without what changed, with what was there."""

from __future__ import annotations

from heapq import merge

from entrepot.engine.chaos.journal import Before
from entrepot.engine.pages import Execute, Range
from entrepot.engine.values import image

Row = tuple[bytes, int, bytes]


class PastRange(Range):
    """A range that reads the state before the changes in `before`.

    It must be read without a pause: what changes meanwhile is not in `before`.
    """

    __slots__ = ("_at_end", "_before", "_gone", "_ready")

    def __init__(self, now: Range, before: dict[bytes, Before]) -> None:
        for name in Range.__slots__:
            setattr(self, name, getattr(now, name))
        self._before = before
        self._gone = self._rows_before()
        self._ready: list[Row] = []
        self._at_end = False

    def rows(self, execute: Execute, count: int) -> list[Row]:
        """The next rows: key, size and image; fewer than `count` only at the end."""
        while len(self._ready) < count and not self._at_end:
            current = super().rows(execute, count)
            self._at_end = len(current) < count
            past = self._take(None if self._at_end else current[-1][0])
            unchanged = [row for row in current if self._base_key(row) not in self._before]
            self._ready += merge(unchanged, past, key=lambda row: row[0], reverse=not self.forward)
        found, self._ready = self._ready[:count], self._ready[count:]
        return found

    def _rows_before(self) -> list[Row]:
        """What was in the range, of the items that changed since; the next one is the last in the list."""
        rows: list[Row] = []
        for base_key, before in self._before.items():
            if before is None:
                continue
            size, stored = before
            key: bytes | None = base_key
            if self.index is not None:
                key = self.index.key_of(image.decode(stored), base_key)
            if key is not None and self.low <= key and (self.high is None or key < self.high):
                rows.append((key, size, stored))
        return sorted(rows, reverse=self.forward)

    def _take(self, last: bytes | None) -> list[Row]:
        """The rows of before up to a key in the direction of reading; None takes all."""
        gone = self._gone
        taken: list[Row] = []
        while gone and (last is None or (gone[-1][0] <= last if self.forward else gone[-1][0] >= last)):
            taken.append(gone.pop())
        return taken

    def _base_key(self, row: Row) -> bytes:
        return row[0] if self.index is None else self.table.key_of(image.decode(row[2]))
