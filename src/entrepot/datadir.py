"""The data directory: who may use it, of which version it is, and the key that is kept in it."""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path
from typing import IO

VERSION = 1

_LOCK_NAME = "up.lock"
_VERSION_NAME = "version"
_KEY_NAME = "secret.key"


class DataDirError(Exception):
    """The directory can't be used; the message is one line that says why."""


class DataDir:
    """A directory that holds all that one installation keeps on this machine."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock: IO[str] | None = None

    def open(self) -> None:
        """Make it where it is missing; refuse one that can't be written, or that a newer program wrote."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._probe()
            self._check_version()
        except OSError as error:
            raise DataDirError(f"{self.path}: the data directory can't be used: {error.strerror}") from None

    def lock(self) -> None:
        """Be the only `up` here until the process ends."""
        lock = (self.path / _LOCK_NAME).open("a+", encoding="ascii")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            holder = lock.read().strip()
            lock.close()
            who = f" (process {holder})" if holder else ""
            raise DataDirError(
                f"{self.path}: `entrepot up` runs on this data already{who}; `entrepot serve` can join it"
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        self._lock = lock

    def unlock(self) -> None:
        """Let the next `up` have it."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def secret_key(self) -> bytes:
        """The installation's key, made at the first start, readable by its owner alone."""
        path = self.path / _KEY_NAME
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return self._read_key(path)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32))
            file.flush()
            os.fsync(file.fileno())
        return self._read_key(path)

    def _read_key(self, path: Path) -> bytes:
        key = path.read_bytes().strip()
        if not key:
            raise DataDirError(f"{path}: the key is empty; put it back from a backup")
        return key

    def _probe(self) -> None:
        probe = self.path / f".probe-{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink()

    def _check_version(self) -> None:
        path = self.path / _VERSION_NAME
        if not path.exists():
            path.write_text(f"{VERSION}\n", encoding="ascii")
            return
        found = path.read_text(encoding="ascii").strip()
        if not found.isdigit() or int(found) > VERSION:
            raise DataDirError(
                f"{self.path}: the data is of version {found[:20]!r}, this program knows up to {VERSION}; "
                "use a newer program"
            )
