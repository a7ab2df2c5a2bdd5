"""UpdateContinuousBackups: enables or disables the recovery of a table to a point in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from entrepot.engine.errors import Validation
from entrepot.engine.operations import fields
from entrepot.engine.operations.describe_continuous_backups import describe, table_to_back_up
from entrepot.engine.operations.operation import Operation
from entrepot.engine.schema import Definition
from entrepot.engine.shapes import Flag, Record, TableRecord, Whole
from entrepot.engine.storage import Transaction

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

RECOVERY_DAYS_MAX = 35

SHAPE = TableRecord(
    "UpdateContinuousBackupsInput",
    {
        "TableName": fields.TABLE_NAME,
        "PointInTimeRecoverySpecification": Record(
            "PointInTimeRecoverySpecification",
            {
                "PointInTimeRecoveryEnabled": Flag(required=True),
                "RecoveryPeriodInDays": Whole(lowest=1, highest=RECOVERY_DAYS_MAX),
            },
            required=True,
        ),
    },
)


async def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    wanted = request["PointInTimeRecoverySpecification"]
    enabled, days = wanted["PointInTimeRecoveryEnabled"], wanted.get("RecoveryPeriodInDays")
    if not enabled and days is not None:
        raise Validation(
            "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery."
        )
    table = table_to_back_up(engine, request["TableName"])

    def change(transaction: Transaction) -> Definition:
        current = engine.catalog.in_step(table)
        definition = current.definition
        since = definition.recovery_enabled_at
        kept_days = definition.recovery_days if enabled and since is not None else RECOVERY_DAYS_MAX
        renewed = msgspec.structs.replace(
            definition,
            recovery_enabled_at=(since if since is not None else transaction.now) if enabled else None,
            recovery_days=days or kept_days,
        )
        engine.catalog.replace(transaction, current, renewed)
        return renewed

    definition: Definition = await engine.writer.submit(change)
    return {"ContinuousBackupsDescription": describe(definition, engine.clock())}


OPERATION = Operation("UpdateContinuousBackups", SHAPE, run)
