"""Turns: processes that share a store write one after the other.

Two locks make it fair. Who wants to write first takes the gate, then waits for the pen, then opens the
gate: so a process that has just written finds the gate held by the one that waits, and goes behind it.
SQLite's own busy wait is a lottery beside this.
"""

from __future__ import annotations

import fcntl
import os
import time

from entrepot.engine.errors import Throttled

_PAUSE_SECONDS = 0.0002
_PAUSE_SECONDS_MAX = 0.002


class Turns:
    """This process' place among those that write to one store."""

    def __init__(self, path: str, deadline_seconds: float) -> None:
        self._deadline_seconds = deadline_seconds
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._gate = os.open(f"{path}-gate", flags, 0o600)
        self._pen = os.open(f"{path}-pen", flags, 0o600)

    def try_take(self) -> bool:
        """Takes the turn if nobody else has it or waits for it."""
        if not _try_lock(self._gate):
            return False
        taken = _try_lock(self._pen)
        fcntl.flock(self._gate, fcntl.LOCK_UN)
        return taken

    def take(self) -> None:
        """Waits for the turn, within the deadline; for a thread of its own."""
        deadline = time.monotonic() + self._deadline_seconds
        self._wait(self._gate, deadline)
        try:
            self._wait(self._pen, deadline)
        finally:
            fcntl.flock(self._gate, fcntl.LOCK_UN)

    def give(self) -> None:
        fcntl.flock(self._pen, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._gate)
        os.close(self._pen)

    @staticmethod
    def _wait(lock: int, deadline: float) -> None:
        pause = _PAUSE_SECONDS
        while not _try_lock(lock):
            if time.monotonic() > deadline:
                raise Throttled("The store is busy: another process has been writing for too long; try again")
            time.sleep(pause)
            pause = min(pause * 1.5, _PAUSE_SECONDS_MAX)


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
