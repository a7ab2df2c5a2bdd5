"""Scans, for the operator's tools alone: backups, migrations, proofs. No service may import this."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from entrepot.engine.errors import DynamoError
from entrepot.engine.values import Item
from entrepot.tables.database import Database
from entrepot.tables.errors import Unreachable
from entrepot.tables.retries import send
from entrepot.tables.table import Table


async def every_item(db: Database, table: Table) -> AsyncIterator[Item]:
    """All items of a table, guards and expired ones too, in no promised order."""
    request: dict[str, Any] = {"TableName": table.name, "ConsistentRead": True}
    while True:
        try:
            answer = await db.store.call("Scan", request)
        except (DynamoError, Unreachable) as error:
            answer = await send(db.store.call, "Scan", request, error, db.deadline(), repeatable=True)
        for item in answer["Items"]:
            yield item
        if "LastEvaluatedKey" not in answer:
            return
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
