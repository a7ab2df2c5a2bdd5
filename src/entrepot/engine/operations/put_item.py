"""PutItem: an item replaces the one with its key, or is new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entrepot.engine.actions import ITEM_TOO_LARGE, Put
from entrepot.engine.errors import Validation
from entrepot.engine.operations import fields
from entrepot.engine.operations.operation import Operation
from entrepot.engine.operations.writing import (
    answer_for,
    carry_out,
    check_forms,
    collection_metrics,
    placeholders_of,
    read_condition,
    shows_old_on_failure,
    table_for_item,
)
from entrepot.engine.shapes import Record, Text
from entrepot.engine.values import ITEM_BYTES_MAX, item_size
from entrepot.engine.values.kinds import admit

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

SHAPE = Record(
    "PutItemInput",
    {
        "ReturnConsumedCapacity": fields.RETURN_CONSUMED,
        "TableName": fields.TABLE_NAME,
        "Item": fields.REQUIRED_VALUES,
        "ConditionalOperator": fields.CONDITIONAL_OPERATOR,
        "Expected": fields.EXPECTED,
        "ReturnValues": Text(words=("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW")),
        "ReturnItemCollectionMetrics": fields.RETURN_METRICS,
        "ConditionExpression": fields.TEXT,
        "ExpressionAttributeValues": fields.VALUES,
        "ExpressionAttributeNames": fields.NAMES,
        "ReturnValuesOnConditionCheckFailure": fields.RETURN_ON_FAILURE,
    },
)


async def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    condition = None
    if len(request) > 2:
        condition = _read_options(request)
    action = Put(
        table_for_item(engine, request["TableName"], request["Item"]),
        request["Item"],
        condition,
        shows_old_on_failure=shows_old_on_failure(request),
    )
    change = await carry_out(engine, action)
    if len(request) == 2:
        return {}
    answer = answer_for(request, change)
    if request.get("ReturnValues") == "ALL_OLD" and change.found is not None:
        answer["Attributes"] = change.found.item
    return answer | collection_metrics(engine, request, change.table, change)


def _read_options(request: dict[str, Any]) -> Any:
    check_forms(request, ("ConditionExpression",), ("Expected", "ConditionalOperator"))
    item = admit(request["Item"])
    if request.get("ReturnValues") not in (None, "ALL_OLD", "NONE"):
        raise Validation("ReturnValues can only be ALL_OLD or NONE")
    if "ConditionExpression" not in request and "Expected" not in request:
        return None
    if item_size(item) > ITEM_BYTES_MAX:
        raise Validation(ITEM_TOO_LARGE)
    placeholders = placeholders_of(request)
    condition = read_condition(request, placeholders)
    placeholders.finish()
    return condition


OPERATION = Operation("PutItem", SHAPE, run)
