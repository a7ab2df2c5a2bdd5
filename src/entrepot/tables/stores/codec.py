"""Requests to DynamoDB JSON and answers back: only the places where attribute values stand are touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from entrepot.engine import errors as dynamo
from entrepot.engine.values import from_wire, item_to_wire, number_from_text

Translate = Callable[[Any], Any]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

_THROTTLES = {
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "Throttling",
    "RequestLimitExceeded",
    "TooManyRequestsException",
}


def item_from_wire(item: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """An item that a server sent; text and numbers, which most are, by the shortest way."""
    native: dict[str, Any] = {}
    for name, attribute in item.items():
        if "S" in attribute:
            native[name] = attribute["S"]
        elif "N" in attribute:
            native[name] = number_from_text(attribute["N"])
        else:
            native[name] = from_wire(attribute)
    return native


def encode(request: dict[str, Any]) -> bytes:
    """A native request as the body to send."""
    return _encode(_translated(request, _REQUEST))


def decode(body: bytes) -> dict[str, Any]:
    """A body that came back, with native values."""
    answer: dict[str, Any] = _decode(body)
    return _translated(answer, _ANSWER)


def error_of(status: int, body: bytes) -> dynamo.DynamoError:
    """The error that an answer describes."""
    try:
        answer = _decode(body)
    except msgspec.DecodeError:
        answer = None
    if not isinstance(answer, dict) or "__type" not in answer:
        return _unexplained(status, body)
    kind = str(answer["__type"]).rpartition("#")[2]
    message = str(answer.get("message") or answer.get("Message") or "")
    if kind == "ConditionalCheckFailedException":
        item = answer.get("Item")
        return dynamo.ConditionFailed(item_from_wire(item) if item else None)
    if kind == "TransactionCanceledException":
        return dynamo.TransactionCanceled([_reason(reason) for reason in _reasons(answer, message)])
    if kind == "ValidationException":
        return dynamo.Validation(message)
    if kind == "SerializationException":
        return dynamo.Serialization(message)
    if kind in _THROTTLES:
        return dynamo.Throttled(message, kind)
    if kind in ("InternalServerError", "InternalFailure") or status >= 500:
        return dynamo.Internal(message)
    return dynamo.Refused(kind, message)


def _unexplained(status: int, body: bytes) -> dynamo.DynamoError:
    text = f"HTTP {status}: {body[:200].decode(errors='replace')}"
    if status == 429:
        return dynamo.Throttled(text)
    return dynamo.Internal(text) if status >= 500 else dynamo.Refused(f"HTTP{status}", text)


def _reasons(answer: dict[str, Any], message: str) -> list[dict[str, Any]]:
    given = answer.get("CancellationReasons")
    if given:
        return list(given)
    # Some servers say the codes in the message alone: "… [None, ConditionalCheckFailed]".
    codes = message.rpartition("[")[2].rstrip("]").split(",")
    return [{"Code": code.strip()} for code in codes]


def _reason(reason: dict[str, Any]) -> dynamo.Reason:
    item = reason.get("Item")
    return dynamo.Reason(
        reason.get("Code", "None"), reason.get("Message"), item_from_wire(item) if item else None
    )


def _translated(message: dict[str, Any], places: dict[str, Translate]) -> dict[str, Any]:
    return {
        name: places[name](value) if name in places and value is not None else value
        for name, value in message.items()
    }


def _items(translate: Translate) -> Translate:
    return lambda items: [translate(item) for item in items]


def _transact(actions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{kind: _translated(action, _REQUEST) for kind, action in entry.items()} for entry in actions]


def _batch(translate: Translate) -> Translate:
    """RequestItems and what was left of them: reads have Keys, writes have Item or Key."""

    def keys(wanted: dict[str, Any]) -> dict[str, Any]:
        return {**wanted, "Keys": [translate(key) for key in wanted["Keys"]]}

    def writes(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {kind: {name: translate(item) for name, item in write.items()} for kind, write in entry.items()}
            for entry in entries
        ]

    return lambda tables: {
        table: keys(wanted) if isinstance(wanted, dict) else writes(wanted)
        for table, wanted in tables.items()
    }


def _responses(responses: Any) -> Any:
    if isinstance(responses, dict):
        return {table: [item_from_wire(item) for item in items] for table, items in responses.items()}
    return [{"Item": item_from_wire(each["Item"])} if each.get("Item") else {} for each in responses]


def _records(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    images = ("Keys", "NewImage", "OldImage")
    return [
        {
            **record,
            "dynamodb": {
                name: item_from_wire(value) if name in images else value
                for name, value in record["dynamodb"].items()
            },
        }
        for record in records
    ]


_REQUEST: dict[str, Translate] = {
    "Key": item_to_wire,
    "Item": item_to_wire,
    "ExpressionAttributeValues": item_to_wire,
    "ExclusiveStartKey": item_to_wire,
    "RequestItems": _batch(item_to_wire),
    "TransactItems": _transact,
}
_ANSWER: dict[str, Translate] = {
    "Item": item_from_wire,
    "Attributes": item_from_wire,
    "Items": _items(item_from_wire),
    "LastEvaluatedKey": item_from_wire,
    "Responses": _responses,
    "UnprocessedItems": _batch(item_from_wire),
    "UnprocessedKeys": _batch(item_from_wire),
    "Records": _records,
}
