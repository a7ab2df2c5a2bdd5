"""A store on a clock that tests move, with a table that has every kind of index."""

from __future__ import annotations

from typing import Any

from entrepot.engine import Chaos, Engine

TABLE: dict[str, Any] = {
    "TableName": "things",
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
        {"AttributeName": "group", "AttributeType": "S"},
        {"AttributeName": "rank", "AttributeType": "N"},
    ],
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_group",
            "KeySchema": [
                {"AttributeName": "group", "KeyType": "HASH"},
                {"AttributeName": "rank", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["note"]},
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
        }
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by_rank",
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "rank", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}

PAGES_MAX = 500


class Clock:
    """Time that passes only when a test says so."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += seconds


async def open_store(clock: Clock, chaos: Chaos | str | None = None) -> Engine:
    """A store in memory with the table `things`; the chaos begins once the table is there."""
    engine = await Engine.open(clock=clock)
    await engine.call("CreateTable", TABLE)
    engine.set_chaos(chaos)
    return engine


async def put(engine: Engine, pk: str, sk: int, **attributes: Any) -> None:
    await engine.call("PutItem", {"TableName": "things", "Item": {"pk": pk, "sk": sk, **attributes}})


async def get(engine: Engine, pk: str, sk: int, *, consistent: bool = False) -> dict[str, Any] | None:
    request = {"TableName": "things", "Key": {"pk": pk, "sk": sk}, "ConsistentRead": consistent}
    return (await engine.call("GetItem", request)).get("Item")


def query_partition(pk: str, **options: Any) -> dict[str, Any]:
    return {
        "TableName": "things",
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": pk},
        **options,
    }


def query_group(group: str, **options: Any) -> dict[str, Any]:
    return {
        "TableName": "things",
        "IndexName": "by_group",
        "KeyConditionExpression": "#g = :g",
        "ExpressionAttributeNames": {"#g": "group"},
        "ExpressionAttributeValues": {":g": group},
        **options,
    }


async def all_pages(engine: Engine, operation: str, request: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers of a Query or a Scan, followed to its end."""
    answers = [await engine.call(operation, request)]
    while (last := answers[-1].get("LastEvaluatedKey")) is not None:
        assert len(answers) < PAGES_MAX
        answers.append(await engine.call(operation, {**request, "ExclusiveStartKey": last}))
    return answers


async def all_items(engine: Engine, operation: str, request: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for answer in await all_pages(engine, operation, request) for item in answer["Items"]]
