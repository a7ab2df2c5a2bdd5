"""Integrity: whether a store holds together; what `doctor` and the proofs ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw

from entrepot.engine.schema import Index, Table
from entrepot.engine.storage.catalog import Catalog
from entrepot.engine.storage.file import StoreFile
from entrepot.engine.storage.rows import expiry
from entrepot.engine.values import image, item_size


def verify(file: StoreFile) -> list[str]:
    """Everything that is wrong with a store, in words; an empty list when it is sound."""
    catalog = Catalog(file)
    problems = [
        f"SQLite: {row}" for (row,) in file.reader.execute("PRAGMA integrity_check").fetchall() if row != "ok"
    ]
    for table in catalog.tables():
        problems += _table_problems(file.reader, table, catalog.counts(table.rows))
        for index in table.maintained:
            if index.definition.status == "ACTIVE":
                problems += _index_problems(file.reader, table, index, catalog.counts(index.rows)[0])
    return problems


def _table_problems(reader: apsw.Connection, table: Table, counts: tuple[int, int]) -> Iterator[str]:
    items = size_total = 0
    # While a change of the attribute is carried through, some items are still marked by the old one.
    marking = table.definition.ttl_marked_to is not None
    for key, size, expires, stored in _rows(reader, f"SELECT key, size, expires, image FROM {table.rows}"):
        item = image.decode(stored)
        items += 1
        size_total += size
        if table.key_of(item) != key:
            yield f"{table.name}: an item lies under another key than its own: {key!r}"
        if item_size(item) != size:
            yield f"{table.name}: an item's size is noted as {size}, but is {item_size(item)}"
        if not marking and expiry(table, item) != expires:
            yield f"{table.name}: an item's expiry is noted as {expires}, but is {expiry(table, item)}"
    if counts != (items, size_total):
        yield f"{table.name}: {counts} items and bytes are noted, but there are {(items, size_total)}"


def _index_problems(reader: apsw.Connection, table: Table, index: Index, count: int) -> Iterator[str]:
    """Compares an index with what a rebuild would give."""
    rebuilt = {
        (entry, row_id)
        for row_id, key, stored in _rows(reader, f"SELECT id, key, image FROM {table.rows}")
        if (entry := index.key_of(image.decode(stored), key)) is not None
    }
    kept = set(_rows(reader, f"SELECT key, item FROM {index.rows}"))
    if kept != rebuilt:
        yield f"{table.name}.{index.name}: {len(rebuilt - kept)} entries are missing, {len(kept - rebuilt)} too many"
    if count != len(kept):
        yield f"{table.name}.{index.name}: {count} entries are noted, but there are {len(kept)}"


def _rows(reader: apsw.Connection, sql: str) -> Iterator[Any]:
    return iter(reader.execute(sql).fetchall())
