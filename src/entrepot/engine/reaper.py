"""The reaper: deletes what has expired and what dropped tables left behind, a bounded step at a time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

import apsw

from entrepot.engine.errors import DynamoError
from entrepot.engine.schema import Table
from entrepot.engine.storage import Transaction, rows
from entrepot.engine.storage.rows import Found

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

STEP_ITEMS = 100
TRASH_STEP_ROWS = 500
INTERVAL_SECONDS = 1.0
# What expired longer ago than this is not deleted: DynamoDB takes so old a time for a mistake.
TTL_AGE_SECONDS_MAX = 5 * 365 * 24 * 3600

log = logging.getLogger(__name__)


class Reaper:
    """A loop in the background of one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._task: asyncio.Task[None] | None = None
        self.expired = 0

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="entrepot-reaper")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def sweep(self) -> int:
        """Deletes everything that is due now; says how many items it was."""
        total = 0
        for table in self._engine.catalog.tables():
            while deleted := await self._expire(table):
                total += deleted
        while await self._empty_trash():
            pass
        await self._forget_tokens()
        return total

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL_SECONDS)
            try:
                await self.sweep()
            except (DynamoError, apsw.Error) as error:
                log.warning("a sweep failed and will be tried again: %s", error)

    async def _expire(self, table: Table) -> int:
        if table.ttl_attribute is None or table.definition.ttl_marked_to is not None:
            return 0
        now = self._engine.clock()
        due = self._engine.read(
            f"SELECT 1 FROM {table.rows} WHERE expires BETWEEN ? AND ? LIMIT 1",
            (int(now) - TTL_AGE_SECONDS_MAX, int(now)),
        ).get
        if due is None:
            return 0
        deleted: int = await self._engine.writer.submit(
            lambda transaction: self._expire_in(transaction, table)
        )
        self.expired += deleted
        return deleted

    def _expire_in(self, transaction: Transaction, table: Table) -> int:
        """A step on the table as the open group has it: an index may have come, or the expiry have changed."""
        current = self._engine.catalog.staged(table.name)
        if current is None or current.id != table.id or current.ttl_attribute is None:
            return 0
        return 0 if current.definition.ttl_marked_to is not None else expire_step(transaction, current)

    async def _empty_trash(self) -> bool:
        if self._engine.read("SELECT 1 FROM trash LIMIT 1").get is None:
            return False
        more: bool = await self._engine.writer.submit(empty_trash_step)
        return more

    async def _forget_tokens(self) -> None:
        now = int(self._engine.clock())
        if self._engine.read("SELECT 1 FROM tokens WHERE expires <= ? LIMIT 1", (now,)).get is not None:
            await self._engine.writer.submit(forget_tokens)


def expire_step(transaction: Transaction, table: Table) -> int:
    """Deletes up to a step's number of expired items of a table."""
    now = int(transaction.now)
    found: list[Any] = transaction.execute(
        f"SELECT id, size, image, key FROM {table.rows} WHERE expires BETWEEN ? AND ? ORDER BY expires LIMIT ?",
        (now - TTL_AGE_SECONDS_MAX, now, STEP_ITEMS),
    ).fetchall()
    for row_id, size, stored, key in found:
        rows.delete(transaction, table, key, Found(row_id, size, stored))
    return len(found)


def forget_tokens(transaction: Transaction) -> None:
    """Forgets the tokens of transactions whose repeats need not be known any more."""
    transaction.execute("DELETE FROM tokens WHERE expires <= ?", (int(transaction.now),))


def empty_trash_step(transaction: Transaction) -> bool:
    """Removes some rows of a dropped table, then the table itself; True while there is more."""
    name = transaction.execute("SELECT name FROM trash LIMIT 1").get
    if name is None:
        return False
    unit = "id" if name.startswith("items_") else "key"
    transaction.execute(
        f"DELETE FROM {name} WHERE {unit} IN (SELECT {unit} FROM {name} LIMIT {TRASH_STEP_ROWS})"
    )
    if transaction.execute(f"SELECT 1 FROM {name} LIMIT 1").get is None:
        transaction.execute(f"DROP TABLE {name}")
        transaction.execute("DELETE FROM trash WHERE name = ?", (name,))
    return True
