"""AttributeUpdates: PUT, ADD and DELETE by attribute."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

Json = dict[str, Any]
INVALID = "One or more parameter values were invalid: "
ITEM: Json = {"n": {"N": "5"}, "s": {"S": "text"}, "ss": {"SS": ["p", "q"]}, "l": {"L": [{"S": "x"}]}}


def act(action: str | None, value: Json | None = None) -> Json:
    return {k: v for k, v in {"Action": action, "Value": value}.items() if v is not None}


@pytest.mark.parametrize(
    ("updates", "expected"),
    [
        ({"x": act(None, {"S": "1"})}, {"x": {"S": "1"}}),
        ({"x": act("PUT", {"S": "1"})}, {"x": {"S": "1"}}),
        ({"n": act("PUT", {"S": "1"})}, {"n": {"S": "1"}}),
        ({"n": act("ADD", {"N": "2.5"})}, {"n": {"N": "7.5"}}),
        ({"x": act("ADD", {"N": "2"})}, {"x": {"N": "2"}}),
        ({"x": act("ADD", {"SS": ["z"]})}, {"x": {"SS": ["z"]}}),
        ({"l": act("ADD", {"L": [{"N": "1"}]})}, {"l": {"L": [{"S": "x"}, {"N": "1"}]}}),
        ({"n": act("DELETE")}, {"n": None}),
        ({"x": act("DELETE")}, {}),
        ({"ss": act("DELETE", {"SS": ["p"]})}, {"ss": {"SS": ["q"]}}),
        ({"ss": act("DELETE", {"SS": ["p", "q"]})}, {"ss": None}),
        ({"x": act("DELETE", {"SS": ["p"]})}, {}),
        ({"x": act("PUT", {"N": "1"}), "s": act("DELETE")}, {"x": {"N": "1"}, "s": None}),
    ],
)
def test_effects(dynamo: Dynamo, updates: Json, expected: Json) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **key, **ITEM)
    request = {
        "TableName": dynamo.table("hash"),
        "Key": key,
        "AttributeUpdates": updates,
        "ReturnValues": "ALL_NEW",
    }
    item = dynamo.call("UpdateItem", request)["Attributes"]
    assert item == {k: v for k, v in {**key, **ITEM, **expected}.items() if v is not None}


@pytest.mark.parametrize("values", ["UPDATED_OLD", "UPDATED_NEW"])
def test_updated_values(dynamo: Dynamo, values: str) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **key, **ITEM)
    updates = {"n": act("ADD", {"N": "1"}), "x": act("PUT", {"S": "1"}), "s": act("DELETE")}
    request = {
        "TableName": dynamo.table("hash"),
        "Key": key,
        "AttributeUpdates": updates,
        "ReturnValues": values,
    }
    expected = {
        "UPDATED_OLD": {"n": {"N": "5"}, "s": {"S": "text"}},
        "UPDATED_NEW": {"n": {"N": "6"}, "x": {"S": "1"}},
    }
    assert dynamo.call("UpdateItem", request)["Attributes"] == expected[values]


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({}, INVALID + "Only DELETE action is allowed when no attribute value is specified"),
        (act("PUT"), INVALID + "Only DELETE action is allowed when no attribute value is specified"),
        (act("ADD"), INVALID + "Only DELETE action is allowed when no attribute value is specified"),
        (act("DELETE", {"S": "x"}), INVALID + "DELETE action with value is not supported for the type S"),
        (act("DELETE", {"N": "1"}), INVALID + "DELETE action with value is not supported for the type N"),
        (act("ADD", {"S": "x"}), INVALID + "ADD action is not supported for the type S"),
        (act("ADD", {"BOOL": True}), INVALID + "ADD action is not supported for the type BOOL"),
        (act("ADD", {"M": {}}), INVALID + "ADD action is not supported for the type M"),
    ],
)
def test_refused_as_read(dynamo: Dynamo, update: Json, message: str) -> None:
    request = {"TableName": "no-such-table", "Key": {"a": {"S": "x"}}, "AttributeUpdates": {"b": update}}
    dynamo.invalid("UpdateItem", request, message)


@pytest.mark.parametrize(
    "update", [act("ADD", {"NS": ["1"]}), act("DELETE", {"NS": ["1"]}), act("ADD", {"N": "1"})]
)
def test_types_that_do_not_fit_the_item(dynamo: Dynamo, update: Json) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **key, **ITEM)
    request = {"TableName": dynamo.table("hash"), "Key": key, "AttributeUpdates": {"ss": update}}
    dynamo.invalid("UpdateItem", request, "Type mismatch for attribute to update")


def test_keys_cannot_be_updated(dynamo: Dynamo) -> None:
    request = {
        "TableName": dynamo.table("hash"),
        "Key": {"a": {"S": "x"}},
        "AttributeUpdates": {"a": act("PUT", {"S": "y"})},
    }
    dynamo.invalid(
        "UpdateItem", request, INVALID + "Cannot update attribute a. This attribute is part of the key"
    )
