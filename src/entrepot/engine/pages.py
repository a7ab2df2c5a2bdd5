"""Pages: what Query and Scan read, up to a limit or a megabyte at a time.

A page begins in place, since most are short; what goes on past the first items is read in a thread. No
transaction is held between the two: like the cloud's, a page is no snapshot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import apsw

from entrepot.engine.schema import Index, Table
from entrepot.engine.values import Item, image, item_size

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

PAGE_BYTES_MAX = 1024 * 1024
IN_PLACE_ITEMS = 64
THREAD_ITEMS = 512

Execute = Callable[..., apsw.Cursor]


class Range:
    """A stretch of a table or an index, read in one direction: from `low` up to but without `high`."""

    __slots__ = ("forward", "high", "index", "low", "shown", "sql", "table")

    def __init__(
        self,
        table: Table,
        index: Index | None,
        low: bytes,
        high: bytes | None,
        *,
        forward: bool = True,
        whole: bool = False,
    ) -> None:
        self.table = table
        self.index = index
        self.low = low
        self.high = high
        self.forward = forward
        # Of an index that holds only some attributes, only those are shown, unless whole items are wanted.
        self.shown = index.shows if index is not None and index.projected is not None and not whole else None
        self.sql = _sql(table, index, bounded=high is not None, forward=forward)

    def start_after(self, key: bytes) -> None:
        """Leaves out everything up to and including a key, in the direction of reading."""
        if self.forward:
            self.low = max(self.low, key + b"\x00")
        elif self.high is None or key < self.high:
            self.high = key
            self.sql = _sql(self.table, self.index, bounded=True, forward=False)

    def rows(self, execute: Execute, count: int) -> list[tuple[bytes, int, bytes]]:
        """The next rows: key, size and image."""
        bounds = (self.low,) if self.high is None else (self.low, self.high)
        found: list[Any] = execute(self.sql, (*bounds, count)).fetchall()
        if found:
            self.start_after(found[-1][0])
        return found


class Page:
    """A page being read."""

    __slots__ = ("_filter", "bytes_read", "items", "last", "limit", "range", "scanned")

    def __init__(
        self, range_: Range, *, limit: int | None = None, keep: Callable[[Item], bool] | None = None
    ) -> None:
        self.range = range_
        self.limit = limit
        self._filter = keep
        self.items: list[Item] = []
        self.scanned = 0
        self.bytes_read = 0
        self.last: Item | None = None
        """The item that the page ended at, where there may be more behind it."""

    async def read(self, engine: Engine) -> None:
        if not self.read_some(engine.read, IN_PLACE_ITEMS):
            await engine.in_thread(self.read_rest)

    def read_rest(self, execute: Execute) -> None:
        """Reads the page to its end without a pause."""
        while not self.read_some(execute, THREAD_ITEMS):
            pass

    def read_some(self, execute: Execute, count: int) -> bool:
        """Reads on; True when the page is complete."""
        if self.limit is not None:
            count = min(count, self.limit - self.scanned)
        rows = self.range.rows(execute, count)
        shown = self.range.shown
        if shown is None and self._filter is None and self._take_all(rows):
            return self.last is not None or len(rows) < count
        for _, size, stored in rows:
            item = image.decode(stored)
            if shown is not None:
                item = shown(item)
                size = item_size(item)
            self.scanned += 1
            self.bytes_read += size
            if self._filter is None or self._filter(item):
                self.items.append(item)
            if self.scanned == self.limit or self.bytes_read >= PAGE_BYTES_MAX:
                self.last = item
                return True
        return len(rows) < count

    def _take_all(self, rows: list[tuple[bytes, int, bytes]]) -> bool:
        """Takes rows that need no look at each, as most pages are; False where they go past a megabyte."""
        size = sum([row[1] for row in rows])
        if self.bytes_read + size >= PAGE_BYTES_MAX:
            return False
        decode = image.decode
        self.items += [decode(row[2]) for row in rows]
        self.bytes_read += size
        self.scanned += len(rows)
        if self.scanned == self.limit:
            self.last = self.items[-1]
        return True


def _sql(table: Table, index: Index | None, *, bounded: bool, forward: bool) -> str:
    order = "" if forward else " DESC"
    if index is None:
        upper = " AND key < ?" if bounded else ""
        return f"SELECT key, size, image FROM {table.rows} WHERE key >= ?{upper} ORDER BY key{order} LIMIT ?"
    upper = " AND entry.key < ?" if bounded else ""
    return (
        f"SELECT entry.key, size, image FROM {index.rows} AS entry CROSS JOIN {table.rows} AS item "
        f"ON item.id = entry.item WHERE entry.key >= ?{upper} ORDER BY entry.key{order} LIMIT ?"
    )
