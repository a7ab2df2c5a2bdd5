"""Attribute values: what is a value, what comes back of it, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

Json = dict[str, Any]
INVALID = "One or more parameter values were invalid: "


@pytest.mark.parametrize(
    "value",
    [
        {"S": ""},
        {"B": ""},
        {"S": "\x00\x01"},
        {"S": "a\nb\tc\"'\\"},
        {"S": "𝄞 clef"},
        {"L": []},
        {"M": {}},
        {"M": {" ": {"S": "blank name"}}},
        {"L": [{"NULL": True}, {"BOOL": False}, {"S": ""}]},
        {"M": {"n": {"NS": ["1"]}}},
        {"SS": [""]},
        {"BS": [""]},
        {"S": "x" * 5000},
    ],
)
def test_values_come_back_as_they_are(dynamo: Dynamo, value: Json) -> None:
    assert dynamo.stored(value) == value


@pytest.mark.parametrize("kind", ["SS", "NS", "BS"])
def test_sets_come_back_whole(dynamo: Dynamo, kind: str) -> None:
    members = {"SS": ["b", "a", "é"], "NS": ["3", "-1", "2.5"], "BS": ["AQ==", "AA==", "AAA="]}[kind]
    assert sorted(dynamo.stored({kind: members})[kind]) == sorted(members)


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ({}, ["Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"]),
        (
            {"S": "x", "N": "1"},
            ["Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"],
        ),
        ({"NULL": False}, [INVALID + "Null attribute value types must have the value of true"]),
        ({"SS": []}, [INVALID + "An string set  may not be empty"]),
        ({"NS": []}, [INVALID + "An number set  may not be empty"]),
        ({"BS": []}, [INVALID + "Binary sets should not be empty"]),
        (
            {"SS": ["b", "a", "b"]},
            [
                INVALID + "Input collection [b, a, b] contains duplicates.",
                INVALID + 'Input collection ["a", "b", "b"] contains duplicates.',
            ],
        ),
        (
            {"BS": ["Yg==", "YQ==", "Yg=="]},
            [
                INVALID + "Input collection [Yg==, YQ==, Yg==]of type BS contains duplicates.",
                INVALID + 'Input collection ["YQ==","Yg==","Yg=="]of type BS contains duplicates.',
            ],
        ),
        ({"NS": ["1", "2", "1"]}, ["Input collection contains duplicates", INVALID + "Input collection contains duplicates."]),
        ({"NS": ["1", "1.0"]}, ["Input collection contains duplicates", INVALID + "Input collection contains duplicates."]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("wrap", ["bare", "list", "map"])
def test_refused_values(anyhow: Dynamo, value: Json, messages: list[str], wrap: str) -> None:
    wrapped = {"bare": value, "list": {"L": [value]}, "map": {"M": {"x": value}}}[wrap]
    request = {"TableName": "no-such-table", "Item": {"a": {"S": "x"}, "v": wrapped}}
    anyhow.invalid("PutItem", request, *messages)


@pytest.mark.parametrize("operation", ["GetItem", "DeleteItem", "UpdateItem"])
def test_keys_are_values_first(anyhow: Dynamo, operation: str) -> None:
    request: Json = {"TableName": "no-such-table", "Key": {"a": {}}}
    message = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
    anyhow.invalid(operation, request, message)
    request["Key"] = {"a": {"N": "x"}}
    anyhow.invalid(operation, request, "The parameter cannot be converted to a numeric value: x")


DEEPEST = 32
TOO_DEEP = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"


def nested(levels: int, kind: str) -> Json:
    """A value in so many levels, itself the first."""
    value: Json = {"S": "bottom"}
    for _ in range(levels - 1):
        value = {"L": [value]} if kind == "L" else {"M": {"x": value}}
    return value


@pytest.mark.parametrize("kind", ["L", "M"])
def test_values_nest_32_levels_deep(dynamo: Dynamo, kind: str) -> None:
    assert dynamo.stored(nested(DEEPEST, kind)) == nested(DEEPEST, kind)
    item = {"a": {"S": dynamo.unique()}, "v": nested(DEEPEST + 1, kind)}
    dynamo.invalid("PutItem", {"TableName": dynamo.table("hash"), "Item": item}, TOO_DEEP)


def test_an_update_does_not_nest_deeper(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **key, v=nested(DEEPEST, "M"))
    path = ".".join(["v", *("x" * (DEEPEST - 1))])
    request = {
        "TableName": dynamo.table("hash"),
        "Key": key,
        "UpdateExpression": f"SET {path} = :v",
        "ExpressionAttributeValues": {":v": {"L": [{"S": "x"}]}},
    }
    dynamo.invalid("UpdateItem", request, "Nesting Levels have exceeded supported limits", TOO_DEEP)
