"""The journal: what items were before their recent changes, in memory, for reads that look back."""

from __future__ import annotations

from collections import deque

from entrepot.engine.schema import Table
from entrepot.engine.storage.rows import Found

# Past these bounds the oldest changes are forgotten, and so are seen earlier than was asked for.
CHANGES_MAX = 200_000
BYTES_MAX = 64 * 1024 * 1024
_CHANGE_BYTES = 200

Before = tuple[int, bytes] | None
"""Size and image of an item, or None where there was none."""


class Journal:
    """The changes of the last seconds, oldest first."""

    def __init__(self, memory_seconds: float) -> None:
        self._memory_seconds = memory_seconds
        self._changes: deque[tuple[float, int, bytes, Before]] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._changes)

    def note(self, now: float, table: Table, key: bytes, found: Found | None) -> None:
        """Keeps what is about to be overwritten; a group that is taken back after all does no harm here."""
        if self._changes:
            # A clock may step back; the order of the changes does not.
            now = max(now, self._changes[-1][0])
        before = None if found is None else (found.size, found.image)
        self._changes.append((now, table.id, key, before))
        self._bytes += _weight(key, before)
        self._forget(now - self._memory_seconds)

    def before(self, table: Table, moment: float) -> dict[bytes, Before]:
        """What was changed since a moment, by key, as it was at that moment."""
        earlier: dict[bytes, Before] = {}
        for time, table_id, key, before in reversed(self._changes):
            if time <= moment:
                break
            if table_id == table.id:
                earlier[key] = before
        return earlier

    def _forget(self, moment: float) -> None:
        changes = self._changes
        while changes and (changes[0][0] <= moment or len(changes) > CHANGES_MAX or self._bytes > BYTES_MAX):
            _, _, key, before = changes.popleft()
            self._bytes -= _weight(key, before)


def _weight(key: bytes, before: Before) -> int:
    return _CHANGE_BYTES + len(key) + (0 if before is None else len(before[1]))
