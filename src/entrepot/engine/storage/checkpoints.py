"""Checkpoints: the write-ahead log is carried over into the file without stalling the writer.

Passive checkpoints run in a thread of their own; they alone let the log grow for ever under a steady
load, so past a bound the writer restarts it between two groups.
"""

from __future__ import annotations

import logging
import threading

import apsw

from entrepot.engine.storage.file import StoreFile

PASSIVE_FRAMES = 2_000
RESTART_FRAMES = 8_000

log = logging.getLogger(__name__)


class Checkpoints:
    """Watches the length of the log and shortens it."""

    def __init__(self, file: StoreFile) -> None:
        self._writer = file.writer
        self._frames = 0
        self._passive_at = PASSIVE_FRAMES
        self._wanted = threading.Event()
        self._stopping = False
        self._connection = file.connect_reader()
        file.writer.set_wal_hook(self._committed)
        self._thread = threading.Thread(target=self._run, name="entrepot-checkpoints", daemon=True)
        self._thread.start()

    def after_commit(self) -> None:
        """Called by the writer's thread after each group."""
        if self._frames >= RESTART_FRAMES:
            try:
                self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
            except apsw.BusyError:
                # A reader still uses the old end of the log: the next group tries again.
                return
            self._frames = 0
            self._passive_at = PASSIVE_FRAMES
        elif self._frames >= self._passive_at:
            self._passive_at = self._frames + PASSIVE_FRAMES
            self._wanted.set()

    def close(self) -> None:
        self._stopping = True
        self._wanted.set()
        self._thread.join()
        self._connection.close()

    def _committed(self, connection: apsw.Connection, name: str, frames: int) -> int:
        self._frames = frames
        if frames < self._passive_at - PASSIVE_FRAMES:
            self._passive_at = PASSIVE_FRAMES
        return apsw.SQLITE_OK

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._stopping:
                return
            try:
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            except apsw.Error as error:
                log.warning("a checkpoint failed and will be tried again: %s", error)
