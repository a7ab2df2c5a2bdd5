"""ReturnItemCollectionMetrics: told for tables with local indexes only."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

Json = dict[str, Any]


def check(metrics: Json, key: Json) -> None:
    assert metrics["ItemCollectionKey"] == {"a": key}
    low, high = metrics["SizeEstimateRangeGB"]
    assert 0 <= low < high <= 1


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem"])
def test_a_table_with_local_indexes_tells(dynamo: Dynamo, operation: str) -> None:
    key = {"a": {"S": dynamo.unique()}, "b": {"S": "1"}}
    member = {"Item": key} if operation == "PutItem" else {"Key": key}
    request = {"TableName": dynamo.table("indexed"), **member}
    assert "ItemCollectionMetrics" not in dynamo.call(operation, request)
    assert "ItemCollectionMetrics" not in dynamo.call(
        operation, {**request, "ReturnItemCollectionMetrics": "NONE"}
    )
    answer = dynamo.call(operation, {**request, "ReturnItemCollectionMetrics": "SIZE"})
    check(answer["ItemCollectionMetrics"], key["a"])


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem"])
def test_a_table_without_them_does_not(dynamo: Dynamo, operation: str) -> None:
    key = {"a": {"S": dynamo.unique()}, "b": {"S": "1"}}
    member = {"Item": key} if operation == "PutItem" else {"Key": key}
    request = {"TableName": dynamo.table("range"), **member, "ReturnItemCollectionMetrics": "SIZE"}
    assert "ItemCollectionMetrics" not in dynamo.call(operation, request)


def test_a_batch_tells_each_collection_once(dynamo: Dynamo) -> None:
    one, two = {"S": dynamo.unique()}, {"S": dynamo.unique()}
    items = [{"a": one, "b": {"S": "1"}}, {"a": one, "b": {"S": "2"}}, {"a": two, "b": {"S": "1"}}]
    request = {
        "RequestItems": {dynamo.table("indexed"): [{"PutRequest": {"Item": item}} for item in items]},
        "ReturnItemCollectionMetrics": "SIZE",
    }
    metrics = dynamo.call("BatchWriteItem", request)["ItemCollectionMetrics"][dynamo.table("indexed")]
    assert sorted(m["ItemCollectionKey"]["a"]["S"] for m in metrics) == sorted([one["S"], two["S"]])


def test_a_transaction_tells_too(dynamo: Dynamo) -> None:
    item = {"a": {"S": dynamo.unique()}, "b": {"S": "1"}}
    request = {
        "TransactItems": [{"Put": {"TableName": dynamo.table("indexed"), "Item": item}}],
        "ReturnItemCollectionMetrics": "SIZE",
    }
    metrics = dynamo.call("TransactWriteItems", request)["ItemCollectionMetrics"][dynamo.table("indexed")]
    assert len(metrics) == 1
    check(metrics[0], item["a"])
