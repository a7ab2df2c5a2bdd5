"""BatchWriteItem: many puts and deletes at once, each on its own."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo, member

Json = dict[str, Any]
X = {"a": {"S": "x"}}


def put(item: Json) -> Json:
    return {"PutRequest": {"Item": item}}


def delete(key: Json) -> Json:
    return {"DeleteRequest": {"Key": key}}


def batch(table: str, *requests: Json) -> Json:
    return {"RequestItems": {table: list(requests)}}


def test_puts_and_deletes(dynamo: Dynamo) -> None:
    old = dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()}, v={"S": "old"})
    new = {"a": {"S": dynamo.unique()}, "v": {"S": "new"}}
    request = batch(dynamo.table("hash"), put(new), delete({"a": old["a"]}))
    assert dynamo.call("BatchWriteItem", request) == {"UnprocessedItems": {}}
    assert dynamo.get(dynamo.table("hash"), a=new["a"]) == new
    assert dynamo.get(dynamo.table("hash"), a=old["a"]) is None


def test_several_tables(dynamo: Dynamo) -> None:
    one = {"a": {"S": dynamo.unique()}}
    other = {"a": {"S": dynamo.unique()}, "b": {"S": "1"}}
    request = {"RequestItems": {dynamo.table("hash"): [put(one)], dynamo.table("range"): [put(other)]}}
    dynamo.call("BatchWriteItem", request)
    assert dynamo.get(dynamo.table("hash"), **one) == one
    assert dynamo.get(dynamo.table("range"), **other) == other


def test_a_put_replaces_the_item(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **key, v={"S": "old"})
    dynamo.call("BatchWriteItem", batch(dynamo.table("hash"), put(key)))
    assert dynamo.get(dynamo.table("hash"), **key) == key


def test_indexes_follow(dynamo: Dynamo) -> None:
    c = {"S": dynamo.unique()}
    item = {"a": {"S": dynamo.unique()}, "b": {"S": "1"}, "c": c}
    request = {
        "TableName": dynamo.table("indexed"),
        "IndexName": "gsi_all",
        "KeyConditionExpression": "c = :c",
        "ExpressionAttributeValues": {":c": c},
    }
    dynamo.call("BatchWriteItem", batch(dynamo.table("indexed"), put(item)))
    assert dynamo.call("Query", request)["Items"] == [item]
    dynamo.call("BatchWriteItem", batch(dynamo.table("indexed"), delete({k: item[k] for k in "ab"})))
    assert dynamo.call("Query", request)["Items"] == []


def test_twenty_five_requests(dynamo: Dynamo) -> None:
    keys = [{"a": {"S": f"{dynamo.unique()}"}} for _ in range(25)]
    assert dynamo.call("BatchWriteItem", batch(dynamo.table("hash"), *map(put, keys))) == {
        "UnprocessedItems": {}
    }


LENGTHS = (
    "failed to satisfy constraint: Map value must satisfy constraint: "
    "[Member must have length less than or equal to 25, Member must have length greater than or equal to 1]"
)


@pytest.mark.parametrize("count", [0, 26])
def test_one_to_twenty_five_requests(dynamo: Dynamo, count: int) -> None:
    requests = [put({"a": {"S": str(n)}}) for n in range(count)]
    refusal = dynamo.refused("BatchWriteItem", batch(dynamo.table("hash"), *requests))
    # The message repeats the whole request in the service's own notation, so only the end of it is compared.
    assert refusal.type == "ValidationException"
    assert refusal.message.startswith("1 validation error detected: Value '{")
    assert refusal.message.endswith(f"at 'requestItems' {LENGTHS}")


def test_twenty_five_over_all_tables(dynamo: Dynamo) -> None:
    one = [put({"a": {"S": str(n)}}) for n in range(15)]
    other = [put({"a": {"S": str(n)}, "b": {"S": "x"}}) for n in range(15)]
    request = {"RequestItems": {dynamo.table("hash"): one, dynamo.table("range"): other}}
    refusal = dynamo.refused("BatchWriteItem", request)
    assert refusal.type == "ValidationException"
    assert (
        refusal.message.endswith(LENGTHS)
        or refusal.message == "Too many items requested for the BatchWriteItem call"
    )


def test_no_tables(dynamo: Dynamo) -> None:
    refusal = dynamo.refused("BatchWriteItem", {"RequestItems": {}})
    assert (refusal.type, refusal.message) in {
        (
            "ValidationException",
            "1 validation error detected: "
            + member("requestItems", "{}", "Member must have length greater than or equal to 1"),
        ),
        ("ValidationException", "The requestItems parameter is required for BatchWriteItem"),
    }


MISMATCH = "The provided key element does not match the schema"
SUPPLIED = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        ([put(X), put(X)], "Provided list of item keys contains duplicates"),
        ([put(X), delete(X)], "Provided list of item keys contains duplicates"),
        ([put({"b": {"S": "x"}})], MISMATCH),
        ([put({"a": {"N": "1"}})], MISMATCH),
        ([delete({"b": {"S": "x"}})], MISMATCH),
        ([delete({"a": {"S": "x"}, "b": {"S": "x"}})], MISMATCH),
        ([delete({})], MISMATCH),
        ([{}], SUPPLIED),
        ([put({"a": {"S": "x"}, "v": {"SS": []}})], "One or more parameter values were invalid: An string set  may not be empty"),
        ([put({"a": {"S": "x"}, "v": {"N": "x"}})], "The parameter cannot be converted to a numeric value: x"),
        ([put({"a": {"S": "x"}, "v": {"S": "x" * 409600}})], "Item size has exceeded the maximum allowed size"),
    ],
)  # fmt: skip
def test_refused(dynamo: Dynamo, requests: list[Json], message: str) -> None:
    dynamo.invalid("BatchWriteItem", batch(dynamo.table("hash"), *requests), message)


def test_nothing_is_written_of_a_refused_batch(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.invalid("BatchWriteItem", batch(dynamo.table("hash"), put(key), put({"b": {"S": "x"}})), MISMATCH)
    assert dynamo.get(dynamo.table("hash"), **key) is None


def test_an_absent_table(dynamo: Dynamo) -> None:
    request = batch("no-such-table", put(X))
    dynamo.refuses("BatchWriteItem", request, "ResourceNotFoundException", "Requested resource not found")
