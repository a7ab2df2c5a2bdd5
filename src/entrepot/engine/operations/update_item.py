"""UpdateItem: attributes of an item change; an item that is not there is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entrepot.engine.actions import Change, Edit
from entrepot.engine.errors import Validation
from entrepot.engine.expressions import Placeholders, Update
from entrepot.engine.legacy import update_of
from entrepot.engine.operations import fields
from entrepot.engine.operations.operation import Operation
from entrepot.engine.operations.reading import admit_key, demand_scalar_keys
from entrepot.engine.operations.writing import (
    answer_for,
    carry_out,
    check_forms,
    collection_metrics,
    placeholders_of,
    read_condition,
    shows_old_on_failure,
)
from entrepot.engine.schema import Table
from entrepot.engine.shapes import Attribute, MapOf, Record, Text
from entrepot.engine.values import Item

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

SHAPE = Record(
    "UpdateItemInput",
    {
        "TableName": fields.TABLE_NAME,
        "Key": fields.REQUIRED_VALUES,
        "AttributeUpdates": MapOf(
            Record(
                "AttributeValueUpdate",
                {"Action": Text(words=("ADD", "PUT", "DELETE")), "Value": Attribute(field=True)},
                field=False,
            ),
            "AttributeValueUpdate",
        ),
        "Expected": fields.EXPECTED,
        "ConditionalOperator": fields.CONDITIONAL_OPERATOR,
        "ReturnValues": Text(words=("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW")),
        "ReturnConsumedCapacity": fields.RETURN_CONSUMED,
        "ReturnItemCollectionMetrics": fields.RETURN_METRICS,
        "UpdateExpression": fields.TEXT,
        "ConditionExpression": fields.TEXT,
        "ExpressionAttributeNames": fields.NAMES,
        "ExpressionAttributeValues": fields.VALUES,
        "ReturnValuesOnConditionCheckFailure": fields.RETURN_ON_FAILURE,
    },
)


async def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    check_forms(
        request,
        ("UpdateExpression", "ConditionExpression"),
        ("AttributeUpdates", "Expected", "ConditionalOperator"),
    )
    key = admit_key(request["Key"])
    placeholders = placeholders_of(request)
    update = _read_update(request, placeholders)
    condition = read_condition(request, placeholders)
    placeholders.finish()
    table = engine.table(request["TableName"])
    key_bytes = table.demand_key(key)
    if update is not None:
        demand_keys_untouched(table, update)
        if update.nested:
            demand_scalar_keys(table, update.nested)
    action = Edit(
        table, key_bytes, key, update, condition, shows_old_on_failure=shows_old_on_failure(request)
    )
    change = await carry_out(engine, action)
    answer = answer_for(request, change)
    attributes = _returned(request.get("ReturnValues", "NONE"), change, update)
    if attributes:
        answer["Attributes"] = attributes
    return answer | collection_metrics(engine, request, table, change)


def _read_update(request: dict[str, Any], placeholders: Placeholders) -> Update | None:
    text = request.get("UpdateExpression")
    if text is not None:
        return placeholders.update(text)
    updates = request.get("AttributeUpdates")
    return None if updates is None else update_of(updates)


def demand_keys_untouched(table: Table, update: Update) -> None:
    """An update may not touch an attribute of the table's own key."""
    for part in table.parts:
        if part.name in update.attributes:
            raise Validation(
                f"One or more parameter values were invalid: Cannot update attribute {part.name}. "
                f"This attribute is part of the key"
            )


def _returned(wanted: str, change: Change, update: Update | None) -> Item | None:
    if wanted == "ALL_OLD":
        return change.old
    if wanted == "ALL_NEW":
        return change.new
    if update is None:
        return None
    if wanted == "UPDATED_OLD" and change.old is not None:
        return update.changed(change.old)
    if wanted == "UPDATED_NEW" and change.new is not None:
        return update.changed(change.new)
    return None


OPERATION = Operation("UpdateItem", SHAPE, run)
