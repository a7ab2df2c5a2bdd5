"""ExpressionAttributeNames and ExpressionAttributeValues: their keys, their values, and that each is used."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

Json = dict[str, Any]

# By operation, a request with one expression that uses nothing of the placeholders.
REQUESTS: dict[str, Json] = {
    "PutItem": {"Item": {"a": {"S": "x"}}, "ConditionExpression": "attribute_exists(b)"},
    "UpdateItem": {"Key": {"a": {"S": "x"}}, "UpdateExpression": "REMOVE b"},
    "DeleteItem": {"Key": {"a": {"S": "x"}}, "ConditionExpression": "attribute_exists(b)"},
    "Scan": {"FilterExpression": "attribute_exists(b)"},
    "GetItem": {"Key": {"a": {"S": "x"}}, "ProjectionExpression": "b"},
}
VALUED = [o for o in REQUESTS if o != "GetItem"]


def asked(operation: str, **rest: Any) -> Json:
    return {"TableName": "no-such-table", **REQUESTS[operation], **rest}


@pytest.mark.parametrize("operation", REQUESTS)
def test_names_are_not_empty(dynamo: Dynamo, operation: str) -> None:
    request = asked(operation, ExpressionAttributeNames={})
    dynamo.invalid(operation, request, "ExpressionAttributeNames must not be empty")


@pytest.mark.parametrize("operation", VALUED)
def test_values_are_not_empty(dynamo: Dynamo, operation: str) -> None:
    request = asked(operation, ExpressionAttributeValues={})
    dynamo.invalid(operation, request, "ExpressionAttributeValues must not be empty")


@pytest.mark.parametrize("operation", REQUESTS)
@pytest.mark.parametrize("name", ["b", "#", "", "#b-c", "#b.c", "##b"])
def test_names_start_with_a_hash(dynamo: Dynamo, operation: str, name: str) -> None:
    message = f'ExpressionAttributeNames contains invalid key: Syntax error; key: "{name}"'
    dynamo.invalid(operation, asked(operation, ExpressionAttributeNames={name: "b"}), message)


@pytest.mark.parametrize("operation", VALUED)
@pytest.mark.parametrize("name", ["v", ":", "", ":v-w", "#v"])
def test_values_start_with_a_colon(dynamo: Dynamo, operation: str, name: str) -> None:
    message = f'ExpressionAttributeValues contains invalid key: Syntax error; key: "{name}"'
    dynamo.invalid(operation, asked(operation, ExpressionAttributeValues={name: {"S": "x"}}), message)


@pytest.mark.parametrize("operation", REQUESTS)
def test_every_name_is_used(dynamo: Dynamo, operation: str) -> None:
    message = "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}"
    dynamo.invalid(operation, asked(operation, ExpressionAttributeNames={"#b": "b"}), message)


@pytest.mark.parametrize("operation", VALUED)
def test_every_value_is_used(dynamo: Dynamo, operation: str) -> None:
    message = "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}"
    dynamo.invalid(operation, asked(operation, ExpressionAttributeValues={":v": {"S": "x"}}), message)


def test_names_are_told_before_values(dynamo: Dynamo) -> None:
    request = asked(
        "PutItem", ExpressionAttributeNames={"#b": "b"}, ExpressionAttributeValues={":v": {"S": "x"}}
    )
    message = "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}"
    dynamo.invalid("PutItem", request, message)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        ({"N": "x"}, "The parameter cannot be converted to a numeric value: x"),
        ({"SS": []}, "One or more parameter values were invalid: An string set  may not be empty"),
        ({"NS": []}, "One or more parameter values were invalid: An number set  may not be empty"),
        ({"NULL": False}, "One or more parameter values were invalid: Null attribute value types must have the value of true"),
    ],
)  # fmt: skip
def test_values_are_values(anyhow: Dynamo, value: Json, reason: str) -> None:
    request = asked("DeleteItem", ConditionExpression="b = :v", ExpressionAttributeValues={":v": value})
    # The newer layer tells some of these without naming the placeholder.
    named = f"ExpressionAttributeValues contains invalid value: {reason} for key :v"
    anyhow.invalid("DeleteItem", request, named, reason)


def test_a_name_may_stand_for_anything(dynamo: Dynamo) -> None:
    item = dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()}, **{"size.of it": {"N": "1"}})
    request = {
        "TableName": dynamo.table("hash"),
        "Key": {"a": item["a"]},
        "ProjectionExpression": "#0_x",
        "ExpressionAttributeNames": {"#0_x": "size.of it"},
    }
    assert dynamo.call("GetItem", request)["Item"] == {"size.of it": {"N": "1"}}
