"""Rows: an item and its index entries, put and deleted together in an open transaction."""

from __future__ import annotations

from typing import Any

from entrepot.engine.schema import Index, Table
from entrepot.engine.storage.writer import Transaction
from entrepot.engine.values import Item, image


class Found:
    """An item as it lies in the store."""

    __slots__ = ("_item", "id", "image", "size")

    def __init__(self, row_id: int, size: int, stored: bytes) -> None:
        self.id = row_id
        self.size = size
        self.image = stored
        self._item: Item | None = None

    @property
    def item(self) -> Item:
        if self._item is None:
            self._item = image.decode(self.image)
        return self._item


def find(transaction: Transaction, table: Table, key: bytes) -> Found | None:
    """The item with this key, or None."""
    row = transaction.execute(table.sql_find, (key,)).get
    return None if row is None else Found(*row)


def put(
    transaction: Transaction, table: Table, key: bytes, found: Found | None, prepared: tuple[Item, int, bytes]
) -> None:
    """Writes an item over the one that was found, or as a new one."""
    if found is None:
        insert(transaction, table, key, prepared)
        return
    item, size, stored = prepared
    expires = expiry(table, item)
    if transaction.witness is not None:
        transaction.witness(transaction.now, table, key, found)
    transaction.execute(table.sql_update, (size, expires, stored, found.id))
    transaction.grow(table.rows, 0, size - found.size)
    for index in table.maintained:
        move_entry(transaction, index, index.key_of(found.item, key), index.key_of(item, key), found.id)


def insert(transaction: Transaction, table: Table, key: bytes, prepared: tuple[Item, int, bytes]) -> bool:
    """Writes an item where there is none; False, and nothing is written, where there is one."""
    item, size, stored = prepared
    transaction.execute(table.sql_insert, (key, size, expiry(table, item), stored))
    if not transaction.changes():
        return False
    if transaction.witness is not None:
        transaction.witness(transaction.now, table, key, None)
    transaction.grow(table.rows, 1, size)
    if table.maintained:
        row_id = transaction.last_row_id()
        for index in table.maintained:
            move_entry(transaction, index, None, index.key_of(item, key), row_id)
    return True


def delete(transaction: Transaction, table: Table, key: bytes, found: Found) -> None:
    """Removes an item and its index entries."""
    if transaction.witness is not None:
        transaction.witness(transaction.now, table, key, found)
    transaction.execute(table.sql_delete, (found.id,))
    transaction.grow(table.rows, -1, -found.size)
    for index in table.maintained:
        move_entry(transaction, index, index.key_of(found.item, key), None, found.id)


def move_entry(
    transaction: Transaction, index: Index, before: bytes | None, after: bytes | None, row_id: int
) -> None:
    """Takes an item out of one place of an index and into another; None is no place."""
    if before == after:
        return
    if before is not None:
        transaction.execute(index.sql_delete, (before,))
        transaction.grow(index.rows, -1)
    if after is not None:
        transaction.execute(index.sql_insert, (after, row_id))
        transaction.grow(index.rows, 1)


def expiry(table: Table, item: Item) -> int | None:
    """The second in which an item expires, by which the reaper finds it."""
    if table.ttl_attribute is None:
        return None
    expires: Any = item.get(table.ttl_attribute)
    if type(expires) is not int and type(expires) is not float:
        return None
    return int(expires) if 0 < expires < 2**53 else None


def create_rows(transaction: Transaction, table: Table) -> None:
    transaction.execute(
        f"CREATE TABLE {table.rows} (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, "
        f"size INTEGER NOT NULL, expires INTEGER, image BLOB NOT NULL)"
    )
    transaction.execute(
        f"CREATE INDEX {table.rows}_by_expiry ON {table.rows} (expires) WHERE expires IS NOT NULL"
    )
    transaction.execute("INSERT INTO counts VALUES (?, 0, 0)", (table.rows,))
    for index in table.indexes.values():
        create_index_rows(transaction, index)


def create_index_rows(transaction: Transaction, index: Index) -> None:
    transaction.execute(
        f"CREATE TABLE {index.rows} (key BLOB PRIMARY KEY, item INTEGER NOT NULL) WITHOUT ROWID"
    )
    transaction.execute("INSERT INTO counts VALUES (?, 0, 0)", (index.rows,))
