"""Tables are made as declared, completed when an index is new, and refused when they are others."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from entrepot.engine import Engine
from entrepot.engine.errors import Refused
from entrepot.engine.pytest_plugin import MakeEngine
from entrepot.tables import Database, Entity, Store, StoreLacks, Table, provision
from tests.tables.sample import TABLES, notes

pytestmark = pytest.mark.anyio


async def test_tables_are_made_as_declared_and_only_once(store: Store) -> None:
    db = Database(store)
    for _ in range(2):
        await provision(db, TABLES)
    described = (await db.call("DescribeTable", {"TableName": "notes"}))["Table"]
    assert {key["AttributeName"]: key["KeyType"] for key in described["KeySchema"]} == {
        "PK": "HASH",
        "SK": "RANGE",
    }
    indexes = {index["IndexName"]: index for index in described["GlobalSecondaryIndexes"]}
    assert set(indexes) == {"GSI1", "thin"}
    assert set(indexes["thin"]["Projection"]["NonKeyAttributes"]) == {"noteId", "title", "expiresAt"}
    ttl = await db.call("DescribeTimeToLive", {"TableName": "notes"})
    assert ttl["TimeToLiveDescription"]["AttributeName"] == "expiresAt"


async def test_a_new_index_is_added_to_a_table_that_exists(store: Store) -> None:
    db = Database(store)
    await provision(db, [Table("grown", "PK SK")])
    await provision(db, [Table("grown", "PK SK", indexes={"GSI": "GPK GSK"})])
    described = (await db.call("DescribeTable", {"TableName": "grown"}))["Table"]
    assert [index["IndexName"] for index in described["GlobalSecondaryIndexes"]] == ["GSI"]


async def test_several_may_make_the_same_tables_at_the_same_time(
    dynamo_factory: MakeEngine, tmp_path: Path
) -> None:
    engines = [await dynamo_factory(tmp_path / "store.db") for _ in range(4)]
    await asyncio.gather(*(provision(Database(engine), TABLES) for engine in engines))
    await asyncio.gather(
        *(
            provision(Database(engine), [Table("measures", "device at:N", indexes={"by_at": "by at_ms:N"})])
            for engine in engines
        )
    )
    for engine in engines:
        ttl = await engine.call("DescribeTimeToLive", {"TableName": "notes"})
        assert ttl["TimeToLiveDescription"]["AttributeName"] == "expiresAt"
        described = (await engine.call("DescribeTable", {"TableName": "measures"}))["Table"]
        assert [index["IndexName"] for index in described["GlobalSecondaryIndexes"]] == ["by_at"]


async def test_a_table_with_other_keys_is_refused(store: Store) -> None:
    db = Database(store)
    await provision(db, [Table("same", "PK SK", indexes={"GSI": "GPK"})])
    with pytest.raises(StoreLacks, match="same has the keys"):
        await provision(db, [Table("same", "PK")])
    with pytest.raises(StoreLacks, match="same/GSI has the keys"):
        await provision(db, [Table("same", "PK SK", indexes={"GSI": "OTHER"})])


class WithoutTransactions:
    """A store like Alternator, which does not know TransactWriteItems."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == "TransactWriteItems":
            raise Refused("UnknownOperationException", "Unsupported operation TransactWriteItems")
        return await self._store.call(operation, request)

    async def close(self) -> None:
        await self._store.close()


plain = Table("plain", "PK")


@plain.entity(PK="X#{x}")
class Plain(Entity):
    x: str


async def test_a_store_without_transactions_is_refused_at_the_start_by_models_that_need_them() -> None:
    async with await Engine.open(":memory:") as engine:
        db = Database(WithoutTransactions(engine))
        with pytest.raises(StoreLacks, match="no TransactWriteItems, which notes need"):
            await provision(db, [notes, plain])
        await provision(db, [plain])
        await db.create(Plain(x="1"))
