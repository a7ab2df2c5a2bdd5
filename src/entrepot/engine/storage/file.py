"""The SQLite file: how it is opened, what its pages are, and what its errors mean.

StoreError                the file can't be used, and why
├── StoreDamaged          it is not a store, or pages of it are broken
└── StoreTooNew           a newer program made it
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import apsw

from entrepot.engine.errors import DynamoError, Internal, Throttled

MEMORY = ":memory:"
FORMAT = 1

# Before this version a checkpoint beside a writer could corrupt the write-ahead log.
SQLITE_OLDEST = (3, 51, 3)
PAGE_BYTES = 8192
CACHE_KIBIBYTES = 64 * 1024
BUSY_MILLISECONDS = 5_000

_CREATE = f"""
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tables (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    definition BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS counts (
    rows TEXT PRIMARY KEY, items INTEGER NOT NULL, bytes INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS trash (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tokens (
    token TEXT PRIMARY KEY, request BLOB NOT NULL, expires INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tokens_by_expiry ON tokens (expires);
INSERT OR IGNORE INTO meta VALUES ('format', {FORMAT}), ('catalog', 0);
"""


class StoreError(Exception):
    """The store's file can't be used; the message says why and what to do."""


class StoreDamaged(StoreError):
    """The file is not a store, or a page of it is broken."""


class StoreTooNew(StoreError):
    """The file was made by a newer program."""


class StoreFile:
    """One store on disk (or in memory), with a connection for the writer and others for readers."""

    def __init__(self, path: str | Path, page_bytes: int = PAGE_BYTES) -> None:
        self.path = str(path)
        self.in_memory = self.path == MEMORY
        self._page_bytes = page_bytes
        demand_sqlite()
        try:
            self.writer = self._connect()
            self._prepare()
            self.reader = self.writer if self.in_memory else self._connect()
        except apsw.Error as error:
            raise explain_opening(error, self.path) from error
        except OSError as error:
            raise StoreError(f"{self.path} can't be made: {error.strerror or error}") from error

    def connect_reader(self) -> apsw.Connection:
        """A further connection, for a thread of its own."""
        return self._connect()

    def close(self) -> None:
        for connection in {id(self.reader): self.reader, id(self.writer): self.writer}.values():
            with suppress(apsw.Error):
                connection.close()

    def _connect(self) -> apsw.Connection:
        if not self.in_memory:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        connection = apsw.Connection(self.path, statementcachesize=400)
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        connection.execute(
            f"PRAGMA cache_size = -{CACHE_KIBIBYTES}; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0"
        )
        return connection

    def _prepare(self) -> None:
        connection = self.writer
        if connection.execute("PRAGMA page_count").get == 0:
            connection.execute(f"PRAGMA page_size = {self._page_bytes}; PRAGMA auto_vacuum = INCREMENTAL")
        if not self.in_memory:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            connection.execute("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0").fetchall()
        known = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'").get
        if not known:
            if connection.execute("SELECT count(*) FROM sqlite_schema").get:
                raise StoreDamaged(f"{self.path} is an SQLite file, but not a store of this program")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_CREATE).fetchall()
            connection.execute("COMMIT")
        found = connection.execute("SELECT value FROM meta WHERE name = 'format'").get
        if found > FORMAT:
            raise StoreTooNew(
                f"{self.path} has format {found}, made by a newer program; this one knows up to {FORMAT}"
            )


def demand_sqlite() -> None:
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if version < SQLITE_OLDEST:
        oldest = ".".join(map(str, SQLITE_OLDEST))
        raise StoreError(
            f"SQLite {apsw.sqlite_lib_version()} can damage a store that is written while checkpointed; "
            f"{oldest} or later is needed (upgrade the package apsw)"
        )


def explain_opening(error: apsw.Error, path: str) -> StoreError:
    """Why a store could not be opened, in words that help."""
    if isinstance(error, (apsw.NotADBError, apsw.CorruptError)):
        return StoreDamaged(f"{path} is not a store, or is damaged ({error}); restore it from a backup")
    if isinstance(error, apsw.CantOpenError):
        return StoreError(f"{path} can't be opened: is its directory there, and may it be written?")
    if isinstance(error, apsw.ReadOnlyError):
        return StoreError(f"{path} can't be written: check the rights of the file and its directory")
    if isinstance(error, apsw.FullError):
        return StoreError(f"the disk that holds {path} is full")
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreError(f"{path} is locked by another program")
    return StoreError(f"{path} can't be opened: {error}")


def explain(error: apsw.Error) -> DynamoError:
    """What a request is answered when SQLite failed under it: nothing of it was kept."""
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return Throttled("The store is busy; try again")
    if isinstance(error, apsw.FullError):
        return Internal("The disk is full: nothing was written")
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        return Internal("The store's file is damaged; restore it from a backup")
    if isinstance(error, apsw.ReadOnlyError):
        return Internal("The store's file can't be written: check its rights")
    return Internal(f"The store failed: {error}")
