"""Heartbeats, many at a time: whatever arrives while one statement is under way goes with the next."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import deque
from datetime import datetime
from enum import Enum
from uuid import UUID

import asyncpg
import msgspec

from entrepot.clock import Clock
from entrepot.fleet import queries
from entrepot.fleet.database import Connection, Database
from entrepot.fleet.errors import FleetError, Unavailable
from entrepot.fleet.rules import Beat, kept_ts

BATCH_MAX = 500
WAITING_MAX = 10_000
FLIGHTS_MAX = 2
# Those who were answered together come back together, within about this time; one commit can have them all.
GATHER_SECONDS = 0.002
# A partition that was missing is made, a lock that met another is asked for again.
TRIES = 3

log = logging.getLogger(__name__)


class Verdict(Enum):
    """What became of a heartbeat."""

    TAKEN = "taken"
    UNKNOWN_DEVICE = "unknown device"
    WRONG_KEY = "wrong key"


class Outcome(msgspec.Struct, frozen=True):
    """The verdict, the board's id where there is one, and the time at which it was heard."""

    verdict: Verdict
    composite_id: str | None
    at: datetime


class _Waiting(msgspec.Struct, frozen=True, eq=False):
    name: str | UUID
    key_hash: str
    beat: Beat
    answer: asyncio.Future[Outcome]


class Heartbeats:
    """Takes the heartbeats of boards; each is answered after its commit."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        # Boards with names and legacy ones with UUIDs are asked for in different columns.
        self._lines = (_Line(queries.HEARTBEATS_BY_NAME), _Line(queries.HEARTBEATS_BY_UUID))
        self._tasks: set[asyncio.Task[None]] = set()

    async def take(self, name: str | UUID, key_hash: str, beat: Beat) -> Outcome:
        """Keep a heartbeat of the board that has this name and a key with this hash."""
        line = self._lines[isinstance(name, UUID)]
        if len(line.waiting) >= WAITING_MAX:
            raise Unavailable(f"More than {WAITING_MAX} heartbeats wait for the database.")
        waiting = _Waiting(name, key_hash, beat, asyncio.get_running_loop().create_future())
        line.waiting.append(waiting)
        if line.flights < FLIGHTS_MAX:
            line.flights += 1
            task = asyncio.create_task(self._fly(line))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await waiting.answer

    async def _fly(self, line: _Line) -> None:
        try:
            while line.waiting:
                if line.busy:
                    await asyncio.sleep(GATHER_SECONDS)
                count = min(BATCH_MAX, len(line.waiting))
                line.busy = count > 1
                await self._write(line, [line.waiting.popleft() for _ in range(count)])
        finally:
            line.flights -= 1

    async def _write(self, line: _Line, batch: list[_Waiting]) -> None:
        now = self._clock.utc()
        try:
            rows = await self._ask(line.statement, batch, now)
        except FleetError as error:
            _fail(batch, error)
        except Exception:
            # Whatever it was, nobody may wait for ever; their answers say it is ours.
            log.exception("heartbeats were not kept")
            _fail(batch, Unavailable("The heartbeat was not kept; try again."))
        else:
            for waiting, (composite_id, known) in zip(batch, rows, strict=True):
                if not waiting.answer.done():
                    waiting.answer.set_result(Outcome(_verdict(composite_id, known), composite_id, now))

    async def _ask(
        self, statement: str, batch: list[_Waiting], now: datetime
    ) -> list[tuple[str | None, bool | None]]:
        columns = (
            [one.name for one in batch],
            [one.key_hash for one in batch],
            [one.beat.rssi for one in batch],
            [one.beat.ip_address for one in batch],
            [one.beat.fw_version for one in batch],
            [kept_ts(one.beat.ts, now) for one in batch],
        )
        for _ in range(TRIES):
            async with self._database.service() as connection:
                try:
                    rows = await connection.fetch(statement, *columns, secrets.token_hex(16), now)
                except asyncpg.CheckViolationError:
                    await keep_partitions(connection, now)
                    continue
                except (
                    asyncpg.DeadlockDetectedError,
                    asyncpg.SerializationError,
                    asyncpg.ForeignKeyViolationError,
                ):
                    continue
                return [(row[0], row[1]) for row in rows]
        raise Unavailable("The heartbeat met others again and again; try again.")


class _Line:
    """Those who wait for one statement."""

    def __init__(self, statement: str) -> None:
        self.statement = statement
        self.waiting: deque[_Waiting] = deque()
        self.flights = 0
        self.busy = False
        """Whether the last batch had company: then the next is worth a moment's wait."""


async def keep_partitions(connection: Connection, now: datetime) -> tuple[list[str], list[str]]:
    """Make the partitions that are due, drop those that are over; which ones they were."""
    row = await connection.fetchrow(queries.KEEP_PARTITIONS, now)
    made, dropped = (row["made"], row["dropped"]) if row else ([], [])
    if made or dropped:
        log.info(
            "partitions kept: made %s, dropped %s", ",".join(made) or "none", ",".join(dropped) or "none"
        )
    return made, dropped


def _verdict(composite_id: str | None, known: bool | None) -> Verdict:
    if composite_id is None:
        return Verdict.UNKNOWN_DEVICE
    return Verdict.TAKEN if known else Verdict.WRONG_KEY


def _fail(batch: list[_Waiting], error: FleetError) -> None:
    for waiting in batch:
        if not waiting.answer.done():
            waiting.answer.set_exception(error)
