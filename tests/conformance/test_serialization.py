"""Requests of the wrong JSON types: refused before anything else is looked at."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

Json = dict[str, Any]

STRING: list[tuple[Any, str]] = [
    (True, "TRUE_VALUE cannot be converted to String"),
    (False, "FALSE_VALUE cannot be converted to String"),
    (23, "NUMBER_VALUE cannot be converted to String"),
    (23.5, "DECIMAL_VALUE cannot be converted to String"),
    ([], "Unrecognized collection type class java.lang.String"),
    ({}, "Start of structure or map found where not expected"),
]
BOOLEAN: list[tuple[Any, str]] = [
    (23, "NUMBER_VALUE cannot be converted to Boolean"),
    (23.5, "DECIMAL_VALUE cannot be converted to Boolean"),
    ("maybe", "Unexpected token received from parser"),
    ([], "Unrecognized collection type class java.lang.Boolean"),
    ({}, "Start of structure or map found where not expected"),
]
INTEGER: list[tuple[Any, str]] = [
    (True, "TRUE_VALUE cannot be converted to Integer"),
    ("23", "STRING_VALUE cannot be converted to Integer"),
    ([], "Unrecognized collection type class java.lang.Integer"),
    ({}, "Start of structure or map found where not expected"),
]
LIST: list[tuple[Any, str]] = [
    (True, "Unexpected field type"),
    (23, "Unexpected field type"),
    ("x", "Unexpected field type"),
    ({}, "Start of structure or map found where not expected"),
]


def values_map(member: str) -> list[tuple[str, Any, str]]:
    kind = "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>"
    return [
        (member, True, "Unexpected field type"),
        (member, 23, "Unexpected field type"),
        (member, "x", "Unexpected field type"),
        (member, [], f"Unrecognized collection type {kind}"),
    ]


def names_map(member: str) -> list[tuple[str, Any, str]]:
    kind = "java.util.Map<java.lang.String, java.lang.String>"
    return [(member, 23, "Unexpected field type"), (member, [], f"Unrecognized collection type {kind}")]


MEMBERS: dict[str, list[tuple[str, Any, str]]] = {
    "GetItem": [
        *(("TableName", *case) for case in STRING),
        *(("ConsistentRead", *case) for case in BOOLEAN),
        *(("AttributesToGet", *case) for case in LIST),
        *(("ProjectionExpression", *case) for case in STRING[:3]),
        *values_map("Key"),
        *names_map("ExpressionAttributeNames"),
    ],
    "PutItem": [
        *(("ReturnValues", *case) for case in STRING[:3]),
        *(("ConditionExpression", *case) for case in STRING[:3]),
        *values_map("Item"),
        *values_map("ExpressionAttributeValues"),
    ],
    "Query": [
        *(("Limit", *case) for case in INTEGER),
        *(("ScanIndexForward", *case) for case in BOOLEAN[:2]),
        *(("IndexName", *case) for case in STRING[:3]),
        *values_map("ExclusiveStartKey"),
    ],
    "Scan": [
        *(("Segment", *case) for case in INTEGER),
        *(("TotalSegments", *case) for case in INTEGER),
        *(("FilterExpression", *case) for case in STRING[:3]),
    ],
    "CreateTable": [
        *(("AttributeDefinitions", *case) for case in LIST),
        *(("KeySchema", *case) for case in LIST),
        ("ProvisionedThroughput", 23, "Unexpected field type"),
        ("ProvisionedThroughput", [], "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.ProvisionedThroughput"),
        ("KeySchema", [23], "Unexpected value type in payload"),
        ("KeySchema", [[]], "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.KeySchemaElement"),
        ("ProvisionedThroughput", {"ReadCapacityUnits": "23"}, "STRING_VALUE cannot be converted to Long"),
        ("ProvisionedThroughput", {"ReadCapacityUnits": True}, "TRUE_VALUE cannot be converted to Long"),
    ],
}  # fmt: skip
CASES = [(operation, *case) for operation, cases in MEMBERS.items() for case in cases]


@pytest.mark.parametrize(("operation", "member", "value", "message"), CASES)
def test_members(anyhow: Dynamo, operation: str, member: str, value: Any, message: str) -> None:
    anyhow.refuses(operation, {member: value}, "SerializationException", message)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("x", "Unexpected value type in payload"),
        (23, "Unexpected value type in payload"),
        ([], "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue"),
        ({"S": 23}, "NUMBER_VALUE cannot be converted to String"),
        ({"S": True}, "TRUE_VALUE cannot be converted to String"),
        ({"S": []}, "Unrecognized collection type class java.lang.String"),
        ({"N": 23}, "NUMBER_VALUE cannot be converted to String"),
        ({"B": 23}, "only base-64-encoded strings are convertible to bytes"),
        ({"B": []}, "Unrecognized collection type class java.nio.ByteBuffer"),
        ({"B": "x"}, "Base64 encoded length is expected a multiple of 4 bytes but found: 1"),
        ({"BOOL": 23}, "NUMBER_VALUE cannot be converted to Boolean"),
        ({"BOOL": "maybe"}, "Unexpected token received from parser"),
        ({"NULL": 23.5}, "DECIMAL_VALUE cannot be converted to Boolean"),
        ({"SS": "x"}, "Unexpected field type"),
        ({"SS": [23]}, "NUMBER_VALUE cannot be converted to String"),
        ({"NS": {}}, "Start of structure or map found where not expected"),
        ({"L": "x"}, "Unexpected field type"),
        ({"L": ["x"]}, "Unexpected value type in payload"),
        ({"L": [{"S": 23}]}, "NUMBER_VALUE cannot be converted to String"),
        ({"M": "x"}, "Unexpected field type"),
        ({"M": {"x": 23}}, "Unexpected value type in payload"),
        ({"M": {"x": {"N": 23}}}, "NUMBER_VALUE cannot be converted to String"),
    ],
)
@pytest.mark.parametrize("where", ["Item", "ExpressionAttributeValues"])
def test_values(anyhow: Dynamo, where: str, value: Any, reason: str) -> None:
    anyhow.refuses("PutItem", {where: {"a": value}}, "SerializationException", reason)


def test_booleans_may_be_words(anyhow: Dynamo) -> None:
    request = {"TableName": anyhow.table("hash"), "Key": {"a": {"S": "nobody"}}, "ConsistentRead": "true"}
    assert (
        anyhow.call("GetItem", {**request, "ReturnConsumedCapacity": "TOTAL"})["ConsumedCapacity"][
            "CapacityUnits"
        ]
        == 1
    )


def test_nulls_are_as_if_absent(anyhow: Dynamo) -> None:
    request: Json = {
        "TableName": anyhow.table("hash"),
        "Key": {"a": {"S": "nobody"}},
        "ProjectionExpression": None,
        "AttributesToGet": None,
        "ConsistentRead": None,
    }
    assert anyhow.call("GetItem", request) == {}


def test_types_come_before_constraints(anyhow: Dynamo) -> None:
    request = {"TableName": "a;", "ReturnConsumedCapacity": "hi", "Key": "x"}
    anyhow.refuses("GetItem", request, "SerializationException", "Unexpected field type")


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("x", "Unexpected field type"),
        ([], "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.KeysAndAttributes>"),
        ({"abc": "x"}, "Unexpected value type in payload"),
        ({"abc": []}, "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.KeysAndAttributes"),
        ({"abc": {"Keys": "x"}}, "Unexpected field type"),
        ({"abc": {"Keys": [[]]}}, "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>"),
    ],
)  # fmt: skip
def test_batches(anyhow: Dynamo, items: Any, message: str) -> None:
    anyhow.refuses("BatchGetItem", {"RequestItems": items}, "SerializationException", message)
