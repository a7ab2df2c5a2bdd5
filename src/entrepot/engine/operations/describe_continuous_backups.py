"""DescribeContinuousBackups: whether a table can be restored to a point in time, and to which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entrepot.engine.errors import Refused
from entrepot.engine.operations import fields
from entrepot.engine.operations.operation import Operation
from entrepot.engine.schema import Definition, Table
from entrepot.engine.shapes import TableRecord

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

# The service can restore to all but the last minutes.
LATEST_AGE_SECONDS = 5 * 60
DAY_SECONDS = 24 * 3600

SHAPE = TableRecord("DescribeContinuousBackupsInput", {"TableName": fields.TABLE_NAME})


def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    definition = table_to_back_up(engine, request["TableName"]).definition
    return {"ContinuousBackupsDescription": describe(definition, engine.clock())}


def table_to_back_up(engine: Engine, name: str) -> Table:
    """The table of this name; the calls about backups have an error of their own for a missing one."""
    try:
        return engine.table(name)
    except Refused:
        raise Refused("TableNotFoundException", f"Table not found: {name}") from None


def describe(definition: Definition, now: float) -> dict[str, Any]:
    """Backups on request are always possible; those to a point in time only since they were enabled."""
    enabled_at = definition.recovery_enabled_at
    recovery: dict[str, Any] = {"PointInTimeRecoveryStatus": "DISABLED"}
    if enabled_at is not None:
        earliest = max(enabled_at, now - definition.recovery_days * DAY_SECONDS)
        recovery = {
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": definition.recovery_days,
            "EarliestRestorableDateTime": round(earliest, 3),
            "LatestRestorableDateTime": round(max(earliest, now - LATEST_AGE_SECONDS), 3),
        }
    return {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": recovery}


OPERATION = Operation("DescribeContinuousBackups", SHAPE, run, answers_at_once=True)
