"""Batches: cut to what DynamoDB takes at once, and repeated until nothing is left over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from entrepot.engine.values import Item as NativeItem
from entrepot.tables import actions as make
from entrepot.tables.errors import TooMany
from entrepot.tables.model import Entity
from entrepot.tables.reads import Item

if TYPE_CHECKING:
    from entrepot.tables.database import Database

E = TypeVar("E")

WRITES_PER_CALL = 25
READS_PER_CALL = 100


class Batches:
    """BatchGetItem, BatchWriteItem and TransactGetItems on a database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def get_all(self, items: Sequence[Item[E]]) -> list[E | None]:
        if not items:
            return []
        found: list[E | None] = [None] * len(items)
        by_table: dict[str, list[int]] = {}
        for place, item in enumerate(items):
            by_table.setdefault(item.pattern.table.name, []).append(place)
        now = self._db.now()
        for table, places in by_table.items():
            read = await self.read(table, [items[place].key() for place in places])
            for place, native in zip(places, read, strict=True):
                pattern = items[place].pattern
                if native is not None and not pattern.model.expired(native, now):
                    found[place] = pattern.result.decode(native)
        return found

    async def read(self, table: str, keys: Sequence[NativeItem]) -> list[NativeItem | None]:
        """Items of one table by key, in order; a key asked for twice is read once."""
        found: dict[bytes, NativeItem] = {}
        names = list(keys[0])
        wanted = {_identity(key): key for key in keys}
        waiting = list(wanted.values())
        deadline = self._db.deadline()
        while waiting:
            chunk, waiting = waiting[:READS_PER_CALL], waiting[READS_PER_CALL:]
            request = {"RequestItems": {table: {"Keys": chunk, "ConsistentRead": True}}}
            answer = await self._db.call("BatchGetItem", request)
            for item in answer.get("Responses", {}).get(table, ()):
                found[_identity({name: item[name] for name in names})] = item
            left = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
            if left:
                waiting.extend(left)
                if len(left) == len(chunk):
                    await deadline.wait("BatchGetItem", None)
        return [found.get(_identity(key)) for key in keys]

    async def put_all(self, entities: Iterable[Entity]) -> None:
        now = self._db.now()
        writes: dict[tuple[str, bytes], tuple[str, dict[str, Any]]] = {}
        for entity in entities:
            action = make.put(entity, None, now)
            table = action.model.table.name
            writes[table, _identity(action.key)] = (table, {"PutRequest": {"Item": action.request["Item"]}})
        await self._write(list(writes.values()))

    async def delete_all(self, targets: Iterable[Item[Any] | Entity]) -> None:
        now = self._db.now()
        writes: dict[tuple[str, bytes], tuple[str, dict[str, Any]]] = {}
        for target in targets:
            for action in make.delete(target, None, now):
                table = action.model.table.name
                writes[table, _identity(action.key)] = (table, {"DeleteRequest": {"Key": action.key}})
        await self._write(list(writes.values()))

    async def _write(self, waiting: list[tuple[str, dict[str, Any]]]) -> None:
        deadline = self._db.deadline()
        while waiting:
            chunk, waiting = waiting[:WRITES_PER_CALL], waiting[WRITES_PER_CALL:]
            tables: dict[str, list[dict[str, Any]]] = {}
            for table, write in chunk:
                tables.setdefault(table, []).append(write)
            answer = await self._db.call("BatchWriteItem", {"RequestItems": tables})
            left = [
                (table, write)
                for table, writes in answer.get("UnprocessedItems", {}).items()
                for write in writes
            ]
            if left:
                waiting.extend(left)
                if len(left) == len(chunk):
                    await deadline.wait("BatchWriteItem", None)

    async def snapshot(self, items: Sequence[Item[Any]]) -> list[Any]:
        if len(items) > READS_PER_CALL:
            raise TooMany(f"a snapshot reads {READS_PER_CALL} items, {len(items)} were asked for")
        request = {
            "TransactItems": [
                {"Get": {"TableName": item.pattern.table.name, "Key": item.key()}} for item in items
            ]
        }
        answer = await self._db.call("TransactGetItems", request)
        now = self._db.now()
        found: list[Any] = []
        for item, response in zip(items, answer["Responses"], strict=True):
            native, model = response.get("Item"), item.pattern.model
            missing = native is None or model.expired(native, now)
            found.append(None if missing else item.pattern.result.decode(native))
        return found


def _identity(key: NativeItem) -> bytes:
    return msgspec.msgpack.encode(sorted(key.items()))
