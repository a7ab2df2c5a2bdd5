"""DescribeTable: what a table is, and how much is in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from entrepot.engine.operations import fields
from entrepot.engine.operations.operation import Operation
from entrepot.engine.operations.table_settings import decreases_on, warm_units
from entrepot.engine.schema import Definition, Index, IndexDefinition, KeyPart, Table
from entrepot.engine.shapes import TableRecord
from entrepot.engine.values import image, item_size

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

SHAPE = TableRecord("DescribeTableInput", {"TableName": fields.TABLE_NAME})

SAMPLE_ENTRIES = 20


def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    engine.catalog.refresh()
    table = engine.table_named(request["TableName"])
    return {"Table": describe(engine, table)}


def describe_new(engine: Engine, table: Table) -> dict[str, Any]:
    """A table as CreateTable answers it: what is measured or dated is not told yet."""
    described = describe(engine, table, "CREATING", dict.fromkeys(table.indexes, "CREATING"))
    described.get("BillingModeSummary", {}).pop("LastUpdateToPayPerRequestDateTime", None)
    for warm in (described, *described.get("GlobalSecondaryIndexes", ())):
        del warm["WarmThroughput"]
    return described


def describe(
    engine: Engine, table: Table, status: str = "ACTIVE", index_statuses: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A table as DescribeTable and its relatives answer it."""
    definition = table.definition
    items, size = engine.catalog.counts(table.rows)
    arn = engine.arn(table.name)
    described: dict[str, Any] = {
        "AttributeDefinitions": [
            {"AttributeName": part.name, "AttributeType": part.kind}
            for part in sorted(definition.attributes, key=lambda part: part.name)
        ],
        "TableName": table.name,
        "KeySchema": key_schema(table.hash, table.range),
        "TableStatus": status,
        "CreationDateTime": definition.created_at,
        "ProvisionedThroughput": _throughput(definition, engine.clock()),
        "TableSizeBytes": size,
        "ItemCount": items,
        "TableArn": arn,
        "TableId": definition.table_id,
        "DeletionProtectionEnabled": definition.deletion_protection,
        "WarmThroughput": _warmth(definition, definition.billing_mode),
    }
    if definition.billing_mode == "PAY_PER_REQUEST" or definition.billing_changed_at is not None:
        described["BillingModeSummary"] = {
            "BillingMode": definition.billing_mode,
            "LastUpdateToPayPerRequestDateTime": definition.billing_changed_at or definition.created_at,
        }
    if definition.table_class is not None:
        described["TableClassSummary"] = {"TableClass": definition.table_class}
    if definition.on_demand_limits is not None:
        described["OnDemandThroughput"] = definition.on_demand_limits
    if definition.encryption is not None:
        described["SSEDescription"] = definition.encryption
    if definition.stream_view is not None:
        described["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": definition.stream_view}
    if definition.stream_label is not None:
        described["LatestStreamLabel"] = definition.stream_label
        described["LatestStreamArn"] = f"{arn}/stream/{definition.stream_label}"
    for index in table.indexes.values():
        group = "GlobalSecondaryIndexes" if index.is_global else "LocalSecondaryIndexes"
        status_of_index = (index_statuses or {}).get(index.name, index.definition.status)
        described.setdefault(group, []).append(_describe_index(engine, table, index, status_of_index))
    return described


def key_schema(hash_part: KeyPart, range_part: KeyPart | None) -> list[dict[str, str]]:
    schema = [{"AttributeName": hash_part.name, "KeyType": "HASH"}]
    if range_part is not None:
        schema.append({"AttributeName": range_part.name, "KeyType": "RANGE"})
    return schema


def _describe_index(engine: Engine, table: Table, index: Index, status: str) -> dict[str, Any]:
    definition = index.definition
    # The rows of an index that is being deleted may be gone already.
    items = 0 if status == "DELETING" else engine.catalog.counts(index.rows)[0]
    described: dict[str, Any] = {
        "IndexName": index.name,
        "KeySchema": key_schema(index.hash, index.range),
        "Projection": projection(definition),
        "IndexSizeBytes": items * _sampled_entry_bytes(engine, table, index) if items else 0,
        "ItemCount": items,
        "IndexArn": f"{engine.arn(table.name)}/index/{index.name}",
    }
    if not index.is_global:
        return described
    described["IndexStatus"] = status
    if definition.status == "CREATING" and status == "CREATING":
        described["Backfilling"] = True
    described["ProvisionedThroughput"] = _throughput(definition, engine.clock())
    described["WarmThroughput"] = _warmth(definition, table.definition.billing_mode)
    if definition.on_demand_limits is not None:
        described["OnDemandThroughput"] = definition.on_demand_limits
    return described


def _sampled_entry_bytes(engine: Engine, table: Table, index: Index) -> int:
    """How large an entry of an index is on average; the service's own figure is hours old, too."""
    sample: list[Any] = engine.read(
        f"SELECT image FROM {table.rows} WHERE id IN (SELECT item FROM {index.rows} LIMIT {SAMPLE_ENTRIES})"
    ).fetchall()
    sizes = [item_size(index.shows(image.decode(stored))) for (stored,) in sample]
    return sum(sizes) // len(sizes) if sizes else 0


def projection(index: IndexDefinition) -> dict[str, Any]:
    described: dict[str, Any] = {"ProjectionType": index.projection}
    if index.projection == "INCLUDE":
        described["NonKeyAttributes"] = sorted(index.non_key_attributes)
    return described


def _warmth(kept: Definition | IndexDefinition, billing: str) -> dict[str, Any]:
    read, write = warm_units(kept, billing)
    return {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write, "Status": "ACTIVE"}


def _throughput(definition: Definition | IndexDefinition, now: float) -> dict[str, Any]:
    throughput: dict[str, Any] = {
        "NumberOfDecreasesToday": decreases_on(definition, now),
        "ReadCapacityUnits": definition.read_units,
        "WriteCapacityUnits": definition.write_units,
    }
    if definition.throughput_increased_at is not None:
        throughput["LastIncreaseDateTime"] = definition.throughput_increased_at
    if definition.throughput_decreased_at is not None:
        throughput["LastDecreaseDateTime"] = definition.throughput_decreased_at
    return throughput


OPERATION = Operation("DescribeTable", SHAPE, run, answers_at_once=True)
