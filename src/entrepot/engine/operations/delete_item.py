"""DeleteItem: an item is removed, if it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entrepot.engine.actions import Delete
from entrepot.engine.errors import Validation
from entrepot.engine.operations import fields
from entrepot.engine.operations.operation import Operation
from entrepot.engine.operations.reading import admit_key
from entrepot.engine.operations.writing import (
    answer_for,
    carry_out,
    check_forms,
    collection_metrics,
    placeholders_of,
    read_condition,
    shows_old_on_failure,
)
from entrepot.engine.shapes import Record, Text

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

SHAPE = Record(
    "DeleteItemInput",
    {
        "ReturnConsumedCapacity": fields.RETURN_CONSUMED,
        "TableName": fields.TABLE_NAME,
        "Key": fields.REQUIRED_VALUES,
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
    check_forms(request, ("ConditionExpression",), ("Expected", "ConditionalOperator"))
    key = admit_key(request["Key"])
    if request.get("ReturnValues") not in (None, "ALL_OLD", "NONE"):
        raise Validation("ReturnValues can only be ALL_OLD or NONE")
    placeholders = placeholders_of(request)
    condition = read_condition(request, placeholders)
    placeholders.finish()
    table = engine.table(request["TableName"])
    action = Delete(
        table, table.demand_key(key), condition, shows_old_on_failure=shows_old_on_failure(request)
    )
    change = await carry_out(engine, action)
    answer = answer_for(request, change)
    if request.get("ReturnValues") == "ALL_OLD" and change.found is not None:
        answer["Attributes"] = change.found.item
    return answer | collection_metrics(engine, request, table, change)


OPERATION = Operation("DeleteItem", SHAPE, run)
