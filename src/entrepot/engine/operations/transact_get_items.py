"""TransactGetItems: up to a hundred items as they were at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entrepot.engine.capacity import Consumed, read_units
from entrepot.engine.errors import Reason, Throttled, TransactionCanceled, Validation
from entrepot.engine.heat import Heat
from entrepot.engine.operations import fields
from entrepot.engine.operations.operation import Operation
from entrepot.engine.operations.reading import Project, admit_key, read_projection
from entrepot.engine.schema import Table
from entrepot.engine.shapes import ListOf, Record
from entrepot.engine.throttling import reason_of
from entrepot.engine.values import Item, image

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

ACTIONS_MAX = 100
ANSWER_BYTES_MAX = 4 * 1024 * 1024

SHAPE = Record(
    "TransactGetItemsInput",
    {
        "TransactItems": ListOf(
            Record(
                "TransactGetItem",
                {
                    "Get": Record(
                        "Get",
                        {
                            "Key": fields.REQUIRED_VALUES,
                            "TableName": fields.TABLE_NAME,
                            "ProjectionExpression": fields.TEXT,
                            "ExpressionAttributeNames": fields.NAMES,
                        },
                        required=True,
                    )
                },
                field=False,
            ),
            required=True,
            shortest=1,
            longest=ACTIONS_MAX,
        ),
        "ReturnConsumedCapacity": fields.RETURN_CONSUMED,
    },
)


def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    gets = [entry["Get"] for entry in request["TransactItems"]]
    reads = [(get, read_projection(get), admit_key(get["Key"])) for get in gets]
    planned = _plan(engine, reads)
    keys = [key for _, _, key in reads]
    demand_distinct([(table.name, key) for table, key, _ in planned])
    if engine.chaos is not None:
        engine.chaos.cancel([table for table, _, _ in planned], writing=False)
    if engine.heat is not None:
        _demand_room(engine.heat, planned, keys)
    found = _read_at_once(engine, [(table, key) for table, key, _ in planned])
    if engine.heat is not None:
        for (size, _), (table, _, _), key in zip(found, planned, keys, strict=True):
            engine.heat.read(table, None, key[table.hash.name], size, consistent=True, factor=2)
    if sum(size for size, _ in found) > ANSWER_BYTES_MAX:
        raise Validation("Transaction payload size exceeds 4 MB limit")
    responses = [
        {} if item is None else {"Item": item if project is None else project(item)}
        for (_, item), (_, _, project) in zip(found, planned, strict=True)
    ]
    answer: dict[str, Any] = {"Responses": responses}
    wanted = request.get("ReturnConsumedCapacity", "NONE")
    if wanted != "NONE":
        consumed: dict[str, Consumed] = {}
        for (size, _), (table, _, _) in zip(found, planned, strict=True):
            units = 2 * read_units(size, consistent=True)
            consumed.setdefault(table.name, Consumed(table)).read(units)
        answer["ConsumedCapacity"] = [each.answer(wanted, transaction=True) for each in consumed.values()]
    return answer


def _plan(
    engine: Engine, reads: list[tuple[dict[str, Any], Project | None, Item]]
) -> list[tuple[Table, bytes, Project | None]]:
    planned: list[tuple[Table, bytes, Project | None]] = []
    reasons: list[Reason] = []
    for get, project, key in reads:
        table = engine.table(get["TableName"])
        try:
            planned.append((table, table.demand_key(key), project))
            reasons.append(Reason())
        except Validation as error:
            reasons.append(Reason("ValidationError", error.message))
    if len(planned) != len(reads):
        raise TransactionCanceled(reasons)
    return planned


def _demand_room(heat: Heat, planned: list[tuple[Table, bytes, Project | None]], keys: list[Item]) -> None:
    reasons: list[Reason] = []
    for (table, _, _), key in zip(planned, keys, strict=True):
        try:
            heat.demand_read_room(table, None, key[table.hash.name])
            reasons.append(Reason())
        except Throttled as error:
            reasons.append(reason_of(error))
    if any(reason.code != "None" for reason in reasons):
        raise TransactionCanceled(reasons)


def demand_distinct(targets: list[tuple[str, bytes]]) -> None:
    """A transaction may name each item once."""
    if len(set(targets)) != len(targets):
        raise Validation("Transaction request cannot include multiple operations on one item")


def _read_at_once(engine: Engine, targets: list[tuple[Table, bytes]]) -> list[tuple[int, Item | None]]:
    """All items from one snapshot; nothing is awaited while it is open."""
    engine.read("BEGIN")
    try:
        rows = [engine.read_item(table, key, consistent=True) for table, key in targets]
    finally:
        engine.read("COMMIT")
    return [(0, None) if row is None else (row[0], image.decode(row[1])) for row in rows]


OPERATION = Operation("TransactGetItems", SHAPE, run, answers_at_once=True)
