"""UpdateTimeToLive: names the attribute by which items expire, or stops their expiry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from entrepot.engine.errors import Validation
from entrepot.engine.operations import fields
from entrepot.engine.operations.operation import Operation
from entrepot.engine.shapes import Flag, Record, Text
from entrepot.engine.storage import Transaction, rows
from entrepot.engine.values import image

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

SHAPE = Record(
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

STEP_ITEMS = 500


async def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    table = engine.table_named(request["TableName"])
    wanted = request["TimeToLiveSpecification"]
    enabled, attribute = wanted["Enabled"], wanted["AttributeName"]

    def change(transaction: Transaction) -> None:
        current = engine.catalog.in_step(table)
        definition = current.definition
        if enabled == definition.ttl_enabled:
            raise Validation(f"TimeToLive is already {'enabled' if enabled else 'disabled'}")
        if not enabled and definition.ttl_attribute != attribute:
            raise Validation(
                f"TimeToLive is active on a different AttributeName: current AttributeName is "
                f"{definition.ttl_attribute}"
            )
        renewed = msgspec.structs.replace(definition, ttl_enabled=enabled, ttl_attribute=attribute)
        engine.catalog.replace(transaction, current, renewed)

    await engine.writer.submit(change)
    await _mark_items(engine, request["TableName"])
    return {"TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": attribute}}


async def _mark_items(engine: Engine, name: str) -> None:
    """Notes the expiry of the items that are there already, a bounded step at a time."""
    table = engine.table_named(name)
    last = 0

    def mark(transaction: Transaction) -> int:
        current = engine.catalog.in_step(table)
        found: list[Any] = transaction.execute(
            f"SELECT id, expires, image FROM {current.rows} WHERE id > ? ORDER BY id LIMIT ?",
            (last, STEP_ITEMS),
        ).fetchall()
        for row_id, noted, stored in found:
            expires = rows.expiry(current, image.decode(stored))
            if expires != noted:
                transaction.execute(f"UPDATE {current.rows} SET expires = ? WHERE id = ?", (expires, row_id))
        return found[-1][0] if found else 0

    while last := await engine.writer.submit(mark):
        pass


OPERATION = Operation("UpdateTimeToLive", SHAPE, run)
