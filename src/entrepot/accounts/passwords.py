"""Passwords: bcrypt, off the event loop, and in the same time for whoever does not exist."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import bcrypt

from entrepot.accounts.rules import can_be_password
from entrepot.http.problems import Unavailable

T = TypeVar("T")

COST = 12
# bcrypt lets go of the interpreter's lock, so threads do run side by side; few, so that sign-ins can't take all cores.
THREADS_MAX = 2
# At a quarter of a second each, who is the last in the queue waits some seconds; whoever comes then is sent away.
WAITING_MAX = 32
RETRY_AFTER_SECONDS = 5


class Passwords:
    """Hashes and verifies; `verify` takes as long for no hash as for one."""

    def __init__(self, cost: int | None = None) -> None:
        self._cost = cost or COST
        self._threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="bcrypt")
        self._nobodys: bytes | None = None
        self._waiting = 0

    async def hash(self, password: str) -> str:
        """The hash to keep of a new password."""
        made = await self._run(bcrypt.hashpw, password.encode(), bcrypt.gensalt(self._cost))
        return made.decode()

    async def verify(self, password: str, kept: str | None) -> bool:
        """Whether this is the password that the hash is of; without a hash it is not, and that takes as long."""
        possible = can_be_password(password)
        given = password.encode() if possible else b"impossible"
        against = kept.encode() if kept is not None else await self._nobodys_hash()
        matches = await self._run(bcrypt.checkpw, given, against)
        return matches and possible and kept is not None

    async def prepare(self) -> None:
        """Make the hash of nobody before the first sign-in could be told by the time that takes."""
        await self._nobodys_hash()

    def close(self) -> None:
        self._threads.shutdown(wait=False)

    async def _nobodys_hash(self) -> bytes:
        if self._nobodys is None:
            self._nobodys = await self._run(bcrypt.hashpw, b"nobody's", bcrypt.gensalt(self._cost))
        return self._nobodys

    async def _run(self, function: Callable[[bytes, bytes], T], first: bytes, second: bytes) -> T:
        if self._waiting >= WAITING_MAX:
            raise Unavailable(
                "Too many are signing in at once; try again.",
                retry_after_seconds=RETRY_AFTER_SECONDS,
                code="BUSY",
            )
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, function, first, second)
        finally:
            self._waiting -= 1
