"""Where attribute values stand in the answers, and their translation into DynamoDB JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from entrepot.engine.values import item_to_wire

Translate = Callable[[Any], Any]


def _items(items: list[Any]) -> list[Any]:
    return [item_to_wire(item) for item in items]


def _metrics(metrics: dict[str, Any]) -> dict[str, Any]:
    return {**metrics, "ItemCollectionKey": item_to_wire(metrics["ItemCollectionKey"])}


def _metrics_by_table(metrics: dict[str, list[Any]]) -> dict[str, Any]:
    return {table: [_metrics(each) for each in listed] for table, listed in metrics.items()}


def _items_by_table(responses: dict[str, list[Any]]) -> dict[str, Any]:
    return {table: _items(items) for table, items in responses.items()}


def _unprocessed_keys(unprocessed: dict[str, Any]) -> dict[str, Any]:
    return {table: {**wanted, "Keys": _items(wanted["Keys"])} for table, wanted in unprocessed.items()}


def _unprocessed_items(unprocessed: dict[str, list[Any]]) -> dict[str, Any]:
    return {
        table: [
            {
                kind: {name: item_to_wire(item) for name, item in wanted.items()}
                for kind, wanted in entry.items()
            }
            for entry in entries
        ]
        for table, entries in unprocessed.items()
    }


def _transacted(responses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"Item": item_to_wire(each["Item"])} if "Item" in each else {} for each in responses]


_WRITE: dict[str, Translate] = {"Attributes": item_to_wire, "ItemCollectionMetrics": _metrics}
_LIST: dict[str, Translate] = {"Items": _items, "LastEvaluatedKey": item_to_wire}

ANSWERS: dict[str, dict[str, Translate]] = {
    "GetItem": {"Item": item_to_wire},
    "PutItem": _WRITE,
    "UpdateItem": _WRITE,
    "DeleteItem": _WRITE,
    "Query": _LIST,
    "Scan": _LIST,
    "BatchGetItem": {"Responses": _items_by_table, "UnprocessedKeys": _unprocessed_keys},
    "BatchWriteItem": {"UnprocessedItems": _unprocessed_items, "ItemCollectionMetrics": _metrics_by_table},
    "TransactGetItems": {"Responses": _transacted},
    "TransactWriteItems": {"ItemCollectionMetrics": _metrics_by_table},
}


def as_wire(answer: dict[str, Any], fields: dict[str, Translate]) -> dict[str, Any]:
    """An answer of the engine as it goes over the wire."""
    for name, translate in fields.items():
        if name in answer:
            answer[name] = translate(answer[name])
    return answer
