"""Index updates: the global indexes that UpdateTable adds, removes, or gives other units."""

from __future__ import annotations

from typing import Any

from entrepot.engine.errors import Refused, Validation
from entrepot.engine.operations import table_settings as settings
from entrepot.engine.operations.create_table import (
    GLOBAL_INDEXES_MAX,
    define_index,
    demand_few_projected,
    read_attributes,
    read_key_schema,
)
from entrepot.engine.schema import Definition, IndexDefinition, KeyPart

_INVALID = settings.INVALID


def change_indexes(
    after: Definition,
    updates: list[dict[str, Any]],
    attribute_definitions: list[dict[str, str]] | None,
    now: float,
) -> None:
    """Carries the updates out on a definition, of which one may be a creation or a deletion."""
    _demand_one_at_a_time(after, updates)
    for update in updates:
        if update.get("Create") is not None:
            _create(after, update["Create"], attribute_definitions)
        elif update.get("Delete") is not None:
            index = _demand_global(after, update["Delete"]["IndexName"], "delete")
            after.indexes.remove(index)
            _forget_attributes(after)
        else:
            index = _demand_global(after, update["Update"]["IndexName"], "update")
            _change(after, index, update["Update"], now)


def demand_units_for_all(before: Definition, updates: list[dict[str, Any]]) -> None:
    """A table that becomes provisioned needs units for each of its indexes."""
    given = {
        update["Update"]["IndexName"]
        for update in updates
        if (update.get("Update") or {}).get("ProvisionedThroughput") is not None
    }
    given |= {update["Delete"]["IndexName"] for update in updates if update.get("Delete")}
    missing = [index.name for index in before.indexes if index.is_global and index.name not in given]
    if missing:
        raise Validation(f"{_INVALID}ProvisionedThroughput must be specified for index: {','.join(missing)}")


def _demand_one_at_a_time(before: Definition, updates: list[dict[str, Any]]) -> None:
    """Only one index comes or goes at a time; one that is being filled may be given up."""
    coming = [update["Create"]["IndexName"] for update in updates if update.get("Create")]
    going = [update["Delete"]["IndexName"] for update in updates if update.get("Delete")]
    filled = {index.name for index in before.indexes if index.status == "CREATING"}
    if len(coming) + len(going) > 1 or (filled and (coming or not filled.issuperset(going))):
        raise Refused(
            "LimitExceededException",
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        )


def _demand_global(after: Definition, name: str, action: str) -> IndexDefinition:
    for index in after.indexes:
        if index.name != name:
            continue
        if not index.is_global:
            raise Validation(f"Cannot {action} an index that is not a GlobalSecondaryIndex: {name}")
        return index
    raise Refused(
        "ResourceNotFoundException", f"Requested resource not found: Index {name} for table {after.name}"
    )


def _create(after: Definition, entry: dict[str, Any], definitions: list[dict[str, str]] | None) -> None:
    name = entry["IndexName"]
    if any(index.name == name for index in after.indexes):
        raise Validation("Attempting to create an index which already exists")
    if sum(index.is_global for index in after.indexes) >= GLOBAL_INDEXES_MAX:
        raise Refused(
            "LimitExceededException",
            f"Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of "
            f"{GLOBAL_INDEXES_MAX}",
        )
    if definitions is None:
        raise Validation(f"{_INVALID}AttributeDefinitions is not specified for index: {name}")
    attributes = read_attributes(definitions, entry["KeySchema"])
    hash_part, range_part = read_key_schema(entry["KeySchema"], attributes)
    index = define_index(entry, after.next_index_number, hash_part, range_part, is_global=True)
    _define_attributes(after, index)
    index.status = "CREATING"
    index.added_later = True
    index.read_units, index.write_units = _units(entry, after.billing_mode)
    settings.demand_limits(entry.get("OnDemandThroughput"), after.billing_mode, f"index : {name}")
    index.on_demand_limits = entry.get("OnDemandThroughput") or None
    settings.warm_up(index, entry.get("WarmThroughput"), after.billing_mode)
    after.indexes.append(index)
    after.next_index_number += 1
    demand_few_projected(after.indexes)


def _units(entry: dict[str, Any], billing: str) -> tuple[int, int]:
    throughput, name = entry.get("ProvisionedThroughput"), entry["IndexName"]
    if billing == "PAY_PER_REQUEST":
        if throughput is not None:
            raise Validation(
                f"{_INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {name} when "
                f"BillingMode is PAY_PER_REQUEST"
            )
        return 0, 0
    if throughput is None:
        raise Validation(
            f"{_INVALID}Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {name}"
        )
    _demand_bounds(throughput)
    return throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]


def _change(after: Definition, index: IndexDefinition, entry: dict[str, Any], now: float) -> None:
    throughput, limits, warm = (
        entry.get(name) for name in ("ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput")
    )
    on_demand = after.billing_mode == "PAY_PER_REQUEST"
    if on_demand and (throughput is not None or not (limits or warm)):
        raise Validation(
            f"{_INVALID}The only Updates for index: {index.name} when TableThroughputMode is PAY_PER_REQUEST can be "
            f"to OnDemandThroughput, WarmThroughput"
        )
    if not on_demand and throughput is None and not (limits or warm):
        raise Validation(
            f"{_INVALID}Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {index.name}"
        )
    if throughput is not None:
        _demand_bounds(throughput)
        settings.change_units(index, throughput, now)
    if limits:
        settings.demand_limits(limits, after.billing_mode, f"index : {index.name}", lowest=settings.NO_LIMIT)
        index.on_demand_limits = settings.merge_limits(index.on_demand_limits, limits)
    if warm:
        settings.warm_further(index, warm, after.billing_mode)


def _demand_bounds(throughput: dict[str, Any]) -> None:
    if max(throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]) > settings.UNITS_MAX:
        raise Validation(
            "This operation cannot be performed with given input values. Please contact DynamoDB service team for "
            "more info: Action Blocked: IndexUpdate"
        )


def _define_attributes(after: Definition, index: IndexDefinition) -> None:
    """Notes the types of a new index' attributes, which must be those that other keys give them."""
    known = {part.name: part for part in after.attributes}
    for part in _parts(index):
        if known.setdefault(part.name, part) != part:
            raise Validation(
                f"{_INVALID}Attribute {part.name} is defined as {known[part.name].kind} by other keys of the table, "
                f"but as {part.kind} for index: {index.name}"
            )
    after.attributes = list(known.values())


def _forget_attributes(after: Definition) -> None:
    """Attributes that are in no key any more are of any type from now on."""
    used = {part.name for part in (after.hash, after.range) if part is not None}
    used |= {part.name for index in after.indexes for part in _parts(index)}
    after.attributes = [part for part in after.attributes if part.name in used]


def _parts(index: IndexDefinition) -> list[KeyPart]:
    return [part for part in (index.hash, index.range) if part is not None]
