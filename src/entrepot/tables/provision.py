"""Makes the tables that the models declare, and checks that those that exist are the declared ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from entrepot.engine.errors import DynamoError, Refused
from entrepot.tables.database import Database
from entrepot.tables.errors import StoreLacks
from entrepot.tables.table import Index, Table

_MISSING = "ResourceNotFoundException"
# Operations that not every store has; a table lives without them, unkept promises are another matter.
_UNKNOWN = "UnknownOperationException"
WAITS_MAX = 600


async def provision(db: Database, tables: Iterable[Table]) -> None:
    """Create what is missing: tables, indexes, TTL, recovery; refuse a table whose keys are others."""
    tables = list(tables)
    await require(db, tables)
    for table in tables:
        described = await describe(db, table.name)
        if described is None:
            await _create(db, table)
            described = await _settled(db, table.name)
        else:
            described = await _complete(db, table, described)
        await _set_ttl(db, table)
        await _set_recovery(db, table)


async def _create(db: Database, table: Table) -> None:
    try:
        await db.call("CreateTable", create_request(table))
    except Refused as refused:
        # Another process makes it too, or the answer to our own first try was lost.
        if refused.type != "ResourceInUseException":
            raise


async def require(db: Database, tables: Iterable[Table]) -> None:
    """Refuse a store that can't do what the tables need, before the first call does."""
    if not any(table.transactions for table in tables):
        return
    try:
        await db.call("TransactWriteItems", {"TransactItems": []})
    except Refused as refused:
        if refused.type == _UNKNOWN:
            needing = ", ".join(table.name for table in tables if table.transactions)
            raise StoreLacks(
                f"this store has no TransactWriteItems, which {needing} need: "
                "guards and transactions can't be kept on it"
            ) from None
    except DynamoError:
        # Any other refusal shows that the operation is known: an empty transaction is not valid.
        return


async def describe(db: Database, name: str) -> dict[str, Any] | None:
    """The table as the store has it, or None."""
    try:
        answer = await db.call("DescribeTable", {"TableName": name})
    except Refused as refused:
        if refused.type == _MISSING:
            return None
        raise
    table: dict[str, Any] = answer["Table"]
    return table


def create_request(table: Table) -> dict[str, Any]:
    """The CreateTable request of a declared table."""
    request: dict[str, Any] = {
        "TableName": table.name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": attribute_definitions(table),
        "KeySchema": key_schema(table.key_names),
    }
    if table.indexes:
        request["GlobalSecondaryIndexes"] = [index_definition(index) for index in table.indexes.values()]
    if table.stream is not None:
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": table.stream}
    return request


def attribute_definitions(table: Table) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": table.kind_of(name)} for name in table.all_key_names]


def key_schema(names: Iterable[str]) -> list[dict[str, str]]:
    return [
        {"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)
    ]


def index_definition(index: Index) -> dict[str, Any]:
    return {
        "IndexName": index.name,
        "KeySchema": key_schema(index.key_names),
        "Projection": projection(index),
    }


def projection(index: Index) -> dict[str, Any]:
    if isinstance(index.project, str):
        return {"ProjectionType": index.project}
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(index.project)}


async def _complete(db: Database, table: Table, described: dict[str, Any]) -> dict[str, Any]:
    _compare_keys(table.name, key_schema(table.key_names), described["KeySchema"])
    known = {index["IndexName"]: index for index in described.get("GlobalSecondaryIndexes", ())}
    for index in table.indexes.values():
        if index.name in known:
            name = f"{table.name}/{index.name}"
            _compare_keys(name, key_schema(index.key_names), known[index.name]["KeySchema"])
            continue
        request = {
            "TableName": table.name,
            "AttributeDefinitions": attribute_definitions(table),
            "GlobalSecondaryIndexUpdates": [{"Create": index_definition(index)}],
        }
        try:
            await db.call("UpdateTable", request)
        except DynamoError:
            # Another process may have been quicker: then the index is there now.
            described = await _settled(db, table.name)
            if index.name not in {made["IndexName"] for made in described.get("GlobalSecondaryIndexes", ())}:
                raise
        # DynamoDB builds one index at a time.
        described = await _settled(db, table.name)
    return described


def _compare_keys(name: str, declared: list[dict[str, str]], found: list[dict[str, str]]) -> None:
    def ordered(schema: list[dict[str, str]]) -> list[tuple[str, str]]:
        return sorted((key["KeyType"], key["AttributeName"]) for key in schema)

    if ordered(declared) != ordered(found):
        raise StoreLacks(f"{name} has the keys {ordered(found)}, the model declares {ordered(declared)}")


async def _settled(db: Database, name: str) -> dict[str, Any]:
    for _ in range(WAITS_MAX):
        described = await describe(db, name)
        if described is not None and _active(described):
            return described
        await db.pause(1.0)
    raise StoreLacks(f"the table {name} did not become active in {WAITS_MAX} s")


def _active(described: dict[str, Any]) -> bool:
    indexes = described.get("GlobalSecondaryIndexes", ())
    statuses = [described.get("TableStatus"), *(index.get("IndexStatus", "ACTIVE") for index in indexes)]
    return all(status == "ACTIVE" for status in statuses)


async def _set_ttl(db: Database, table: Table) -> None:
    if table.ttl is None or await _expires_as_declared(db, table):
        return
    specification = {"AttributeName": table.ttl, "Enabled": True}
    try:
        await db.call("UpdateTimeToLive", {"TableName": table.name, "TimeToLiveSpecification": specification})
    except DynamoError:
        # Another process may have been quicker: then it is as declared now.
        if not await _expires_as_declared(db, table):
            raise


async def _expires_as_declared(db: Database, table: Table) -> bool:
    """Whether the table expires by its declared attribute; False where by none, an error where by another."""
    answer = await db.call("DescribeTimeToLive", {"TableName": table.name})
    found = answer.get("TimeToLiveDescription", {})
    if found.get("TimeToLiveStatus") not in ("ENABLED", "ENABLING"):
        return False
    if found.get("AttributeName") != table.ttl:
        raise StoreLacks(f"{table.name} expires by {found.get('AttributeName')}, not by {table.ttl}")
    return True


async def _set_recovery(db: Database, table: Table) -> None:
    if not table.pitr:
        return
    specification: dict[str, Any] = {"PointInTimeRecoveryEnabled": True}
    if table.pitr is not True:
        specification["RecoveryPeriodInDays"] = table.pitr
    request = {"TableName": table.name, "PointInTimeRecoverySpecification": specification}
    try:
        await db.call("UpdateContinuousBackups", request)
    except Refused as refused:
        if refused.type != _UNKNOWN:
            raise
