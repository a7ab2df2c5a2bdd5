"""PutItem: replacement, what it gives back, and the items it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo
from .test_get_item import empty_key

INVALID = "One or more parameter values were invalid: "


def test_an_empty_answer_without_return_values(dynamo: Dynamo) -> None:
    request = {"TableName": dynamo.table("hash"), "Item": {"a": {"S": dynamo.unique()}}}
    assert dynamo.call("PutItem", request) == {}
    assert dynamo.call("PutItem", {**request, "ReturnValues": "NONE"}) == {}


def test_a_put_replaces_the_whole_item(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **key, b={"S": "old"}, c={"S": "old"})
    dynamo.put(dynamo.table("hash"), **key, c={"S": "new"})
    assert dynamo.get(dynamo.table("hash"), **key) == {**key, "c": {"S": "new"}}


def test_all_old_gives_the_old_item(dynamo: Dynamo) -> None:
    old = {"a": {"S": dynamo.unique()}, "b": {"N": "1"}}
    request = {"TableName": dynamo.table("hash"), "Item": old, "ReturnValues": "ALL_OLD"}
    assert dynamo.call("PutItem", request) == {}
    assert dynamo.call("PutItem", {**request, "Item": {"a": old["a"]}}) == {"Attributes": old}


@pytest.mark.parametrize("value", ["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
@pytest.mark.parametrize("operation", ["PutItem", "DeleteItem"])
def test_other_return_values_are_refused(dynamo: Dynamo, operation: str, value: str) -> None:
    member = "Item" if operation == "PutItem" else "Key"
    request = {"TableName": dynamo.table("hash"), member: {"a": {"S": "x"}}, "ReturnValues": value}
    dynamo.invalid(operation, request, "ReturnValues can only be ALL_OLD or NONE")


@pytest.mark.parametrize(
    ("shape", "item", "message"),
    [
        ("hash", {"b": {"S": "x"}}, INVALID + "Missing the key a in the item"),
        ("hash", {}, INVALID + "Missing the key a in the item"),
        ("range", {"a": {"S": "x"}}, INVALID + "Missing the key b in the item"),
        ("range", {"b": {"S": "x"}}, INVALID + "Missing the key a in the item"),
        ("hash", {"a": {"N": "1"}}, INVALID + "Type mismatch for key a expected: S actual: N"),
        ("hash", {"a": {"SS": ["x"]}}, INVALID + "Type mismatch for key a expected: S actual: SS"),
        ("hash", {"a": {"NULL": True}}, INVALID + "Type mismatch for key a expected: S actual: NULL"),
        ("hash", {"a": {"BOOL": True}}, INVALID + "Type mismatch for key a expected: S actual: BOOL"),
        ("hash", {"a": {"M": {}}}, INVALID + "Type mismatch for key a expected: S actual: M"),
        ("hash", {"a": {"L": []}}, INVALID + "Type mismatch for key a expected: S actual: L"),
        ("hash_n", {"a": {"S": "1"}}, INVALID + "Type mismatch for key a expected: N actual: S"),
        ("hash_b", {"a": {"S": "1"}}, INVALID + "Type mismatch for key a expected: B actual: S"),
        (
            "range_n",
            {"a": {"S": "1"}, "b": {"S": "1"}},
            INVALID + "Type mismatch for key b expected: N actual: S",
        ),
        (
            "hash",
            {"a": {"S": "x" * 2049}},
            INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes",
        ),
        (
            "range",
            {"a": {"S": "x"}, "b": {"S": "x" * 1025}},
            INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
        ),
    ],
)
def test_keys_of_items(dynamo: Dynamo, shape: str, item: dict[str, Any], message: str) -> None:
    dynamo.invalid("PutItem", {"TableName": dynamo.table(shape), "Item": item}, message)


def test_keys_are_not_empty(dynamo: Dynamo) -> None:
    dynamo.invalid(
        "PutItem", {"TableName": dynamo.table("hash"), "Item": {"a": {"S": ""}}}, *empty_key("string", "a")
    )
    dynamo.invalid(
        "PutItem", {"TableName": dynamo.table("hash_b"), "Item": {"a": {"B": ""}}}, *empty_key("binary", "a")
    )


@pytest.mark.parametrize(
    ("attribute", "value", "actual", "index"),
    [
        ("c", {"N": "1"}, "N", "gsi_all"),
        ("c", {"NULL": True}, "NULL", "gsi_all"),
        ("d", {"BOOL": True}, "BOOL", "gsi_keys"),
        ("d", {"L": []}, "L", "gsi_keys"),
    ],
)
def test_index_keys_have_their_type(
    dynamo: Dynamo, attribute: str, value: dict[str, Any], actual: str, index: str
) -> None:
    item = {"a": {"S": "x"}, "b": {"S": "x"}, attribute: value}
    message = (
        f"{INVALID}Type mismatch for Index Key {attribute} Expected: S Actual: {actual} IndexName: {index}"
    )
    dynamo.invalid("PutItem", {"TableName": dynamo.table("indexed"), "Item": item}, message)


@pytest.mark.parametrize(("attribute", "index"), [("c", "gsi_all"), ("d", "gsi_keys")])
def test_index_keys_are_not_empty(dynamo: Dynamo, attribute: str, index: str) -> None:
    item = {"a": {"S": "x"}, "b": {"S": "x"}, attribute: {"S": ""}}
    dynamo.invalid(
        "PutItem",
        {"TableName": dynamo.table("indexed"), "Item": item},
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
        "The AttributeValue for a key attribute cannot contain an empty string value. "
        f"IndexName: {index}, IndexKey: {attribute}",
    )


def test_a_key_of_a_number_table_is_the_number_not_its_text(dynamo: Dynamo) -> None:
    dynamo.put(dynamo.table("hash_n"), a={"N": "7.50"}, v={"S": "first"})
    dynamo.put(dynamo.table("hash_n"), a={"N": "0.75e1"}, v={"S": "second"})
    assert dynamo.get(dynamo.table("hash_n"), a={"N": "+7.5"}) == {"a": {"N": "7.5"}, "v": {"S": "second"}}


def test_an_attribute_name_may_hold_anything(dynamo: Dynamo) -> None:
    item = {"a": {"S": dynamo.unique()}, "with space": {"S": "1"}, "a.b[0]": {"S": "2"}, "ünï": {"S": "3"}}
    dynamo.put(dynamo.table("hash"), **item)
    assert dynamo.get(dynamo.table("hash"), a=item["a"]) == item


def test_values_need_an_expression(dynamo: Dynamo) -> None:
    request = {"TableName": "abc", "Item": {"a": {"S": "x"}}, "ExpressionAttributeValues": {":a": {"S": "x"}}}
    dynamo.invalid(
        "PutItem",
        request,
        "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null",
        "ExpressionAttributeValues can only be specified when using expressions",
    )


def test_expected_and_condition_do_not_mix(dynamo: Dynamo) -> None:
    request = {
        "TableName": "abc",
        "Item": {"a": {"S": "x"}},
        "Expected": {"a": {"Exists": False}},
        "ConditionExpression": "attribute_exists(a)",
    }
    dynamo.invalid(
        "PutItem",
        request,
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}",
    )
