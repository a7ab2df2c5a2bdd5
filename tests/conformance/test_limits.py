"""The limits: item size, expression sizes, and how many operators, names and values an expression may have."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

ITEM_BYTES_MAX = 400 * 1024
EXPRESSION_BYTES_MAX = 4096
TOO_LARGE = "Item size has exceeded the maximum allowed size"


def of_size(size: int, key: str) -> dict[str, Any]:
    """An item of exactly that size: names and values count their UTF-8 bytes."""
    return {"a": {"S": key}, "v": {"S": "x" * (size - len("a") - len(key) - len("v"))}}


def test_an_item_may_have_400_kb(dynamo: Dynamo) -> None:
    item = of_size(ITEM_BYTES_MAX, dynamo.unique())
    dynamo.put(dynamo.table("hash"), **item)
    assert dynamo.get(dynamo.table("hash"), a=item["a"]) == item


def test_one_byte_more_is_refused_before_the_table_is_looked_for(dynamo: Dynamo) -> None:
    request = {"TableName": "no-such-table", "Item": of_size(ITEM_BYTES_MAX + 1, "x")}
    dynamo.invalid("PutItem", request, TOO_LARGE)


def test_characters_count_their_bytes(dynamo: Dynamo) -> None:
    item = {"a": {"S": "x"}, "v": {"S": "é" * (ITEM_BYTES_MAX // 2)}}
    dynamo.invalid("PutItem", {"TableName": dynamo.table("hash"), "Item": item}, TOO_LARGE)


def test_names_count(dynamo: Dynamo) -> None:
    item = of_size(ITEM_BYTES_MAX - 10, "x") | {"n" * 11: {"S": ""}}
    dynamo.invalid("PutItem", {"TableName": dynamo.table("hash"), "Item": item}, TOO_LARGE)


def test_lists_and_maps_weigh_three_bytes_and_one_a_member(dynamo: Dynamo) -> None:
    # "l" + 3 + (1 + 1) + (1 + 1) for a list of two one-letter strings.
    spare = len("l") + 3 + 2 * (1 + 1)
    fits = of_size(ITEM_BYTES_MAX - spare, dynamo.unique()) | {"l": {"L": [{"S": "1"}, {"S": "2"}]}}
    dynamo.put(dynamo.table("hash"), **fits)
    more = of_size(ITEM_BYTES_MAX - spare + 1, dynamo.unique()) | {"l": {"L": [{"S": "1"}, {"S": "2"}]}}
    dynamo.invalid("PutItem", {"TableName": dynamo.table("hash"), "Item": more}, TOO_LARGE)


def test_an_update_does_not_grow_an_item_beyond(dynamo: Dynamo) -> None:
    item = dynamo.put(dynamo.table("hash"), **of_size(ITEM_BYTES_MAX - 10, dynamo.unique()))
    request = {
        "TableName": dynamo.table("hash"),
        "Key": {"a": item["a"]},
        "UpdateExpression": "SET w = :w",
        "ExpressionAttributeValues": {":w": {"S": "x" * 10}},
    }
    dynamo.invalid("UpdateItem", request, "Item size to update has exceeded the maximum allowed size")
    assert dynamo.get(dynamo.table("hash"), a=item["a"]) == item


EXCEEDED = "Expression size has exceeded the maximum allowed size;"


def padded(expression: str, size: int) -> str:
    return expression + " " * (size - len(expression))


@pytest.mark.parametrize(
    ("operation", "member", "expression", "rest"),
    [
        ("PutItem", "ConditionExpression", "attribute_exists(b)", {"Item": {"a": {"S": "x"}}}),
        ("UpdateItem", "UpdateExpression", "REMOVE b", {"Key": {"a": {"S": "x"}}}),
        ("DeleteItem", "ConditionExpression", "attribute_exists(b)", {"Key": {"a": {"S": "x"}}}),
        ("GetItem", "ProjectionExpression", "b", {"Key": {"a": {"S": "x"}}}),
        ("Scan", "FilterExpression", "attribute_exists(b)", {}),
        ("Query", "KeyConditionExpression", "a = :a", {"ExpressionAttributeValues": {":a": {"S": "x"}}}),
    ],
)
def test_expressions_have_4_kb(
    dynamo: Dynamo, operation: str, member: str, expression: str, rest: dict[str, Any]
) -> None:
    size = EXPRESSION_BYTES_MAX
    request = {"TableName": "no-such-table", **rest, member: padded(expression, size)}
    dynamo.refuses(operation, request, "ResourceNotFoundException")
    request[member] = padded(expression, size + 1)
    # Some regions tell the size too.
    message = f"Invalid {member}: {EXCEEDED}"
    dynamo.invalid(operation, request, message, f"{message} expression size: {size + 1}")


def test_a_condition_has_at_most_300_operators(dynamo: Dynamo) -> None:
    request = {
        "TableName": dynamo.table("hash"),
        "Key": {"a": {"S": "x"}},
        "ExpressionAttributeValues": {":v": {"N": "1"}},
    }
    many = " OR ".join(["n=:v"] * 151)
    dynamo.invalid(
        "DeleteItem",
        {**request, "ConditionExpression": many},
        "Invalid ConditionExpression: The expression contains too many operators; operator count: 301",
    )


def test_in_takes_at_most_100_operands(dynamo: Dynamo) -> None:
    def request(count: int) -> dict[str, Any]:
        names = [f":{i}" for i in range(count)]
        return {
            "TableName": dynamo.table("hash"),
            "Key": {"a": {"S": dynamo.unique()}},
            "ConditionExpression": f"n IN ({','.join(names)})",
            "ExpressionAttributeValues": {name: {"N": name[1:]} for name in names},
        }

    dynamo.refuses("DeleteItem", request(100), "ConditionalCheckFailedException")
    dynamo.invalid(
        "DeleteItem",
        request(101),
        "Invalid ConditionExpression: The IN operator is provided with too many operands; number of operands: 101",
    )
