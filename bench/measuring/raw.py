"""SQLite itself, used as tersely as Python can: the limit that the engine is measured against."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
from msgspec import msgpack

encode = msgpack.Encoder().encode
decode = msgpack.Decoder().decode

UPSERT = (
    "INSERT INTO items (key, size, expires, image) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET size = excluded.size, image = excluded.image"
)


class RawStore:
    """The engine's layout without the engine."""

    def __init__(self, path: Path, page_bytes: int = 8192, without_rowid: bool = False) -> None:
        self.connection = apsw.Connection(str(path), statementcachesize=400)
        self.execute = self.connection.cursor().execute
        self.execute(f"PRAGMA page_size = {page_bytes}").fetchall()
        self.execute("PRAGMA journal_mode = WAL").fetchall()
        self.execute("PRAGMA synchronous = FULL").fetchall()
        self.execute("PRAGMA cache_size = -65536").fetchall()
        self.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        if without_rowid:
            self.execute(
                "CREATE TABLE items (key BLOB PRIMARY KEY, size INTEGER, expires INTEGER, image BLOB) WITHOUT ROWID"
            )
        else:
            self.execute(
                "CREATE TABLE items (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, size INTEGER, "
                "expires INTEGER, image BLOB)"
            )
        self.execute("CREATE TABLE entries (key BLOB PRIMARY KEY, item INTEGER) WITHOUT ROWID")

    def put_group(self, items: list[tuple[bytes, dict[str, Any]]]) -> None:
        """Puts in one transaction, durable."""
        execute = self.execute
        execute("BEGIN IMMEDIATE")
        for key, item in items:
            execute(UPSERT, (key, 1000, None, encode(item)))
        execute("COMMIT")
        self._checkpoint()

    def transact_group(self, pairs: list[tuple[bytes, dict[str, Any], bytes, dict[str, Any]]]) -> None:
        """Pairs of an indexed item that must be new and another one, in one transaction, durable."""
        execute = self.execute
        execute("BEGIN IMMEDIATE")
        for key, item, other_key, other in pairs:
            if execute("SELECT id FROM items WHERE key = ?", (key,)).get is not None:
                continue
            execute(
                "INSERT INTO items (key, size, expires, image) VALUES (?, ?, ?, ?)",
                (key, 50, None, encode(item)),
            )
            execute("INSERT INTO entries VALUES (?, ?)", (b"g" + key, self.connection.last_insert_rowid()))
            execute(UPSERT, (other_key, 1000, None, encode(other)))
        execute("COMMIT")
        self._checkpoint()

    def get(self, key: bytes) -> Any:
        return decode(self.execute("SELECT size, image FROM items WHERE key = ?", (key,)).get[1])

    def query(self, low: bytes, high: bytes, count: int) -> list[Any]:
        rows: list[Any] = self.execute(
            "SELECT key, size, image FROM items WHERE key >= ? AND key < ? ORDER BY key LIMIT ?",
            (low, high, count),
        ).fetchall()
        return [decode(row[2]) for row in rows]

    def close(self) -> None:
        self.connection.close()

    def _checkpoint(self) -> None:
        # As the engine does: the log is restarted before it grows large.
        self._groups = getattr(self, "_groups", 0) + 1
        if self._groups % 64 == 0:
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
