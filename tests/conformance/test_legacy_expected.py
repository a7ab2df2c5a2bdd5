"""Expected and ConditionalOperator: the conditions of before expressions."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

Json = dict[str, Any]
INVALID = "One or more parameter values were invalid: "

ITEM: Json = {
    "n": {"N": "5"},
    "s": {"S": "text"},
    "ss": {"SS": ["p", "q"]},
    "ns": {"NS": ["1", "2"]},
    "z": {"NULL": True},
    "l": {"L": [{"S": "x"}]},
}


@pytest.fixture(scope="session")
def key(dynamo: Dynamo) -> Json:
    key = {"a": {"S": dynamo.unique("expected")}}
    dynamo.put(dynamo.table("hash"), **key, **ITEM)
    return key


def op(operator: str, *values: Json) -> Json:
    condition: Json = {"ComparisonOperator": operator}
    if values:
        condition["AttributeValueList"] = list(values)
    return condition


def expected(dynamo: Dynamo, key: Json, conditions: Json, **rest: Any) -> Json:
    """A put of the item as it is, under conditions."""
    return {"TableName": dynamo.table("hash"), "Item": {**key, **ITEM}, "Expected": conditions, **rest}


HOLDS: list[Json] = [
    {"n": {"Value": {"N": "5.0"}}},
    {"n": {"Value": {"N": "5"}, "Exists": True}},
    {"nothing": {"Exists": False}},
    {"n": {"Value": {"N": "6"}, "ComparisonOperator": "LT"}},
    {"n": op("EQ", {"N": "5"})},
    {"ss": op("EQ", {"SS": ["q", "p"]})},
    {"n": op("NE", {"N": "6"})},
    {"n": op("NE", {"S": "5"})},
    {"n": op("LE", {"N": "5"})},
    {"n": op("LT", {"N": "10"})},
    {"n": op("GE", {"N": "5"})},
    {"n": op("GT", {"N": "4"})},
    {"n": op("BETWEEN", {"N": "4"}, {"N": "5"})},
    {"n": op("IN", {"N": "4"}, {"N": "5"})},
    {"n": op("NOT_NULL")},
    {"z": op("NOT_NULL")},
    {"nothing": op("NULL")},
    {"s": op("BEGINS_WITH", {"S": "te"})},
    {"s": op("CONTAINS", {"S": "ex"})},
    {"ss": op("CONTAINS", {"S": "p"})},
    {"ns": op("CONTAINS", {"N": "2"})},
    {"l": op("CONTAINS", {"S": "x"})},
    {"ss": op("NOT_CONTAINS", {"S": "z"})},
    {"s": op("NOT_CONTAINS", {"S": "z"})},
    {"n": op("EQ", {"N": "5"}), "s": op("EQ", {"S": "text"})},
]
FAILS: list[Json] = [
    {"n": {"Value": {"N": "6"}}},
    {"n": {"Value": {"S": "5"}}},
    {"n": {"Exists": False}},
    {"nothing": {"Value": {"N": "6"}}},
    {"n": op("EQ", {"S": "5"})},
    {"n": op("NE", {"N": "5"})},
    {"n": op("LT", {"N": "5"})},
    {"n": op("LT", {"S": "9"})},
    {"n": op("GT", {"N": "5"})},
    {"n": op("BETWEEN", {"N": "6"}, {"N": "7"})},
    {"n": op("IN", {"N": "4"}, {"N": "6"})},
    {"n": op("NULL")},
    {"nothing": op("NOT_NULL")},
    {"s": op("BEGINS_WITH", {"S": "ex"})},
    {"s": op("CONTAINS", {"S": "z"})},
    {"ss": op("NOT_CONTAINS", {"S": "p"})},
    {"n": op("EQ", {"N": "5"}), "s": op("EQ", {"S": "other"})},
]


@pytest.mark.parametrize("conditions", HOLDS)
def test_holds(dynamo: Dynamo, key: Json, conditions: Json) -> None:
    assert dynamo.call("PutItem", expected(dynamo, key, conditions)) == {}


@pytest.mark.parametrize("conditions", FAILS)
def test_fails(dynamo: Dynamo, key: Json, conditions: Json) -> None:
    request = expected(dynamo, key, conditions)
    dynamo.refuses("PutItem", request, "ConditionalCheckFailedException", "The conditional request failed")


def test_or_needs_only_one(dynamo: Dynamo, key: Json) -> None:
    conditions = {"n": op("EQ", {"N": "6"}), "s": op("EQ", {"S": "text"})}
    assert dynamo.call("PutItem", expected(dynamo, key, conditions, ConditionalOperator="OR")) == {}
    request = expected(dynamo, key, conditions, ConditionalOperator="AND")
    dynamo.refuses("PutItem", request, "ConditionalCheckFailedException")


@pytest.mark.parametrize("operation", ["PutItem", "DeleteItem"])
def test_other_writes_take_them_too(dynamo: Dynamo, operation: str) -> None:
    item = {"a": {"S": dynamo.unique()}}
    member = {"Item": item} if operation == "PutItem" else {"Key": item}
    request = {"TableName": dynamo.table("hash"), **member, "Expected": {"a": {"Value": item["a"]}}}
    dynamo.refuses(operation, request, "ConditionalCheckFailedException", "The conditional request failed")
    assert dynamo.call(operation, {**request, "Expected": {"a": {"Exists": False}}}) == {}


X = {"S": "x"}


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({}, "Value must be provided when Exists is null for Attribute: b"),
        ({"Exists": True}, "Value must be provided when Exists is true for Attribute: b"),
        ({"Exists": False, "Value": X}, "Value cannot be used when Exists is false for Attribute: b"),
        ({"Value": X, "AttributeValueList": [X]}, "Value and AttributeValueList cannot be used together for Attribute: b"),
        ({"AttributeValueList": [X]}, "AttributeValueList can only be used with a ComparisonOperator for Attribute: b"),
        ({"Exists": True, "ComparisonOperator": "EQ", "Value": X}, "Exists and ComparisonOperator cannot be used together for Attribute: b"),
        ({"ComparisonOperator": "EQ"}, "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: b"),
        (op("EQ", X, X), "Invalid number of argument(s) for the EQ ComparisonOperator"),
        (op("BETWEEN", X), "Invalid number of argument(s) for the BETWEEN ComparisonOperator"),
        (op("NULL", X), "Invalid number of argument(s) for the NULL ComparisonOperator"),
        (op("NOT_NULL", X), "Invalid number of argument(s) for the NOT_NULL ComparisonOperator"),
        (op("BETWEEN", X, {"N": "1"}), "AttributeValues inside AttributeValueList must be of same type"),
    ],
)  # fmt: skip
def test_refused_conditions(dynamo: Dynamo, condition: Json, message: str) -> None:
    request = {"TableName": "no-such-table", "Item": {"a": X}, "Expected": {"b": condition}}
    dynamo.invalid("PutItem", request, INVALID + message)


def test_bounds_are_in_order(dynamo: Dynamo) -> None:
    condition = op("BETWEEN", {"N": "2"}, {"N": "1"})
    request = {"TableName": "no-such-table", "Item": {"a": X}, "Expected": {"b": condition}}
    message = (
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    )
    dynamo.invalid("PutItem", request, message)
