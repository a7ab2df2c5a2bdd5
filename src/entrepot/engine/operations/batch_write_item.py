"""BatchWriteItem: up to twenty-five puts and deletes, each on its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from entrepot.engine.actions import ITEM_TOO_LARGE, Action, Change, Delete, Put
from entrepot.engine.capacity import Consumed
from entrepot.engine.errors import Throttled, Validation
from entrepot.engine.operations import fields
from entrepot.engine.operations.operation import Operation
from entrepot.engine.operations.reading import admit_key
from entrepot.engine.operations.writing import collections_of, submit
from entrepot.engine.schema import NO_MATCH, Table
from entrepot.engine.shapes import ListOf, MapOf, Record, Text
from entrepot.engine.values import ITEM_BYTES_MAX, Item, item_size
from entrepot.engine.values.kinds import admit

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

ACTIONS_MAX = 25

SHAPE = Record(
    "BatchWriteItemInput",
    {
        "ReturnConsumedCapacity": fields.RETURN_CONSUMED,
        "ReturnItemCollectionMetrics": fields.RETURN_METRICS,
        "RequestItems": MapOf(
            ListOf(
                Record(
                    "WriteRequest",
                    {
                        "DeleteRequest": Record("DeleteRequest", {"Key": fields.REQUIRED_VALUES}),
                        "PutRequest": Record("PutRequest", {"Item": fields.REQUIRED_VALUES}),
                    },
                    field=False,
                )
            ),
            "java.util.List<com.amazonaws.dynamodb.v20120810.WriteRequest>",
            required=True,
            shortest=1,
            longest=25,
            lengths=(1, ACTIONS_MAX),
            keys=Text(longest=255, shortest=3, pattern=r"[a-zA-Z0-9_.-]+"),
        ),
    },
)


async def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    wanted: dict[str, list[dict[str, Any]]] = request["RequestItems"]
    for entries in wanted.values():
        for entry in entries:
            _demand_one(entry)
    if sum(len(entries) for entries in wanted.values()) > ACTIONS_MAX:
        raise Validation("Too many items requested for the BatchWriteItem call")
    actions = [action for name, entries in wanted.items() for action in _actions(engine.table(name), entries)]
    left: set[int] = set()
    if engine.chaos is not None:
        for table in {action.table.name: action.table for action in actions}.values():
            engine.chaos.refuse(table, writing=True, batch=True)
        left = engine.chaos.left_over([action.table for action in actions])
    changes = await _carry_out(engine, actions, left)
    answer: dict[str, Any] = {"UnprocessedItems": _left_entries(wanted, left) if left else {}}
    capacity = request.get("ReturnConsumedCapacity", "NONE")
    if capacity != "NONE":
        consumed: dict[str, Consumed] = {}
        for change in changes:
            change.consumed(consumed.setdefault(change.table.name, Consumed(change.table)))
        answer["ConsumedCapacity"] = [each.answer(capacity) for each in consumed.values()]
    if request.get("ReturnItemCollectionMetrics") == "SIZE":
        answer["ItemCollectionMetrics"] = collections_of(
            engine,
            ((engine.table(name), _item_of(entry)) for name, entries in wanted.items() for entry in entries),
        )
    return answer


async def _carry_out(engine: Engine, actions: list[Action], left: set[int]) -> list[Change]:
    """Carries out all but what is left over; what is throttled is left over too."""
    numbers = [number for number in range(len(actions)) if number not in left]
    outcomes = await asyncio.gather(
        *(submit(engine, actions[number]) for number in numbers), return_exceptions=True
    )
    changes: list[Change] = []
    for number, outcome in zip(numbers, outcomes, strict=True):
        if isinstance(outcome, Throttled):
            left.add(number)
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            changes.append(outcome)
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Throttled)]
    if refusals and not changes:
        raise refusals[0]
    return changes


def _left_entries(wanted: dict[str, list[dict[str, Any]]], left: set[int]) -> dict[str, list[dict[str, Any]]]:
    """The entries with these numbers, as the request had them."""
    unprocessed: dict[str, list[dict[str, Any]]] = {}
    named = [(name, entry) for name, entries in wanted.items() for entry in entries]
    for number in sorted(left):
        name, entry = named[number]
        unprocessed.setdefault(name, []).append(entry)
    return unprocessed


def _demand_one(entry: dict[str, Any]) -> None:
    """An entry is a put or a delete, of valid attribute values."""
    if len(entry) != 1:
        raise Validation(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported "
            "datatypes"
        )
    if "PutRequest" in entry:
        item = admit(entry["PutRequest"]["Item"])
        if item_size(item) > ITEM_BYTES_MAX:
            raise Validation(ITEM_TOO_LARGE)
    else:
        admit(entry["DeleteRequest"]["Key"])


def _item_of(entry: dict[str, Any]) -> Item:
    item: Item = entry["PutRequest"]["Item"] if "PutRequest" in entry else entry["DeleteRequest"]["Key"]
    return item


def _actions(table: Table, entries: list[dict[str, Any]]) -> list[Action]:
    actions: list[Action] = []
    for entry in entries:
        if "PutRequest" in entry:
            actions.append(_put(table, entry["PutRequest"]["Item"]))
        else:
            key = admit_key(entry["DeleteRequest"]["Key"])
            actions.append(Delete(table, table.demand_key(key)))
    if len({action.key for action in actions}) != len(actions):
        raise Validation("Provided list of item keys contains duplicates")
    return actions


def _put(table: Table, item: Item) -> Put:
    try:
        return Put(table, item)
    except Validation as error:
        if "Missing the key" in error.message or "Type mismatch for key" in error.message:
            raise Validation(NO_MATCH) from None
        raise


OPERATION = Operation("BatchWriteItem", SHAPE, run)
