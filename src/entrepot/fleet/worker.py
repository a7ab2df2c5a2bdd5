"""The fleet's loops: saying that we listen, the sweep for silent boards, partitions, and the outbox."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from entrepot.clock import Clock
from entrepot.fleet import queries
from entrepot.fleet.bell import Bell
from entrepot.fleet.database import Database
from entrepot.fleet.errors import Unavailable
from entrepot.fleet.heartbeats import keep_partitions
from entrepot.fleet.model import DomainEvent, precise
from entrepot.log import fields

# When nobody has said for this long that they listen, the boards' silence says nothing about the boards.
LISTENING_GAP = timedelta(seconds=60)
LISTENING_SECONDS = 15.0
# Small, because a board that speaks just then waits for the end of its batch.
SWEEP_BATCH = 5_000
SWEEP_BATCHES_MAX = 1_000
SWEEP_SECONDS_MAX = 30.0
UPKEEP_SECONDS = 3600.0
OUTBOX_BATCH = 100
OUTBOX_SECONDS = 5.0
OUTBOX_KEPT = timedelta(days=7)

Publish = Callable[[DomainEvent], Awaitable[None]]

log = logging.getLogger(__name__)


class Work:
    """What has to be done again and again; each method does it once."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def listen(self, *, fresh: bool = False) -> None:
        """Say that heartbeats are being taken here, now; `fresh` when this process has just begun to."""
        async with self._database.service() as connection:
            await connection.execute(queries.LISTEN, self._clock.utc(), fresh, LISTENING_GAP)

    async def sweep(self) -> int:
        """Put silent boards offline, and answer how many; 0 when another process is at it."""
        swept = 0
        for _ in range(SWEEP_BATCHES_MAX):
            count = await self._sweep_batch()
            swept += count
            if count < SWEEP_BATCH:
                break
        if swept:
            log.info("boards went silent", extra=fields(count=swept))
        return swept

    async def _sweep_batch(self) -> int:
        async with self._database.service() as connection, connection.transaction():
            if not await connection.fetchval(queries.SWEEP_LOCK):
                return 0
            count = await connection.fetchval(
                queries.SWEEP, self._clock.utc(), SWEEP_BATCH, LISTENING_GAP, timeout=SWEEP_SECONDS_MAX
            )
        return int(count or 0)

    async def keep_partitions(self) -> tuple[list[str], list[str]]:
        """Make the partitions that are due, drop those that are over."""
        async with self._database.service() as connection:
            return await keep_partitions(connection, self._clock.utc())

    async def move_outbox(self, publish: Publish) -> int:
        """Hand waiting domain events on, oldest first, and answer how many.

        An event is deleted after it was handed on: it may be handed on twice, and is known by its id.
        """
        done: list[int] = []
        failure: Exception | None = None
        async with self._database.service() as connection, connection.transaction():
            for row in await connection.fetch(queries.OUTBOX_TAKE, OUTBOX_BATCH):
                try:
                    await publish(_domain_event(row))
                except Exception as error:
                    # Theirs and not the database's: what went before is done, the rest stays in its order.
                    failure = error
                    break
                done.append(row["number"])
            await connection.execute(queries.OUTBOX_DONE, done)
        if failure is not None:
            raise failure
        return len(done)

    async def prune_outbox(self) -> None:
        """Drop events that nobody took for a week."""
        async with self._database.service() as connection:
            await connection.execute(queries.OUTBOX_PRUNE, self._clock.utc() - OUTBOX_KEPT)


def _domain_event(row: Mapping[str, Any]) -> DomainEvent:
    return DomainEvent(
        id=str(row["id"]),
        type=row["type"],
        time=precise(row["time"]),
        subject=row["subject"],
        data=msgspec.json.decode(row["data"]),
        user_id=str(row["user_id"]),
    )


class Loops:
    """Runs the fleet's work in a process until it is stopped; one that takes heartbeats `listens`."""

    def __init__(
        self, work: Work, bell: Bell, *, sweep_seconds: float, publish: Publish | None, listens: bool = True
    ) -> None:
        self._work = work
        self._bell = bell
        self._sweep_seconds = sweep_seconds
        self._publish = publish
        self._listens = listens
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin; again is fine."""
        if self._tasks:
            return
        loops = [
            _every(self._sweep_seconds, self._work.sweep),
            _every(UPKEEP_SECONDS, self._keep),
            self._bell.listen(),
        ]
        if self._listens:
            loops.append(_every(min(LISTENING_SECONDS, self._sweep_seconds), self._work.listen))
        if self._publish is not None:
            loops.append(self._move(self._publish))
        self._tasks = [asyncio.create_task(loop) for loop in loops]

    async def stop(self) -> None:
        """End all loops."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def _keep(self) -> None:
        await self._work.keep_partitions()
        await self._work.prune_outbox()

    async def _move(self, publish: Publish) -> None:
        while True:
            next_ring = self._bell.next_ring()
            moved = await _attempt(lambda: self._work.move_outbox(publish))
            if moved != OUTBOX_BATCH:
                await self._bell.wait(next_ring, OUTBOX_SECONDS)


async def _every(seconds: float, act: Callable[[], Awaitable[object]]) -> None:
    while True:
        await _attempt(act)
        await asyncio.sleep(seconds)


async def _attempt(act: Callable[[], Awaitable[object]]) -> object:
    try:
        return await act()
    except Unavailable as error:
        log.debug("the fleet's database is down: %s", error)
    except Exception:
        # The loop's edge: what went wrong once is logged, and tried again at its time.
        log.exception("the fleet's upkeep failed")
    return None
