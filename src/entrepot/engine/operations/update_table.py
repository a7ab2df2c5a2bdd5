"""UpdateTable: billing, throughput, stream, encryption, protection, and indexes that come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from entrepot.engine.errors import Validation
from entrepot.engine.operations import fields
from entrepot.engine.operations import table_settings as settings
from entrepot.engine.operations.create_table import ATTRIBUTE_DEFINITION, GLOBAL_INDEX_FIELDS
from entrepot.engine.operations.describe_table import describe
from entrepot.engine.operations.index_updates import change_indexes, demand_units_for_all
from entrepot.engine.operations.operation import Operation
from entrepot.engine.operations.update_table_rules import demand_sensible
from entrepot.engine.schema import Definition, IndexDefinition, Table
from entrepot.engine.shapes import ListOf, Record, TableRecord
from entrepot.engine.storage import Transaction, rows

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

_INVALID = settings.INVALID
_INDEX_NAME = GLOBAL_INDEX_FIELDS["IndexName"]

SHAPE = TableRecord(
    "UpdateTableInput",
    {
        "TableName": fields.TABLE_NAME,
        "AttributeDefinitions": ListOf(ATTRIBUTE_DEFINITION),
        "ProvisionedThroughput": settings.THROUGHPUT,
        "BillingMode": settings.BILLING_MODE,
        "GlobalSecondaryIndexUpdates": ListOf(
            Record(
                "GlobalSecondaryIndexUpdate",
                {
                    "Update": Record(
                        "UpdateGlobalSecondaryIndexAction",
                        {
                            "IndexName": _INDEX_NAME,
                            "ProvisionedThroughput": settings.THROUGHPUT,
                            "OnDemandThroughput": settings.ON_DEMAND,
                            "WarmThroughput": settings.WARM,
                        },
                    ),
                    "Create": Record("CreateGlobalSecondaryIndexAction", GLOBAL_INDEX_FIELDS),
                    "Delete": Record("DeleteGlobalSecondaryIndexAction", {"IndexName": _INDEX_NAME}),
                },
                required=True,
                field=False,
            )
        ),
        "StreamSpecification": settings.STREAM,
        "SSESpecification": settings.ENCRYPTION,
        "TableClass": fields.TEXT,
        "DeletionProtectionEnabled": fields.FLAG,
        "OnDemandThroughput": settings.ON_DEMAND,
        "WarmThroughput": settings.WARM,
    },
)


async def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    demand_sensible(request)
    table = engine.table_named(request["TableName"])

    def change(transaction: Transaction) -> tuple[Definition, Definition]:
        current = engine.catalog.in_step(table)
        before = current.definition
        after = changed(before, request, transaction.now, engine.key_arn_prefix)
        renewed = engine.catalog.replace(transaction, current, after)
        for name, index in renewed.indexes.items():
            if name not in current.indexes:
                rows.create_index_rows(transaction, index)
        for name, index in current.indexes.items():
            if name not in renewed.indexes:
                engine.catalog.discard(transaction, index.rows)
        return before, after

    before, after = await engine.writer.submit(change)
    described = _describe_change(engine, table, before, after, request)
    engine.backfill.wake()
    return {"TableDescription": described}


def changed(before: Definition, request: dict[str, Any], now: float, key_arn_prefix: str) -> Definition:
    """The definition of a table after a request, or the first rule of the table that it breaks."""
    after = msgspec.structs.replace(
        before, indexes=[msgspec.structs.replace(index) for index in before.indexes]
    )
    billing = request.get("BillingMode") or before.billing_mode
    throughput = request.get("ProvisionedThroughput")
    if throughput is not None and billing == "PAY_PER_REQUEST":
        raise Validation(
            f"{_INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
            f"PAY_PER_REQUEST"
        )
    updates = request.get("GlobalSecondaryIndexUpdates") or []
    if billing != before.billing_mode:
        _switch_billing(after, billing, now)
        if billing == "PROVISIONED":
            demand_units_for_all(before, updates)
    change_indexes(after, updates, request.get("AttributeDefinitions"), now)
    if throughput is not None:
        settings.change_units(after, throughput, now)
    _change_stream(after, request.get("StreamSpecification"), now)
    _change_encryption(after, request.get("SSESpecification"), key_arn_prefix)
    limits = request.get("OnDemandThroughput")
    if limits:
        settings.demand_limits(limits, billing, "table", lowest=settings.NO_LIMIT)
        after.on_demand_limits = settings.merge_limits(after.on_demand_limits, limits)
    if request.get("WarmThroughput"):
        settings.warm_further(after, request["WarmThroughput"], billing)
    table_class = request.get("TableClass")
    if table_class is not None and (before.table_class or "STANDARD") != table_class:
        after.table_class = table_class
    if request.get("DeletionProtectionEnabled") is not None:
        after.deletion_protection = request["DeletionProtectionEnabled"]
    return after


def _switch_billing(after: Definition, billing: Any, now: float) -> None:
    after.billing_mode = billing
    if billing == "PAY_PER_REQUEST":
        after.billing_changed_at = round(now, 3)
    elif after.billing_changed_at is None:
        after.billing_changed_at = after.created_at
    billed: list[Definition | IndexDefinition] = [after, *after.indexes]
    for kept in billed:
        kept.read_units = kept.write_units = 0
        kept.on_demand_limits = None


def _change_stream(after: Definition, wanted: dict[str, Any] | None, now: float) -> None:
    if wanted is None:
        return
    if not wanted["StreamEnabled"]:
        if after.stream_view is None:
            raise Validation(f"Table has no stream to disable: TableName: {after.name}")
        # The label stays: the closed stream can be read for another day.
        after.stream_view = None
        return
    if after.stream_view is not None:
        raise Validation(f"Table already has an enabled stream: TableName: {after.name}")
    after.stream_view = wanted["StreamViewType"]
    after.stream_label = settings.stream_label(now)


def _change_encryption(after: Definition, wanted: dict[str, Any] | None, key_arn_prefix: str) -> None:
    if wanted is None:
        return
    encryption = settings.encryption_of(wanted, key_arn_prefix)
    if encryption is None and after.encryption is None:
        raise Validation(f"{_INVALID}Table is already encrypted by default")
    given = wanted.get("KMSMasterKeyId")
    if given is not None and after.encryption is not None and after.encryption["KMSMasterKeyArn"] == given:
        raise Validation(
            f"{_INVALID}Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId parameter if you "
            f"want to change Master Key"
        )
    after.encryption = encryption


def _describe_change(
    engine: Engine, table: Table, before: Definition, after: Definition, request: dict[str, Any]
) -> dict[str, Any]:
    """The table on its way: units and class still as they were, indexes coming or going."""
    kept = {index.name: index for index in after.indexes}
    old = {index.name: index for index in before.indexes}
    switched = before.billing_mode != after.billing_mode
    statuses = {name: "DELETING" for name in old if name not in kept}
    statuses |= {name: "UPDATING" for name, index in kept.items() if name in old and index != old[name]}
    shown = msgspec.structs.replace(
        after,
        table_class=before.table_class,
        attributes=list({part.name: part for part in (*before.attributes, *after.attributes)}.values()),
        indexes=[
            index if index.name in kept and (switched or index.name not in old) else old[index.name]
            for index in {**old, **kept}.values()
        ],
    )
    if not switched:
        shown.read_units, shown.write_units = before.read_units, before.write_units
        shown.decreases_today = before.decreases_today
    at_work = (
        any(
            request.get(name) is not None
            for name in ("ProvisionedThroughput", "BillingMode", "StreamSpecification")
        )
        or before.table_class != after.table_class
        or old.keys() != kept.keys()
    )
    described = describe(engine, Table(table.id, shown), "UPDATING" if at_work else "ACTIVE", statuses)
    for index in described.get("GlobalSecondaryIndexes", ()):
        if index.get("Backfilling"):
            index["Backfilling"] = False
    if request.get("SSESpecification") is not None:
        described["SSEDescription"] = {**(after.encryption or before.encryption or {}), "Status": "UPDATING"}
    return described


OPERATION = Operation("UpdateTable", SHAPE, run)
