"""UpdateTimeToLive: names the attribute by which items expire, or stops their expiry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from entrepot.engine.errors import Validation
from entrepot.engine.operations import fields
from entrepot.engine.operations.operation import Operation
from entrepot.engine.shapes import Flag, Record, TableRecord, Text
from entrepot.engine.storage import Transaction

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

SHAPE = TableRecord(
    "UpdateTimeToLiveInput",
    {
        "TableName": fields.TABLE_NAME,
        "TimeToLiveSpecification": Record(
            "TimeToLiveSpecification",
            {"Enabled": Flag(required=True), "AttributeName": Text(required=True, shortest=1, longest=255)},
            required=True,
        ),
    },
)

# A small table is ready when this answers; on a large one the backfill goes on behind it.
WAIT_SECONDS = 1.0


async def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    table = engine.table_named(request["TableName"])
    wanted = request["TimeToLiveSpecification"]
    enabled, attribute = wanted["Enabled"], wanted["AttributeName"]

    def change(transaction: Transaction) -> None:
        current = engine.catalog.in_step(table)
        definition = current.definition
        if definition.ttl_enabled and definition.ttl_attribute != attribute:
            raise Validation(
                f"TimeToLive is active on a different AttributeName: current AttributeName is "
                f"{definition.ttl_attribute}"
            )
        if enabled == definition.ttl_enabled:
            raise Validation(f"TimeToLive is already {'enabled' if enabled else 'disabled'}")
        renewed = msgspec.structs.replace(
            definition, ttl_enabled=enabled, ttl_attribute=attribute, ttl_marked_to=0
        )
        engine.catalog.replace(transaction, current, renewed)

    await engine.writer.submit(change)
    if not await engine.backfill.finish(within_seconds=WAIT_SECONDS):
        engine.backfill.wake()
    return {"TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": attribute}}


OPERATION = Operation("UpdateTimeToLive", SHAPE, run)
