"""DeleteTable: the table is gone at once; its rows are removed in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entrepot.engine.errors import Refused, Validation
from entrepot.engine.operations import fields
from entrepot.engine.operations.describe_table import describe
from entrepot.engine.operations.operation import Operation
from entrepot.engine.shapes import TableRecord
from entrepot.engine.storage import Transaction

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

SHAPE = TableRecord("DeleteTableInput", {"TableName": fields.TABLE_NAME})


async def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    table = engine.table_named(request["TableName"])
    described = describe(engine, table, "DELETING")
    for detail in ("AttributeDefinitions", "KeySchema", "CreationDateTime"):
        del described[detail]
    for group in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        described.pop(group, None)

    def remove(transaction: Transaction) -> None:
        current = engine.catalog.in_step(table)
        if current.definition.deletion_protection:
            raise Validation(
                "Resource cannot be deleted as it is currently protected against deletion. Disable deletion "
                "protection first."
            )
        if any(index.status != "ACTIVE" for index in current.definition.indexes):
            raise Refused(
                "ResourceInUseException",
                "Attempt to change a resource which is still in use: Cannot delete table while indexes are being "
                "created, updated, or deleted.",
            )
        engine.catalog.remove(transaction, current)

    await engine.writer.submit(remove)
    return {"TableDescription": described}


OPERATION = Operation("DeleteTable", SHAPE, run)
