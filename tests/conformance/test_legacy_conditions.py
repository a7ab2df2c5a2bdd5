"""KeyConditions, QueryFilter and ScanFilter: the conditions on reads of before expressions."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo
from .test_legacy_expected import op
from .test_query import LETTERS, found

Json = dict[str, Any]
X = {"S": "x"}
INVALID = "One or more parameter values were invalid: "


@pytest.fixture(scope="session")
def letters(dynamo: Dynamo) -> Json:
    key = {"S": dynamo.unique("letters")}
    for place, letter in enumerate(LETTERS):
        dynamo.put(dynamo.table("range"), a=key, b={"S": letter}, n={"N": str(place)}, t={"SS": [letter]})
    return key


def query(dynamo: Dynamo, hash_value: Json, **rest: Any) -> Json:
    conditions = {"a": op("EQ", hash_value), **rest.pop("conditions", {})}
    return {"TableName": dynamo.table("range"), "KeyConditions": conditions, **rest}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (op("EQ", {"S": "ab"}), ["ab"]),
        (op("LT", {"S": "b"}), ["a", "ab", "abc"]),
        (op("LE", {"S": "b"}), ["a", "ab", "abc", "b"]),
        (op("GT", {"S": "b"}), ["ba", "c"]),
        (op("GE", {"S": "b"}), ["b", "ba", "c"]),
        (op("BETWEEN", {"S": "ab"}, {"S": "b"}), ["ab", "abc", "b"]),
        (op("BEGINS_WITH", {"S": "ab"}), ["ab", "abc"]),
    ],
)
def test_key_conditions(dynamo: Dynamo, letters: Json, condition: Json, expected: list[str]) -> None:
    assert found(dynamo.call("Query", query(dynamo, letters, conditions={"b": condition}))) == expected


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"n": op("EQ", {"N": "1"})}, ["ab"]),
        ({"n": op("NE", {"N": "1"})}, ["a", "abc", "b", "ba", "c"]),
        ({"n": op("IN", {"N": "1"}, {"N": "2"})}, ["ab", "abc"]),
        ({"n": op("BETWEEN", {"N": "4"}, {"N": "9"})}, ["ba", "c"]),
        ({"n": op("GT", {"N": "3"}), "t": op("CONTAINS", {"S": "c"})}, ["c"]),
        ({"t": op("NOT_CONTAINS", {"S": "c"})}, ["a", "ab", "abc", "b", "ba"]),
        ({"nothing": op("NULL")}, LETTERS),
        ({"nothing": op("NOT_NULL")}, []),
        ({"n": op("LT", {"S": "9"})}, []),
    ],
)
def test_query_filters(dynamo: Dynamo, letters: Json, filters: Json, expected: list[str]) -> None:
    answer = dynamo.call("Query", query(dynamo, letters, QueryFilter=filters))
    assert (found(answer), answer["ScannedCount"]) == (expected, 6)


def test_filters_joined_by_or(dynamo: Dynamo, letters: Json) -> None:
    filters = {"n": op("EQ", {"N": "1"}), "t": op("CONTAINS", {"S": "c"})}
    answer = dynamo.call("Query", query(dynamo, letters, QueryFilter=filters, ConditionalOperator="OR"))
    assert found(answer) == ["ab", "c"]


def test_a_scan_filter(dynamo: Dynamo, letters: Json) -> None:
    filters = {"a": op("EQ", letters), "n": op("GE", {"N": "4"})}
    answer = dynamo.call("Scan", {"TableName": dynamo.table("range"), "ScanFilter": filters})
    assert sorted(found(answer)) == ["ba", "c"]


@pytest.mark.parametrize(
    ("conditions", "messages"),
    [
        ({}, ["Conditions can be of length 1 or 2 only"]),
        ({"b": op("EQ", X)}, ["Query condition missed key schema element: a"]),
        ({"a": op("GT", X)}, ["Query key condition not supported"]),
        ({"a": op("EQ", X), "c": op("EQ", X)}, ["Query condition missed key schema element: b"]),
        ({"a": op("EQ", X), "b": op("NE", X)}, ["Attempted conditional constraint is not an indexable operation"]),
        ({"a": op("EQ", X), "b": op("CONTAINS", X)}, ["Attempted conditional constraint is not an indexable operation"]),
        ({"a": op("EQ", X), "b": op("IN", X)}, ["Attempted conditional constraint is not an indexable operation"]),
        ({"a": op("EQ", X), "b": op("NOT_NULL")}, ["Attempted conditional constraint is not an indexable operation"]),
        ({"a": op("EQ", {"N": "1"})}, [INVALID + "Condition parameter type does not match schema type"]),
        ({"a": op("EQ", X), "b": op("EQ", X), "c": op("EQ", X)}, ["Conditions can be of length 1 or 2 only", "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)"]),
        ({"a": op("EQ")}, [INVALID + "Invalid number of argument(s) for the EQ ComparisonOperator"]),
        ({"a": op("EQ", X, X)}, [INVALID + "Invalid number of argument(s) for the EQ ComparisonOperator"]),
        ({"a": op("EQ", X), "b": op("BETWEEN", X)}, [INVALID + "Invalid number of argument(s) for the BETWEEN ComparisonOperator"]),
    ],
)  # fmt: skip
def test_refused_key_conditions(dynamo: Dynamo, conditions: Json, messages: list[str]) -> None:
    request = {"TableName": dynamo.table("range"), "KeyConditions": conditions}
    dynamo.invalid("Query", request, *messages)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (op("NULL", X), "Invalid number of argument(s) for the NULL ComparisonOperator"),
        (op("EQ"), "Invalid number of argument(s) for the EQ ComparisonOperator"),
        (op("IN"), "Invalid number of argument(s) for the IN ComparisonOperator"),
        (op("BETWEEN", X, X, X), "Invalid number of argument(s) for the BETWEEN ComparisonOperator"),
        (op("LT", {"BOOL": True}), "ComparisonOperator LT is not valid for BOOL AttributeValue type"),
        (op("GE", {"SS": ["x"]}), "ComparisonOperator GE is not valid for SS AttributeValue type"),
        (op("BEGINS_WITH", {"N": "1"}), "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type"),
        (op("BETWEEN", {"NULL": True}, {"NULL": True}), "ComparisonOperator BETWEEN is not valid for NULL AttributeValue type"),
        (op("CONTAINS", {"SS": ["x"]}), "ComparisonOperator CONTAINS is not valid for SS AttributeValue type"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_refused_filters(dynamo: Dynamo, operation: str, condition: Json, message: str) -> None:
    request: Json = {"TableName": "no-such-table"}
    request |= {"ScanFilter": {"c": condition}} if operation == "Scan" else {"QueryFilter": {"c": condition}}
    dynamo.invalid(operation, request, INVALID + message)


def test_query_filters_do_not_name_keys(dynamo: Dynamo) -> None:
    request = query(dynamo, X, QueryFilter={"b": op("EQ", X)})
    dynamo.invalid(
        "Query", request, "QueryFilter can only contain non-primary key attributes: Primary key attribute: b"
    )


def test_a_scan_does_not_mix_both(dynamo: Dynamo) -> None:
    request = {
        "TableName": "no-such-table",
        "ScanFilter": {"c": op("NULL")},
        "AttributesToGet": ["a"],
        "FilterExpression": "attribute_exists(c)",
        "ProjectionExpression": "a",
    }
    dynamo.invalid(
        "Scan",
        request,
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributesToGet, ScanFilter} "
        "Expression parameters: {ProjectionExpression, FilterExpression}",
    )
