"""A program that writes as fast as it can and says what was acknowledged; tests kill it.

    python -m tests.engine.storm PATH NAME COUNT

Each write is a transaction of two items that belong together, one of them in an index. The number of each
acknowledged one is printed at once.
"""

from __future__ import annotations

import asyncio
import os
import sys
from itertools import count

from entrepot.engine import Engine
from entrepot.engine.errors import Refused

WRITERS = 16

TABLE = {
    "TableName": "pairs",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
        {"AttributeName": "owner", "AttributeType": "S"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_owner",
            "KeySchema": [
                {"AttributeName": "owner", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


async def main(path: str, name: str, wanted: int) -> None:
    engine = await Engine.open(path)
    try:
        await engine.call("CreateTable", TABLE)
    except Refused as error:
        if error.type != "ResourceInUseException":
            raise
    numbers = iter(count(await first_free(engine, name)) if wanted == 0 else range(wanted))

    async def write() -> None:
        for number in numbers:
            await engine.call("TransactWriteItems", {"TransactItems": pair(name, number)})
            os.write(1, b"%d\n" % number)

    await asyncio.gather(*(write() for _ in range(WRITERS)))
    await engine.close()


def pair(name: str, number: int) -> list[dict[str, object]]:
    left = {"pk": f"{name}-left", "sk": number, "owner": name, "pad": "x" * (number % 700)}
    return [
        {"Put": {"TableName": "pairs", "Item": left, "ConditionExpression": "attribute_not_exists(pk)"}},
        {"Put": {"TableName": "pairs", "Item": {"pk": f"{name}-right", "sk": number}}},
        {
            "Update": {
                "TableName": "pairs",
                "Key": {"pk": "total", "sk": 0},
                "UpdateExpression": "ADD written :one",
                "ExpressionAttributeValues": {":one": 1},
            }
        },
    ]


async def first_free(engine: Engine, name: str) -> int:
    answer = await engine.call(
        "Query",
        {
            "TableName": "pairs",
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": f"{name}-left"},
            "ScanIndexForward": False,
            "Limit": 1,
        },
    )
    return int(answer["Items"][0]["sk"]) + 1 if answer["Items"] else 0


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
