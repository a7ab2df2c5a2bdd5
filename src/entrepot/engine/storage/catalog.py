"""The catalog: which tables there are, kept in the file and ready in memory."""

from __future__ import annotations

import time
from typing import Any

import apsw
import msgspec

from entrepot.engine.errors import table_not_found
from entrepot.engine.schema import Definition, Table
from entrepot.engine.storage.file import StoreFile
from entrepot.engine.storage.writer import Transaction

# How long a change of the tables by another process may stay unseen by reads of this one.
REFRESH_SECONDS = 0.1

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Definition).decode


class Catalog:
    """The tables of a store, by name: as readers see them, and as the writer's open group has them."""

    def __init__(self, file: StoreFile) -> None:
        self._reader = file.reader
        self._alone = file.in_memory
        self._visible: dict[str, Table] = {}
        self._staged: dict[str, Table] = self._visible
        self._generation = -1
        self._checked_at = 0.0
        self.refresh()

    def get(self, name: str) -> Table:
        """The table of this name, or DynamoDB's error."""
        if not self._alone and time.monotonic() - self._checked_at > REFRESH_SECONDS:
            self.refresh()
        table = self._visible.get(name)
        if table is None:
            self.refresh()
            table = self._visible.get(name)
            if table is None:
                raise table_not_found()
        return table

    def names(self) -> list[str]:
        self.refresh()
        return sorted(self._visible)

    def tables(self) -> list[Table]:
        return list(self._visible.values())

    def counts(self, rows: str) -> tuple[int, int]:
        """Items and bytes of a table or an index, by the name of its rows."""
        return self._reader.execute("SELECT items, bytes FROM counts WHERE rows = ?", (rows,)).get or (0, 0)

    def refresh(self) -> None:
        """Reads again what another process may have changed."""
        self._checked_at = time.monotonic()
        if self._staged is self._visible:
            self._follow(self._reader)

    def begin_group(self, connection: apsw.Connection) -> None:
        """At the start of a group: takes over what other processes changed."""
        if not self._alone:
            self._follow(connection)

    def in_step(self, table: Table) -> Table:
        """The table as the open group has it: between a request and its turn it may have changed."""
        current = self._staged.get(table.name)
        if current is None or current.id != table.id:
            raise table_not_found()
        return current

    def staged(self, name: str) -> Table | None:
        """The table of this name in the open group."""
        return self._staged.get(name)

    def add(self, transaction: Transaction, definition: Definition) -> Table:
        transaction.execute(
            "INSERT INTO tables (name, definition) VALUES (?, ?)", (definition.name, _encode(definition))
        )
        table = Table(transaction.last_row_id(), definition)
        self._stage(transaction)[table.name] = table
        return table

    def replace(self, transaction: Transaction, table: Table, definition: Definition) -> Table:
        """Gives a table another definition."""
        transaction.execute("UPDATE tables SET definition = ? WHERE id = ?", (_encode(definition), table.id))
        renewed = Table(table.id, definition)
        self._stage(transaction)[table.name] = renewed
        return renewed

    def remove(self, transaction: Transaction, table: Table) -> None:
        transaction.execute("DELETE FROM tables WHERE id = ?", (table.id,))
        for rows in (table.rows, *(index.rows for index in table.indexes.values())):
            self.discard(transaction, rows)
        del self._stage(transaction)[table.name]

    def discard(self, transaction: Transaction, rows: str) -> None:
        """Leaves the rows of a table or an index to the reaper."""
        transaction.execute("INSERT INTO trash VALUES (?)", (rows,))
        transaction.execute("DELETE FROM counts WHERE rows = ?", (rows,))

    def _stage(self, transaction: Transaction) -> dict[str, Table]:
        transaction.execute("UPDATE meta SET value = value + 1 WHERE name = 'catalog'")
        if self._staged is self._visible:
            self._staged = dict(self._visible)
            transaction.on_end(kept=self._publish, dropped=self._forget)
        return self._staged

    def _publish(self) -> None:
        self._visible = self._staged
        self.refresh()

    def _forget(self) -> None:
        self._staged = self._visible

    def _follow(self, connection: apsw.Connection) -> None:
        generation = connection.execute("SELECT value FROM meta WHERE name = 'catalog'").get
        if generation == self._generation:
            return
        known = {table.id: table for table in self._visible.values()}
        tables: dict[str, Table] = {}
        rows: list[Any] = connection.execute("SELECT id, definition FROM tables").fetchall()
        for number, stored in rows:
            definition = _decode(stored)
            table = known.get(number)
            if table is None or table.definition != definition:
                table = Table(number, definition)
            tables[definition.name] = table
        self._visible = self._staged = tables
        self._generation = generation
