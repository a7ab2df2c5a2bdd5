"""The backfill: carries a change of a table through the items that it already has, a bounded step at a time.

An index that was added is filled in the order of the items' keys; a change of the time to live is noted on
each item in the order of its row. How far either has come is part of the table's definition, written in the
same transaction as the step: after a crash it goes on from there, and processes that share a store share the
work, each step being taken by whoever is first.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import apsw
import msgspec

from entrepot.engine.errors import DynamoError
from entrepot.engine.schema import Definition, IndexDefinition, Table
from entrepot.engine.storage import Transaction, rows
from entrepot.engine.values import image

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

STEP_ITEMS = 200
STEP_BYTES = 1024 * 1024
# How soon a process sees what another one left unfinished.
INTERVAL_SECONDS = 1.0

log = logging.getLogger(__name__)


class Backfill:
    """A loop in the background of one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._task: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="entrepot-backfill")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def wake(self) -> None:
        """Says that there is something to do."""
        self._wanted.set()

    async def finish(self, within_seconds: float | None = None) -> bool:
        """Does all that is unfinished, or as much as the time allows; says whether nothing is left."""
        deadline = None if within_seconds is None else time.monotonic() + within_seconds
        for table in unfinished(self._engine):
            while await self._engine.writer.submit(partial(self._step, table=table)):
                if deadline is not None and time.monotonic() > deadline:
                    return False
        return True

    async def _run(self) -> None:
        while True:
            self._wanted.clear()
            try:
                self._engine.catalog.refresh()
                await self.finish()
            except (DynamoError, apsw.Error) as error:
                log.warning("a backfill failed and will be tried again: %s", error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(INTERVAL_SECONDS):
                    await self._wanted.wait()

    def _step(self, transaction: Transaction, table: Table) -> bool:
        """One step for a table, as it is in the open group; True while there is more."""
        current = self._engine.catalog.staged(table.name)
        if current is None or current.id != table.id:
            return False
        definition = step(transaction, current)
        if definition is None:
            return False
        self._engine.catalog.replace(transaction, current, definition)
        return True


def unfinished(engine: Engine) -> Iterator[Table]:
    """The tables that have something to be carried through."""
    for table in engine.catalog.tables():
        definition = table.definition
        if definition.ttl_marked_to is not None or any(
            index.status == "CREATING" for index in definition.indexes
        ):
            yield table


def step(transaction: Transaction, table: Table) -> Definition | None:
    """Does the next step, and gives the definition that tells of it; None when nothing is left."""
    definition = table.definition
    if definition.ttl_marked_to is not None:
        reached = _mark(transaction, table, definition.ttl_marked_to)
        return msgspec.structs.replace(definition, ttl_marked_to=reached)
    for place, index in enumerate(definition.indexes):
        if index.status == "CREATING":
            indexes = [*definition.indexes]
            indexes[place] = _fill(transaction, table, index)
            return msgspec.structs.replace(definition, indexes=indexes)
    return None


def _fill(transaction: Transaction, table: Table, definition: IndexDefinition) -> IndexDefinition:
    """Puts the next items into an index; those that can't be in it are left out, as DynamoDB does."""
    index = table.indexes[definition.name]
    found = _page(
        transaction,
        f"SELECT id, key, image FROM {table.rows} WHERE key > ? ORDER BY key LIMIT ?",
        index.reached,
    )
    for row_id, key, stored in found:
        rows.move_entry(transaction, index, None, index.key_if_fit(image.decode(stored), key), row_id)
    if not found:
        return msgspec.structs.replace(definition, status="ACTIVE", backfilled_to=None)
    return msgspec.structs.replace(definition, backfilled_to=found[-1][1])


def _mark(transaction: Transaction, table: Table, after: int) -> int | None:
    """Notes on the next items when they expire; gives the row reached, or None at the end."""
    found = _page(
        transaction, f"SELECT id, expires, image FROM {table.rows} WHERE id > ? ORDER BY id LIMIT ?", after
    )
    for row_id, noted, stored in found:
        expires = rows.expiry(table, image.decode(stored))
        if expires != noted:
            transaction.execute(f"UPDATE {table.rows} SET expires = ? WHERE id = ?", (expires, row_id))
    return found[-1][0] if found else None


def _page(transaction: Transaction, sql: str, after: bytes | int) -> list[Any]:
    """The next rows, bounded in number and in bytes; the image is the last column."""
    page: list[Any] = []
    size = 0
    for row in transaction.execute(sql, (after, STEP_ITEMS)):
        page.append(row)
        size += len(row[-1])
        if size >= STEP_BYTES:
            break
    return page
