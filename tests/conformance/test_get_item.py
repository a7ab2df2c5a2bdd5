"""GetItem: what it returns, which parts of it, and the keys it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

MISMATCH = "The provided key element does not match the schema"
EMPTY_KEY = "The AttributeValue for a key attribute cannot contain an empty {} value. Key: {}"


def empty_key(kind: str, name: str) -> tuple[str, str]:
    text = EMPTY_KEY.format(kind, name)
    return (
        f"One or more parameter values are not valid. {text}",
        f"One or more parameter values were invalid: {text}",
    )


def test_an_absent_item_is_an_empty_answer(dynamo: Dynamo) -> None:
    answer = dynamo.call("GetItem", {"TableName": dynamo.table("hash"), "Key": {"a": {"S": "nobody"}}})
    assert "Item" not in answer


@pytest.mark.parametrize("consistent", [True, False])
def test_every_type_comes_back_as_it_was(dynamo: Dynamo, consistent: bool) -> None:
    item = {
        "a": {"S": dynamo.unique()},
        "s": {"S": "füß €"},
        "empty": {"S": ""},
        "n": {"N": "-12.5"},
        "b": {"B": "AP8="},
        "yes": {"BOOL": True},
        "no": {"BOOL": False},
        "null": {"NULL": True},
        "l": {"L": [{"S": "x"}, {"L": []}, {"M": {}}]},
        "m": {"M": {"k": {"M": {"deep": {"N": "1"}}}}},
        "ss": {"SS": ["x"]},
        "ns": {"NS": ["1"]},
        "bs": {"BS": ["AA=="]},
    }
    dynamo.put(dynamo.table("hash"), **item)
    request = {"TableName": dynamo.table("hash"), "Key": {"a": item["a"]}, "ConsistentRead": consistent}
    assert dynamo.call("GetItem", request)["Item"] == item


@pytest.mark.parametrize(
    ("shape", "key"),
    [
        ("hash", {}),
        ("hash", {"b": {"S": "x"}}),
        ("hash", {"a": {"N": "1"}}),
        ("hash", {"a": {"B": "AA=="}}),
        ("hash", {"a": {"SS": ["x"]}}),
        ("hash", {"a": {"NULL": True}}),
        ("hash", {"a": {"S": "x"}, "b": {"S": "x"}}),
        ("hash_n", {"a": {"S": "1"}}),
        ("range", {"a": {"S": "x"}}),
        ("range", {"b": {"S": "x"}}),
        ("range", {"a": {"S": "x"}, "c": {"S": "x"}}),
        ("range", {"a": {"S": "x"}, "b": {"N": "1"}}),
        ("range", {"a": {"S": "x"}, "b": {"S": "x"}, "c": {"S": "x"}}),
    ],
)
@pytest.mark.parametrize("operation", ["GetItem", "DeleteItem", "UpdateItem"])
def test_a_key_is_exactly_the_schema(dynamo: Dynamo, operation: str, shape: str, key: dict[str, Any]) -> None:
    dynamo.invalid(operation, {"TableName": dynamo.table(shape), "Key": key}, MISMATCH)


@pytest.mark.parametrize("operation", ["GetItem", "DeleteItem", "UpdateItem"])
def test_a_key_is_not_empty(dynamo: Dynamo, operation: str) -> None:
    dynamo.invalid(
        operation, {"TableName": dynamo.table("hash"), "Key": {"a": {"S": ""}}}, *empty_key("string", "a")
    )
    dynamo.invalid(
        operation, {"TableName": dynamo.table("hash_b"), "Key": {"a": {"B": ""}}}, *empty_key("binary", "a")
    )
    request = {"TableName": dynamo.table("range"), "Key": {"a": {"S": "x"}, "b": {"S": ""}}}
    dynamo.invalid(operation, request, *empty_key("string", "b"))


@pytest.mark.parametrize("operation", ["GetItem", "DeleteItem", "UpdateItem"])
def test_a_hash_key_has_at_most_2048_bytes(dynamo: Dynamo, operation: str) -> None:
    message = "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"
    dynamo.call(operation, {"TableName": dynamo.table("hash"), "Key": {"a": {"S": "x" * 2048}}})
    dynamo.invalid(operation, {"TableName": dynamo.table("hash"), "Key": {"a": {"S": "x" * 2049}}}, message)
    # Bytes, not characters.
    dynamo.invalid(operation, {"TableName": dynamo.table("hash"), "Key": {"a": {"S": "é" * 1025}}}, message)


@pytest.mark.parametrize("operation", ["GetItem", "DeleteItem", "UpdateItem"])
def test_a_range_key_has_at_most_1024_bytes(dynamo: Dynamo, operation: str) -> None:
    message = (
        "One or more parameter values were invalid: "
        "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
    )
    key = {"a": {"S": "x"}, "b": {"S": "y" * 1024}}
    dynamo.call(operation, {"TableName": dynamo.table("range"), "Key": key})
    key["b"] = {"S": "y" * 1025}
    dynamo.invalid(operation, {"TableName": dynamo.table("range"), "Key": key}, message)


@pytest.mark.parametrize("operation", ["GetItem", "DeleteItem", "UpdateItem", "Query", "Scan", "PutItem"])
def test_an_absent_table_is_not_named(dynamo: Dynamo, operation: str) -> None:
    request: dict[str, Any] = {"TableName": "no-such-table-at-all"}
    match operation:
        case "PutItem":
            request["Item"] = {"a": {"S": "x"}}
        case "Query":
            request |= {"KeyConditionExpression": "a = :a", "ExpressionAttributeValues": {":a": {"S": "x"}}}
        case "GetItem" | "DeleteItem" | "UpdateItem":
            request["Key"] = {"a": {"S": "x"}}
    dynamo.refuses(operation, request, "ResourceNotFoundException", "Requested resource not found")


def test_attributes_to_get(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **key, b={"S": "1"}, c={"M": {"x": {"S": "1"}}})
    request = {"TableName": dynamo.table("hash"), "Key": key, "AttributesToGet": ["c", "nothing"]}
    assert dynamo.call("GetItem", request)["Item"] == {"c": {"M": {"x": {"S": "1"}}}}


def test_attributes_to_get_has_no_duplicates(dynamo: Dynamo) -> None:
    request = {
        "TableName": dynamo.table("hash"),
        "Key": {"a": {"S": "x"}},
        "AttributesToGet": ["a", "b", "a"],
    }
    dynamo.invalid(
        "GetItem", request, "One or more parameter values were invalid: Duplicate value in attribute name: a"
    )


def test_a_projection_of_nothing_is_an_empty_item(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **key)
    request = {"TableName": dynamo.table("hash"), "Key": key, "ProjectionExpression": "nothing"}
    assert dynamo.call("GetItem", request)["Item"] == {}


def test_expression_and_older_parameters_do_not_mix(dynamo: Dynamo) -> None:
    request = {
        "TableName": dynamo.table("hash"),
        "Key": {"a": {"S": "x"}},
        "AttributesToGet": ["a"],
        "ProjectionExpression": "a",
    }
    dynamo.invalid(
        "GetItem",
        request,
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}",
    )


def test_names_need_an_expression(dynamo: Dynamo) -> None:
    request = {"TableName": "abc", "Key": {"a": {"S": "x"}}, "ExpressionAttributeNames": {"#a": "a"}}
    dynamo.invalid(
        "GetItem", request, "ExpressionAttributeNames can only be specified when using expressions"
    )
