"""CreateTable: a table with its keys and indexes; it can be used as soon as this answers."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from entrepot.engine.errors import Refused, Validation
from entrepot.engine.operations import fields, tags
from entrepot.engine.operations import table_settings as settings
from entrepot.engine.operations.describe_table import describe_new
from entrepot.engine.operations.operation import Operation
from entrepot.engine.schema import Definition, IndexDefinition, KeyPart
from entrepot.engine.shapes import ListOf, Record, Shape, TableRecord, Text
from entrepot.engine.storage import Transaction, rows

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

LOCAL_INDEXES_MAX = 5
GLOBAL_INDEXES_MAX = 20
NON_KEY_ATTRIBUTES_MAX = 100

_INVALID = "One or more parameter values were invalid: "

KEY_SCHEMA = ListOf(
    Record(
        "KeySchemaElement",
        {
            "AttributeName": Text(required=True, shortest=1, longest=255),
            "KeyType": Text(required=True, words=("HASH", "RANGE")),
        },
        required=True,
        field=False,
    ),
    required=True,
    shortest=1,
    longest=2,
)
PROJECTION = Record(
    "Projection",
    {
        "ProjectionType": Text(words=("ALL", "INCLUDE", "KEYS_ONLY")),
        "NonKeyAttributes": ListOf(Text(required=True, shortest=1, longest=255), shortest=1, longest=20),
    },
    required=True,
)
ATTRIBUTE_DEFINITION = Record(
    "AttributeDefinition",
    {
        "AttributeName": Text(required=True, shortest=1, longest=255),
        "AttributeType": Text(required=True, words=("B", "N", "S")),
    },
    required=True,
    field=False,
)
INDEX_FIELDS: dict[str, Shape] = {
    "IndexName": Text(required=True, pattern=r"[a-zA-Z0-9_.-]+", shortest=3, longest=255),
    "KeySchema": KEY_SCHEMA,
    "Projection": PROJECTION,
}

GLOBAL_INDEX_FIELDS: dict[str, Shape] = {
    **INDEX_FIELDS,
    "ProvisionedThroughput": settings.THROUGHPUT,
    "OnDemandThroughput": settings.ON_DEMAND,
    "WarmThroughput": settings.WARM,
}

SHAPE = TableRecord(
    "CreateTableInput",
    {
        "TableName": fields.TABLE_NAME,
        "BillingMode": settings.BILLING_MODE,
        "ProvisionedThroughput": settings.THROUGHPUT,
        "KeySchema": KEY_SCHEMA,
        "AttributeDefinitions": ListOf(ATTRIBUTE_DEFINITION, required=True),
        "LocalSecondaryIndexes": ListOf(
            Record("LocalSecondaryIndex", INDEX_FIELDS, required=True, field=False)
        ),
        "GlobalSecondaryIndexes": ListOf(
            Record(
                "GlobalSecondaryIndex",
                GLOBAL_INDEX_FIELDS,
                required=True,
                field=False,
            )
        ),
        "StreamSpecification": settings.STREAM,
        "SSESpecification": settings.ENCRYPTION,
        "Tags": tags.TAGS,
        "TableClass": fields.TEXT,
        "DeletionProtectionEnabled": fields.FLAG,
        "OnDemandThroughput": settings.ON_DEMAND,
        "WarmThroughput": settings.WARM,
    },
)


async def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    definition = define(request, engine.clock(), engine.key_arn_prefix)

    def create(transaction: Transaction) -> None:
        if engine.catalog.staged(definition.name) is not None:
            raise Refused("ResourceInUseException", f"Table already exists: {definition.name}")
        rows.create_rows(transaction, engine.catalog.add(transaction, definition))

    await engine.writer.submit(create)
    return {"TableDescription": describe_new(engine, engine.catalog.get(definition.name))}


def define(request: dict[str, Any], now: float, key_arn_prefix: str) -> Definition:
    """The table that a request asks for, or the first rule that it breaks."""
    billing: Any = request.get("BillingMode") or "PROVISIONED"
    settings.demand_class(request.get("TableClass"))
    units = demand_units(request, billing)
    attributes = read_attributes(request["AttributeDefinitions"], request["KeySchema"])
    hash_part, range_part = read_key_schema(request["KeySchema"], attributes)
    indexes = _indexes(request, billing, attributes, hash_part, range_part)
    settings.demand_limits(request.get("OnDemandThroughput"), billing, "table")
    settings.demand_encryption(request.get("SSESpecification"))
    definition = Definition(
        name=request["TableName"],
        table_id=str(uuid.uuid4()),
        hash=hash_part,
        range=range_part,
        attributes=list(attributes.values()),
        indexes=indexes,
        created_at=round(now, 3),
        billing_mode=billing,
        billing_changed_at=round(now, 3) if billing == "PAY_PER_REQUEST" else None,
        read_units=units[0],
        write_units=units[1],
        deletion_protection=bool(request.get("DeletionProtectionEnabled")),
        table_class=request.get("TableClass"),
        on_demand_limits=request.get("OnDemandThroughput") or None,
        encryption=settings.encryption_of(request.get("SSESpecification"), key_arn_prefix),
        tags=tags.read_tags(request.get("Tags") or ()),
        next_index_number=len(indexes) + 1,
    )
    settings.warm_up(definition, request.get("WarmThroughput"), billing)
    _open_stream(definition, request.get("StreamSpecification"), now)
    return definition


def _indexes(
    request: dict[str, Any],
    billing: str,
    attributes: dict[str, KeyPart],
    hash_part: KeyPart,
    range_part: KeyPart | None,
) -> list[IndexDefinition]:
    """The indexes that a request asks for; attributes that no key uses are told of before the rest."""
    local = request.get("LocalSecondaryIndexes")
    global_ = request.get("GlobalSecondaryIndexes")
    if local is None and global_ is None:
        if len(request["KeySchema"]) != len(attributes):
            raise Validation(
                f"{_INVALID}Number of attributes in KeySchema does not exactly match number of attributes defined "
                f"in AttributeDefinitions"
            )
        return []
    _demand_all_attributes_used(attributes, [request, *(local or ()), *(global_ or ())])
    names: set[str] = set()
    indexes: list[IndexDefinition] = []
    if local is not None:
        indexes += _local_indexes(local, attributes, hash_part, range_part, names)
    if global_ is not None:
        indexes += _global_indexes(global_, attributes, billing, names, first_number=len(indexes) + 1)
    demand_few_projected(indexes)
    return indexes


def _open_stream(definition: Definition, wanted: dict[str, Any] | None, now: float) -> None:
    if wanted is None:
        return
    view = wanted.get("StreamViewType")
    if not wanted["StreamEnabled"]:
        if view is not None:
            raise Validation(
                f"{_INVALID}Table is being created with a stream disabled, UpdateViewType should not be specified"
            )
        return
    if view is None:
        raise Validation(
            f"{_INVALID}Table is being created with a stream enabled, UpdateViewType is required"
        )
    definition.stream_view = view
    definition.stream_label = settings.stream_label(now)


def demand_units(request: dict[str, Any], billing: str) -> tuple[int, int]:
    """Read and write units of a request whose billing mode they must fit."""
    throughput = request.get("ProvisionedThroughput")
    if billing == "PAY_PER_REQUEST":
        if throughput is not None:
            raise Validation(
                f"{_INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
                f"PAY_PER_REQUEST"
            )
        return 0, 0
    if throughput is None:
        raise Validation(
            f"{_INVALID}ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is "
            f"PROVISIONED"
        )
    return settings.bounded_units(throughput)


def read_attributes(defined: list[dict[str, str]], key_schema: list[dict[str, str]]) -> dict[str, KeyPart]:
    """The definitions of attributes by name, of which there must be as many as a key has parts."""
    if len(key_schema) > len(defined):
        raise Validation("Invalid KeySchema: Some index key attribute have no definition")
    attributes: dict[str, KeyPart] = {}
    for entry in defined:
        part = KeyPart(entry["AttributeName"], entry["AttributeType"])  # type: ignore[arg-type]
        if part.name in attributes:
            raise Validation(f"Attribute Name is duplicated: {part.name}")
        attributes[part.name] = part
    return attributes


def read_key_schema(
    schema: list[dict[str, str]], attributes: dict[str, KeyPart]
) -> tuple[KeyPart, KeyPart | None]:
    """The parts of a key, each of which must be defined."""
    names = [element["AttributeName"] for element in schema]
    if any(name not in attributes for name in names):
        raise Validation(
            f"{_INVALID}Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: [{', '.join(names)}], AttributeDefinitions: [{', '.join(attributes)}]"
        )
    if len(names) == 2 and names[0] == names[1]:
        raise Validation("Both the Hash Key and the Range Key element in the KeySchema have the same name")
    if schema[0]["KeyType"] != "HASH":
        raise Validation("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if len(schema) > 1 and schema[1]["KeyType"] != "RANGE":
        raise Validation("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
    return attributes[names[0]], attributes[names[1]] if len(names) > 1 else None


def _local_indexes(
    wanted: list[dict[str, Any]],
    attributes: dict[str, KeyPart],
    table_hash: KeyPart,
    table_range: KeyPart | None,
    names: set[str],
) -> list[IndexDefinition]:
    if not wanted:
        raise Validation(f"{_INVALID}List of LocalSecondaryIndexes is empty")
    if table_range is None:
        raise Validation(
            f"{_INVALID}Table KeySchema does not have a range key, which is required when specifying a "
            f"LocalSecondaryIndex"
        )
    indexes = []
    for number, entry in enumerate(wanted, 1):
        name = entry["IndexName"]
        hash_part, range_part = read_key_schema(entry["KeySchema"], attributes)
        if range_part is None:
            raise Validation(f"{_INVALID}Index KeySchema does not have a range key for index: {name}")
        if hash_part.name != table_hash.name:
            raise Validation(
                f"{_INVALID}Index KeySchema does not have the same leading hash key as table KeySchema for index: "
                f"{name}. index hash key: {hash_part.name}, table hash key: {table_hash.name}"
            )
        indexes.append(define_index(entry, number, hash_part, range_part, is_global=False))
        demand_new_name(name, names)
    if len(wanted) > LOCAL_INDEXES_MAX:
        raise Validation(f"{_INVALID}Number of LocalSecondaryIndexes exceeds per-table limit of 5")
    return indexes


def _global_indexes(
    wanted: list[dict[str, Any]],
    attributes: dict[str, KeyPart],
    billing: str,
    names: set[str],
    first_number: int,
) -> list[IndexDefinition]:
    if not wanted:
        raise Validation(f"{_INVALID}List of GlobalSecondaryIndexes is empty")
    indexes = []
    for number, entry in enumerate(wanted, first_number):
        hash_part, range_part = read_key_schema(entry["KeySchema"], attributes)
        index = define_index(entry, number, hash_part, range_part, is_global=True)
        index.read_units, index.write_units = demand_index_units(entry, billing)
        settings.demand_limits(entry.get("OnDemandThroughput"), billing, f"index : {index.name}")
        index.on_demand_limits = entry.get("OnDemandThroughput") or None
        settings.warm_up(index, entry.get("WarmThroughput"), billing)
        demand_new_name(index.name, names)
        indexes.append(index)
    if len(wanted) > GLOBAL_INDEXES_MAX:
        raise Validation(f"{_INVALID}GlobalSecondaryIndex count exceeds the per-table limit of 20")
    return indexes


def define_index(
    entry: dict[str, Any], number: int, hash_part: KeyPart, range_part: KeyPart | None, *, is_global: bool
) -> IndexDefinition:
    projection = entry["Projection"]
    kind = projection.get("ProjectionType")
    others = projection.get("NonKeyAttributes")
    if kind is None:
        raise Validation(f"{_INVALID}Unknown ProjectionType: null")
    if others is not None and kind != "INCLUDE":
        raise Validation(f"{_INVALID}ProjectionType is {kind}, but NonKeyAttributes is specified")
    if others is None and kind == "INCLUDE":
        raise Validation(f"{_INVALID}ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    for place, name in enumerate(others or ()):
        if name in others[:place]:
            raise Validation(f"{_INVALID}Duplicate element in NonKeyAttributes: {name}")
    return IndexDefinition(
        number=number,
        name=entry["IndexName"],
        is_global=is_global,
        hash=hash_part,
        range=range_part,
        projection=kind,
        non_key_attributes=list(others or ()),
    )


def demand_index_units(entry: dict[str, Any], billing: str) -> tuple[int, int]:
    throughput = entry.get("ProvisionedThroughput")
    name = entry["IndexName"]
    if billing == "PAY_PER_REQUEST":
        if throughput is not None:
            raise Validation(
                f"{_INVALID}ProvisionedThroughput should not be specified for index: {name} when BillingMode is "
                f"PAY_PER_REQUEST"
            )
        return 0, 0
    if throughput is None:
        raise Validation(f"{_INVALID}ProvisionedThroughput is not specified for index: {name}")
    for field in ("ReadCapacityUnits", "WriteCapacityUnits"):
        if throughput[field] > settings.UNITS_MAX:
            raise Validation(f"Given value {throughput[field]} for {field} is out of bounds for index {name}")
    return throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]


def demand_new_name(name: str, names: set[str]) -> None:
    if name in names:
        raise Validation(f"{_INVALID}Duplicate index name: {name}")
    names.add(name)


def _demand_all_attributes_used(attributes: dict[str, KeyPart], keyed: list[dict[str, Any]]) -> None:
    used = {element["AttributeName"] for each in keyed for element in each["KeySchema"]}
    if not used.issuperset(attributes):
        raise Validation(
            f"{_INVALID}Some AttributeDefinitions are not used. AttributeDefinitions: "
            f"[{', '.join(attributes)}], keys used: [{', '.join(name for name in attributes if name in used)}]"
        )


def demand_few_projected(indexes: list[IndexDefinition]) -> None:
    if sum(len(index.non_key_attributes) for index in indexes) > NON_KEY_ATTRIBUTES_MAX:
        raise Validation(
            f"{_INVALID}Number of attributes specified in NonKeyAttributes across all indexes exceeds the "
            f"per-table limit of {NON_KEY_ATTRIBUTES_MAX}"
        )


OPERATION = Operation("CreateTable", SHAPE, run)
