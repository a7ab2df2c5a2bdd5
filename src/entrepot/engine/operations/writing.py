"""What the writing operations have in common: conditions, and what they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from entrepot.engine.actions import ITEM_TOO_LARGE, Action, Change, Condition
from entrepot.engine.capacity import Consumed
from entrepot.engine.errors import Refused, Validation
from entrepot.engine.expressions import Placeholders
from entrepot.engine.keys import partition
from entrepot.engine.legacy import check_mixing, condition_of_expected
from entrepot.engine.schema import Table
from entrepot.engine.storage import Transaction
from entrepot.engine.values import ITEM_BYTES_MAX, Item, prepare

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

GIBIBYTE = 1024**3


def read_condition(request: dict[str, Any], placeholders: Placeholders) -> Condition | None:
    """The condition of a write in either form."""
    text = request.get("ConditionExpression")
    if text is not None:
        return placeholders.condition(text, "ConditionExpression")
    expected = request.get("Expected")
    if expected is not None:
        return condition_of_expected(expected, request.get("ConditionalOperator"))
    return None


def table_for_item(engine: Engine, name: str, item: Item) -> Table:
    """The table that an item is for; where there is none, what is wrong with the item is told first."""
    try:
        return engine.table(name)
    except Refused:
        demand_item(item)
        raise


def demand_item(item: Item) -> None:
    """Raises what is wrong with an item whatever its table."""
    if prepare(item)[1] > ITEM_BYTES_MAX:
        raise Validation(ITEM_TOO_LARGE)


def placeholders_of(request: dict[str, Any]) -> Placeholders:
    return Placeholders(request.get("ExpressionAttributeNames"), request.get("ExpressionAttributeValues"))


def check_forms(request: dict[str, Any], expressions: Sequence[str], legacy: Sequence[str]) -> None:
    check_mixing(request, expressions=expressions, legacy=legacy)


def shows_old_on_failure(request: dict[str, Any]) -> bool:
    return request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"


async def carry_out(engine: Engine, action: Action) -> Change:
    """Decides and keeps one action, in its turn, durably."""
    if engine.chaos is not None:
        engine.chaos.refuse(action.table, writing=True)
    change: Change = await submit(engine, action)
    return change


def submit(engine: Engine, action: Action) -> asyncio.Future[Change]:
    """Queues one action; the future is done when it is durable, or refused."""
    catalog = engine.catalog

    def work(transaction: Transaction) -> Change:
        change = action.decide(transaction, catalog.in_step(action.table))
        if engine.heat is not None:
            engine.heat.write(change)
        change.keep(transaction)
        return change

    return engine.writer.submit(work)


def answer_for(request: dict[str, Any], change: Change) -> dict[str, Any]:
    """Capacity and collection metrics of a write, where asked for."""
    answer: dict[str, Any] = {}
    wanted = request.get("ReturnConsumedCapacity", "NONE")
    if wanted != "NONE":
        consumed = Consumed(change.table)
        change.consumed(consumed)
        answer["ConsumedCapacity"] = consumed.answer(wanted)
    return answer


def collection_metrics(
    engine: Engine, request: dict[str, Any], table: Table, change: Change
) -> dict[str, Any]:
    """ItemCollectionMetrics of a table with local indexes: the key, and the size of all its items."""
    if request.get("ReturnItemCollectionMetrics") != "SIZE" or not table.has_local_indexes:
        return {}
    item = request["Item"] if "Item" in request else request["Key"]
    return {"ItemCollectionMetrics": measure_collection(engine, table, item)}


def collections_of(engine: Engine, written: Iterable[tuple[Table, Item]]) -> dict[str, list[dict[str, Any]]]:
    """The collections that several writes touched, by table, each once; items may be bare keys."""
    found: dict[tuple[str, bytes], dict[str, Any]] = {}
    for table, item in written:
        if table.has_local_indexes:
            place = (table.name, partition(table.hash.kind, item[table.hash.name]))
            if place not in found:
                found[place] = measure_collection(engine, table, item)
    metrics: dict[str, list[dict[str, Any]]] = {}
    for (name, _), measured in found.items():
        metrics.setdefault(name, []).append(measured)
    return metrics


def measure_collection(engine: Engine, table: Table, item: dict[str, Any]) -> dict[str, Any]:
    value = item[table.hash.name]
    size = engine.collection_bytes(table, value) / GIBIBYTE
    return {"ItemCollectionKey": {table.hash.name: value}, "SizeEstimateRangeGB": [int(size), int(size) + 1]}
