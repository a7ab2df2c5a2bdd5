"""DescribeTimeToLive: whether items of a table expire, and by which attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entrepot.engine.operations import fields
from entrepot.engine.operations.operation import Operation
from entrepot.engine.shapes import TableRecord

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

SHAPE = TableRecord("DescribeTimeToLiveInput", {"TableName": fields.TABLE_NAME})


def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    definition = engine.table_named(request["TableName"]).definition
    changing = definition.ttl_marked_to is not None
    if not definition.ttl_enabled:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLING" if changing else "DISABLED"}}
    return {
        "TimeToLiveDescription": {
            "TimeToLiveStatus": "ENABLING" if changing else "ENABLED",
            "AttributeName": definition.ttl_attribute,
        }
    }


OPERATION = Operation("DescribeTimeToLive", SHAPE, run, answers_at_once=True)
