"""Which of several mistakes is told: each request below mends the mistake that the one before it was told of."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Differs, Dynamo

Json = dict[str, Any]
X = {"S": "x"}
DELETED: Any = object()


def chain(dynamo: Dynamo, operation: str, request: Json, *steps: tuple[str, str, Json]) -> None:
    """Each step says what is told now, as a type and how its message begins, and what is mended then."""
    for kind, beginning, mended in steps:
        refusal = dynamo.refused(operation, request)
        told = refusal.message.removeprefix("1 validation error detected: ")
        if refusal.type != kind or not (told.startswith(beginning) or refusal.message.startswith(beginning)):
            raise Differs(operation, f"{kind}: {beginning}…", f"{refusal.type}: {refusal.message}")
        request = {k: v for k, v in {**request, **mended}.items() if v is not DELETED}
    dynamo.call(operation, request)


VALIDATION = "ValidationException"


def test_get_item(anyhow: Dynamo) -> None:
    request = {
        "TableName": "a;",
        "Key": 23,
        "ReturnConsumedCapacity": "hi",
        "AttributesToGet": ["b", "b"],
        "ProjectionExpression": "",
        "ExpressionAttributeNames": {},
    }
    chain(
        anyhow,
        "GetItem",
        request,
        ("SerializationException", "Unexpected field type", {"Key": {"a": {}}}),
        (VALIDATION, "3 validation errors detected: ", {"TableName": "no-such-table", "ReturnConsumedCapacity": "TOTAL"}),
        (VALIDATION, "Can not use both expression and non-expression parameters", {"ProjectionExpression": DELETED}),
        (VALIDATION, "ExpressionAttributeNames can only be specified when using expressions", {"ExpressionAttributeNames": DELETED}),
        (VALIDATION, "Supplied AttributeValue is empty", {"Key": {"b": X}}),
        (VALIDATION, "One or more parameter values were invalid: Duplicate value in attribute name: b", {"AttributesToGet": DELETED, "ProjectionExpression": "", "ExpressionAttributeNames": {}}),
        (VALIDATION, "ExpressionAttributeNames must not be empty", {"ExpressionAttributeNames": {"b": "b"}}),
        (VALIDATION, "ExpressionAttributeNames contains invalid key", {"ExpressionAttributeNames": {"#b": "b"}}),
        (VALIDATION, "Invalid ProjectionExpression: The expression can not be empty", {"ProjectionExpression": "c"}),
        (VALIDATION, "Value provided in ExpressionAttributeNames unused", {"ExpressionAttributeNames": DELETED}),
        ("ResourceNotFoundException", "Requested resource not found", {"TableName": anyhow.table("hash")}),
        (VALIDATION, "The provided key element does not match the schema", {"Key": {"a": X}, "ProjectionExpression": "a.b"}),
        (VALIDATION, "Key attributes must be scalars", {"ProjectionExpression": "a"}),
    )  # fmt: skip


def test_update_item(anyhow: Dynamo) -> None:
    request = {
        "TableName": "no-such-table",
        "Key": {"b": X},
        "UpdateExpression": "",
        "ConditionExpression": "",
        "ExpressionAttributeNames": {"b": "b"},
        "ExpressionAttributeValues": {"v": X},
    }
    chain(
        anyhow,
        "UpdateItem",
        request,
        (VALIDATION, "ExpressionAttributeNames contains invalid key", {"ExpressionAttributeNames": {"#b": "b"}}),
        (VALIDATION, "ExpressionAttributeValues contains invalid key", {"ExpressionAttributeValues": {":v": {"N": "x"}}}),
        (VALIDATION, "ExpressionAttributeValues contains invalid value: The parameter cannot be converted", {"ExpressionAttributeValues": {":v": X}}),
        (VALIDATION, "Invalid UpdateExpression: The expression can not be empty", {"UpdateExpression": "SET a = :v"}),
        (VALIDATION, "Invalid ConditionExpression: The expression can not be empty", {"ConditionExpression": "attribute_exists(c)"}),
        (VALIDATION, "Value provided in ExpressionAttributeNames unused", {"ExpressionAttributeNames": DELETED}),
        ("ResourceNotFoundException", "Requested resource not found", {"TableName": anyhow.table("hash")}),
        (VALIDATION, "The provided key element does not match the schema", {"Key": {"a": {"S": anyhow.unique()}}}),
        (VALIDATION, "One or more parameter values were invalid: Cannot update attribute a", {"UpdateExpression": "SET c = d + :v", "ExpressionAttributeValues": {":v": {"N": "1"}}}),
        ("ConditionalCheckFailedException", "The conditional request failed", {"ConditionExpression": "attribute_not_exists(c)"}),
        (VALIDATION, "The provided expression refers to an attribute that does not exist in the item", {"UpdateExpression": "SET c = :v"}),
    )  # fmt: skip


def test_put_item(anyhow: Dynamo) -> None:
    request = {
        "TableName": "no-such-table",
        "Item": {"a": {"S": ""}, "v": {"NS": ["x"]}},
        "ReturnValues": "ALL_NEW",
        "ConditionExpression": "b =",
    }
    chain(
        anyhow,
        "PutItem",
        request,
        (VALIDATION, "The parameter cannot be converted to a numeric value: x", {"Item": {"a": {"S": ""}}}),
        (VALIDATION, "", {"ReturnValues": "NONE", "ConditionExpression": "attribute_exists(b)"}),
        ("ResourceNotFoundException", "Requested resource not found", {"TableName": anyhow.table("hash")}),
        (VALIDATION, "One or more parameter values are not valid.", {"Item": {"a": {"S": anyhow.unique()}}}),
        (
            "ConditionalCheckFailedException",
            "The conditional request failed",
            {"ConditionExpression": DELETED},
        ),
    )


def test_query(anyhow: Dynamo) -> None:
    request = {
        "TableName": "no-such-table",
        "IndexName": "nope",
        "KeyConditionExpression": "",
        "FilterExpression": "a = :a",
        "ExclusiveStartKey": {"a": {}},
        "ExpressionAttributeValues": {":a": X},
        "Select": "ALL_PROJECTED_ATTRIBUTES",
    }
    chain(
        anyhow,
        "Query",
        request,
        (VALIDATION, "The provided starting key is invalid: Supplied AttributeValue is empty", {"ExclusiveStartKey": {"a": X}}),
        (VALIDATION, "Invalid KeyConditionExpression: The expression can not be empty", {"KeyConditionExpression": "a = :a"}),
        ("ResourceNotFoundException", "Requested resource not found", {"TableName": anyhow.table("range")}),
        (VALIDATION, "The table does not have the specified index: nope", {"IndexName": DELETED, "Select": DELETED}),
        (VALIDATION, "The provided starting key is invalid", {"ExclusiveStartKey": DELETED}),
        (VALIDATION, "Filter Expression can only contain non-primary key attributes", {"FilterExpression": DELETED}),
    )  # fmt: skip


def test_batches_check_keys_after_tables(dynamo: Dynamo) -> None:
    wrong = {"b": X}
    request = {"RequestItems": {"no-such-table": {"Keys": [wrong]}, dynamo.table("hash"): {"Keys": [wrong]}}}
    dynamo.refuses(
        "BatchGetItem", {"RequestItems": {"no-such-table": {"Keys": [wrong]}}}, "ResourceNotFoundException"
    )
    kind = dynamo.refused("BatchGetItem", request).type
    assert kind in {"ResourceNotFoundException", VALIDATION}


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem"])
def test_a_conditional_operator_joins_conditions(dynamo: Dynamo, operation: str) -> None:
    member = {"Item": {"a": X}} if operation == "PutItem" else {"Key": {"a": X}}
    request: Json = {"TableName": "no-such-table", **member, "ConditionalOperator": "OR"}
    dynamo.invalid(operation, request, "ConditionalOperator cannot be used without Filter or Expected")
    request["Expected"] = {"a": {"Value": X}}
    message = "ConditionalOperator can only be used when Filter or Expected has two or more elements"
    dynamo.invalid(operation, request, message)
