"""Queries that are refused: by their words, by the schema, by where they start."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo
from .test_query import query

Json = dict[str, Any]
X = {"S": "x"}
INVALID = "One or more parameter values were invalid: "
MISSED = "Query condition missed key schema element: "
KCE = "Invalid KeyConditionExpression: "


@pytest.mark.parametrize(
    ("shape", "condition", "values", "messages"),
    [
        ("range", "b = :b", {":b": X}, [MISSED + "a"]),
        ("range", "c = :c", {":c": X}, [MISSED + "a"]),
        ("range", "a = :a AND c = :c", {":a": X, ":c": X}, [MISSED + "b"]),
        ("range", "a > :a", {":a": X}, ["Query key condition not supported"]),
        ("range", "a BETWEEN :a AND :b", {":a": X, ":b": X}, ["Query key condition not supported"]),
        ("range", "begins_with(a, :a)", {":a": X}, ["Query key condition not supported"]),
        ("hash", "a = :a AND b = :b", {":a": X, ":b": X}, ["Query key condition not supported", "The number of query conditions (2) exceeds the number of key attributes defined in the schema (1)"]),
        ("range", "a = :a AND b = :b AND c = :c", {":a": X, ":b": X, ":c": X}, ["Conditions can be of length 1 or 2 only", "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)"]),
        ("range", "a = :a", {":a": {"N": "1"}}, [INVALID + "Condition parameter type does not match schema type"]),
        ("range", "a = :a AND b = :b", {":a": X, ":b": {"N": "1"}}, [INVALID + "Condition parameter type does not match schema type"]),
        ("range_n", "a = :a AND b = :b", {":a": X, ":b": X}, [INVALID + "Condition parameter type does not match schema type"]),
        ("range", "a = :a AND a = :b", {":a": X, ":b": X}, ["KeyConditionExpressions must only contain one condition per key", KCE + "KeyConditionExpressions must only contain one condition per key"]),
        ("range", "a = :a OR b = :b", {":a": X, ":b": X}, ["Invalid operator used in KeyConditionExpression: OR", KCE + "Invalid operator used in KeyConditionExpression: OR"]),
        ("range", "NOT a = :a", {":a": X}, ["Invalid operator used in KeyConditionExpression: NOT", KCE + "Invalid operator used in KeyConditionExpression: NOT"]),
        ("range", "a <> :a", {":a": X}, ["Invalid operator used in KeyConditionExpression: <>", KCE + "Invalid operator used in KeyConditionExpression: <>"]),
        ("range", "a = :a AND b IN (:b)", {":a": X, ":b": X}, ["Invalid operator used in KeyConditionExpression: IN", KCE + "Invalid operator used in KeyConditionExpression: IN"]),
        ("range", "a = :a AND attribute_exists(b)", {":a": X}, ["Invalid operator used in KeyConditionExpression: attribute_exists", KCE + "Invalid operator used in KeyConditionExpression: attribute_exists"]),
        ("range", "a = :a AND contains(b, :b)", {":a": X, ":b": X}, ["Invalid operator used in KeyConditionExpression: contains", KCE + "Invalid operator used in KeyConditionExpression: contains"]),
        ("range", "a = :a AND size(b) = :b", {":a": X, ":b": {"N": "1"}}, ["KeyConditionExpressions cannot contain nested operations", KCE + "KeyConditionExpressions cannot contain nested operations"]),
        ("range", "a = :a AND b.c = :b", {":a": X, ":b": X}, ["KeyConditionExpressions cannot have conditions on nested attributes", KCE + "KeyConditionExpressions cannot have conditions on nested attributes"]),
        ("range", "a = :a AND b = a", {":a": X}, ["Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition", KCE + "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"]),
        ("range", ":a = :b", {":a": X, ":b": X}, ["Invalid condition in KeyConditionExpression: No key attribute specified", KCE + "Invalid condition in KeyConditionExpression: No key attribute specified"]),
        ("range", "a = :a AND begins_with(:b, b)", {":a": X, ":b": X}, ["Invalid condition in KeyConditionExpression: begins_with operator must have the key attribute as its first operand", KCE + "Invalid condition in KeyConditionExpression: begins_with operator must have the key attribute as its first operand"]),
        ("range", "a = :a AND :b BETWEEN b AND :c", {":a": X, ":b": X, ":c": X}, ["Invalid condition in KeyConditionExpression: BETWEEN operator must have the key attribute as its first operand", KCE + "Invalid condition in KeyConditionExpression: BETWEEN operator must have the key attribute as its first operand"]),
        ("range", "", {}, [KCE + "The expression can not be empty;"]),
        ("range", "a = ", {}, [KCE + 'Syntax error; token: "<EOF>", near: "="']),
        ("range", "((a = :a))", {":a": X}, [KCE + "The expression has redundant parentheses;"]),
        ("range", "a = :nope", {}, [KCE + "An expression attribute value used in expression is not defined; attribute value: :nope"]),
        ("range", "#nope = :a", {":a": X}, [KCE + "An expression attribute name used in the document path is not defined; attribute name: #nope"]),
        ("range", "a = :a AND b BETWEEN :c AND :b", {":a": X, ":b": {"S": "b"}, ":c": {"S": "c"}}, [KCE + "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {S:c}, upper bound operand: AttributeValue: {S:b}"]),
    ],
)  # fmt: skip
def test_key_conditions(
    dynamo: Dynamo, shape: str, condition: str, values: Json, messages: list[str]
) -> None:
    request: Json = {"TableName": dynamo.table(shape), "KeyConditionExpression": condition}
    if values:
        request["ExpressionAttributeValues"] = values
    dynamo.invalid("Query", request, *messages)


def test_a_query_needs_a_condition(dynamo: Dynamo) -> None:
    message = "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
    dynamo.invalid("Query", {"TableName": dynamo.table("range")}, message)


@pytest.mark.parametrize(
    ("key", "messages"),
    [
        ({}, ["The provided starting key is invalid"]),
        ({"a": X}, ["The provided starting key is invalid"]),
        ({"a": X, "c": X}, ["The provided starting key is invalid", "The provided starting key is invalid: The provided key element does not match the schema"]),
        ({"a": X, "b": {"N": "1"}}, ["The provided starting key is invalid", "The provided key element does not match the schema", "The provided starting key is invalid: The provided key element does not match the schema"]),
        ({"a": X, "b": X, "c": X}, ["The provided starting key is invalid"]),
        ({"a": {"S": "other"}, "b": X}, ["The provided starting key is outside query boundaries based on provided conditions"]),
    ],
)  # fmt: skip
def test_starting_keys(dynamo: Dynamo, key: Json, messages: list[str]) -> None:
    dynamo.invalid("Query", query(dynamo, X, ExclusiveStartKey=key), *messages)


def test_a_start_outside_the_range_condition(dynamo: Dynamo) -> None:
    request = query(
        dynamo, X, " AND b > :b", values={":b": {"S": "m"}}, ExclusiveStartKey={"a": X, "b": {"S": "a"}}
    )
    dynamo.invalid("Query", request, "The provided starting key does not match the range key predicate")


def test_filters_do_not_name_keys(dynamo: Dynamo) -> None:
    for name in ("a", "b"):
        request = query(dynamo, X, FilterExpression=f"{name} = :f", values={":f": X})
        message = (
            f"Filter Expression can only contain non-primary key attributes: Primary key attribute: {name}"
        )
        dynamo.invalid("Query", request, message)


def test_an_index_that_is_not_there(dynamo: Dynamo) -> None:
    message = "The table does not have the specified index: nope"
    dynamo.invalid("Query", query(dynamo, X, IndexName="nope"), message)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ({"Select": "SPECIFIC_ATTRIBUTES"}, "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"),
        ({"Select": "COUNT", "ProjectionExpression": "n"}, "Cannot specify the ProjectionExpression when choosing to get only the Count"),
        ({"Select": "ALL_ATTRIBUTES", "ProjectionExpression": "n"}, "Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES"),
        ({"Select": "ALL_PROJECTED_ATTRIBUTES"}, "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"),
    ],
)  # fmt: skip
def test_select_and_projection_agree(dynamo: Dynamo, rest: Json, message: str) -> None:
    dynamo.invalid("Query", query(dynamo, X, **rest), message)


def test_a_global_index_has_no_consistent_reads(dynamo: Dynamo) -> None:
    request = {
        "TableName": dynamo.table("indexed"),
        "IndexName": "gsi_all",
        "ConsistentRead": True,
        "KeyConditionExpression": "c = :c",
        "ExpressionAttributeValues": {":c": X},
    }
    dynamo.invalid("Query", request, "Consistent reads are not supported on global secondary indexes")


def test_expressions_and_older_parameters_do_not_mix(dynamo: Dynamo) -> None:
    request = {
        "TableName": "no-such-table",
        "KeyConditions": {"a": {"ComparisonOperator": "EQ", "AttributeValueList": [X]}},
        "QueryFilter": {"c": {"ComparisonOperator": "NULL"}},
        "AttributesToGet": ["a"],
        "ProjectionExpression": "a",
        "FilterExpression": "attribute_exists(c)",
        "KeyConditionExpression": "a = :a",
    }
    dynamo.invalid(
        "Query",
        request,
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributesToGet, QueryFilter, KeyConditions} "
        "Expression parameters: {ProjectionExpression, FilterExpression, KeyConditionExpression}",
    )
