"""Attribute names: anything but nothing; and tables by their ARN."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

Json = dict[str, Any]
X = {"S": "x"}
EMPTY = "Empty attribute name"


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("PutItem", {"Item": {"a": X, "": X}}),
        ("PutItem", {"Item": {"a": X, "m": {"M": {"": X}}}}),
        ("PutItem", {"Item": {"a": X, "l": {"L": [{"M": {"m": {"M": {"": X}}}}]}}}),
        ("GetItem", {"Key": {"": X}}),
        ("DeleteItem", {"Key": {"": X}}),
        ("UpdateItem", {"Key": {"": X}}),
        ("Scan", {"ExclusiveStartKey": {"": X}}),
    ],
)
def test_no_name_is_empty(dynamo: Dynamo, operation: str, members: Json) -> None:
    request = {"TableName": "no-such-table", **members}
    started = f"The provided starting key is invalid: {EMPTY}"
    older = f"One or more parameter values were invalid: {EMPTY}"
    dynamo.invalid(operation, request, EMPTY, older, started)


def test_no_placeholder_stands_for_nothing(dynamo: Dynamo) -> None:
    request = {
        "TableName": "no-such-table",
        "Key": {"a": X},
        "ProjectionExpression": "#b",
        "ExpressionAttributeNames": {"#b": ""},
    }
    message = f"ExpressionAttributeNames contains invalid value: {EMPTY} for key #b"
    dynamo.invalid("GetItem", request, message)


def test_a_table_goes_by_its_arn(dynamo: Dynamo) -> None:
    arn = dynamo.wait_active(dynamo.table("hash"))["TableArn"]
    item = {"a": {"S": dynamo.unique()}}
    dynamo.call("PutItem", {"TableName": arn, "Item": item})
    assert dynamo.get(dynamo.table("hash"), **item) == item
    assert dynamo.call("GetItem", {"TableName": arn, "Key": item})["Item"] == item
    assert dynamo.call("DescribeTable", {"TableName": arn})["Table"]["TableArn"] == arn


def test_names_may_have_65535_bytes(dynamo: Dynamo) -> None:
    name = "n" * 65535
    item = dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()}, **{name: {"S": "x"}})
    assert dynamo.get(dynamo.table("hash"), a=item["a"]) == item
