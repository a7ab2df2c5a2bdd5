"""GetItem: one item by its key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entrepot.engine.capacity import Consumed, read_units
from entrepot.engine.operations import fields
from entrepot.engine.operations.operation import Operation
from entrepot.engine.operations.reading import admit_key, demand_scalar_keys, read_projection
from entrepot.engine.shapes import Record
from entrepot.engine.values import image

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

SHAPE = Record(
    "GetItemInput",
    {
        "ReturnConsumedCapacity": fields.RETURN_CONSUMED,
        "AttributesToGet": fields.ATTRIBUTES_TO_GET,
        "TableName": fields.TABLE_NAME,
        "Key": fields.REQUIRED_VALUES,
        "ConsistentRead": fields.FLAG,
        "ProjectionExpression": fields.TEXT,
        "ExpressionAttributeNames": fields.NAMES,
    },
)


def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    project = None
    if len(request) > 2:
        project = read_projection(request, admit=("Key",))
    key = admit_key(request["Key"])
    table = engine.table(request["TableName"])
    if project is not None:
        demand_scalar_keys(table, getattr(project, "nested", ()))
    key_bytes = table.demand_key(key)
    consistent = request.get("ConsistentRead") is True
    if engine.chaos is not None:
        engine.chaos.refuse(table)
    if engine.heat is not None:
        engine.heat.demand_read_room(table, None, key[table.hash.name])
    row = engine.read_item(table, key_bytes, consistent=consistent)
    answer: dict[str, Any] = {}
    size = 0
    if row is not None:
        size, stored = row
        item = image.decode(stored)
        answer["Item"] = item if project is None else project(item)
    if engine.heat is not None:
        engine.heat.read(table, None, key[table.hash.name], size, consistent=consistent)
    wanted = request.get("ReturnConsumedCapacity", "NONE")
    if wanted != "NONE":
        consumed = Consumed(table)
        consumed.read(read_units(size, consistent=consistent))
        answer["ConsumedCapacity"] = consumed.answer(wanted)
    return answer


OPERATION = Operation("GetItem", SHAPE, run, answers_at_once=True)
