"""DeleteItem: idempotent, and it gives back what was there."""

from __future__ import annotations

from .dynamo import Dynamo


def test_deleting_nothing_is_fine(dynamo: Dynamo) -> None:
    request = {
        "TableName": dynamo.table("hash"),
        "Key": {"a": {"S": dynamo.unique()}},
        "ReturnValues": "ALL_OLD",
    }
    assert dynamo.call("DeleteItem", request) == {}


def test_a_deleted_item_is_gone(dynamo: Dynamo) -> None:
    item = dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()}, b={"S": "x"})
    request = {"TableName": dynamo.table("hash"), "Key": {"a": item["a"]}}
    assert dynamo.call("DeleteItem", request) == {}
    assert dynamo.get(dynamo.table("hash"), a=item["a"]) is None
    assert dynamo.call("DeleteItem", request) == {}


def test_all_old_gives_the_deleted_item(dynamo: Dynamo) -> None:
    item = dynamo.put(dynamo.table("range"), a={"S": dynamo.unique()}, b={"S": "x"}, c={"SS": ["y"]})
    request = {
        "TableName": dynamo.table("range"),
        "Key": {"a": item["a"], "b": item["b"]},
        "ReturnValues": "ALL_OLD",
    }
    assert dynamo.call("DeleteItem", request) == {"Attributes": item}


def test_only_the_item_of_the_whole_key_goes(dynamo: Dynamo) -> None:
    key = {"S": dynamo.unique()}
    dynamo.put(dynamo.table("range"), a=key, b={"S": "1"})
    other = dynamo.put(dynamo.table("range"), a=key, b={"S": "2"})
    dynamo.call("DeleteItem", {"TableName": dynamo.table("range"), "Key": {"a": key, "b": {"S": "1"}}})
    assert dynamo.get(dynamo.table("range"), a=key, b={"S": "2"}) == other


def test_a_failed_condition_keeps_the_item(dynamo: Dynamo) -> None:
    item = dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()}, n={"N": "1"})
    request = {
        "TableName": dynamo.table("hash"),
        "Key": {"a": item["a"]},
        "ConditionExpression": "n > :n",
        "ExpressionAttributeValues": {":n": {"N": "1"}},
    }
    dynamo.refuses("DeleteItem", request, "ConditionalCheckFailedException", "The conditional request failed")
    assert dynamo.get(dynamo.table("hash"), a=item["a"]) == item


def test_a_condition_on_nothing_fails_unless_it_says_so(dynamo: Dynamo) -> None:
    request = {"TableName": dynamo.table("hash"), "Key": {"a": {"S": dynamo.unique()}}}
    dynamo.refuses(
        "DeleteItem",
        {**request, "ConditionExpression": "attribute_exists(a)"},
        "ConditionalCheckFailedException",
    )
    assert dynamo.call("DeleteItem", {**request, "ConditionExpression": "attribute_not_exists(a)"}) == {}
