"""ReturnConsumedCapacity: the exact units, by table and index."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

Json = dict[str, Any]


def of_size(key: Json, size: int) -> Json:
    """An item of exactly so many bytes beside its key attributes."""
    used = sum(len(name) + len(value["S"]) for name, value in key.items())
    return {**key, "v": {"S": "x" * (size - used - 1)}}


def units(dynamo: Dynamo, operation: str, request: Json) -> float:
    total = dynamo.call(operation, {**request, "ReturnConsumedCapacity": "TOTAL"})["ConsumedCapacity"]
    assert total.keys() == {"TableName", "CapacityUnits"}
    assert total["TableName"] == request["TableName"]
    return float(total["CapacityUnits"])


@pytest.mark.parametrize("operation", ["GetItem", "PutItem", "UpdateItem", "DeleteItem", "Scan"])
def test_none_is_told_unless_asked(dynamo: Dynamo, operation: str) -> None:
    members: dict[str, Json] = {"PutItem": {"Item": {"a": {"S": "x"}}}, "Scan": {"Limit": 1}}
    member = members.get(operation, {"Key": {"a": {"S": "x"}}})
    request = {"TableName": dynamo.table("hash"), **member}
    assert "ConsumedCapacity" not in dynamo.call(operation, request)
    assert "ConsumedCapacity" not in dynamo.call(operation, {**request, "ReturnConsumedCapacity": "NONE"})


@pytest.mark.parametrize(("size", "expected"), [(100, 1), (4096, 1), (4097, 2), (8192, 2), (20_000, 5)])
def test_reads_count_in_four_kilobytes(dynamo: Dynamo, size: int, expected: int) -> None:
    item = dynamo.put(dynamo.table("hash"), **of_size({"a": {"S": dynamo.unique()}}, size))
    request = {"TableName": dynamo.table("hash"), "Key": {"a": item["a"]}}
    assert units(dynamo, "GetItem", {**request, "ConsistentRead": True}) == expected
    assert units(dynamo, "GetItem", request) == expected / 2
    assert units(dynamo, "GetItem", {**request, "ProjectionExpression": "a"}) == expected / 2


def test_reading_nothing_counts_as_one(dynamo: Dynamo) -> None:
    request = {"TableName": dynamo.table("hash"), "Key": {"a": {"S": "nobody"}}}
    assert units(dynamo, "GetItem", request) == 0.5
    assert units(dynamo, "GetItem", {**request, "ConsistentRead": True}) == 1


@pytest.mark.parametrize(("size", "expected"), [(100, 1), (1024, 1), (1025, 2), (2048, 2), (5000, 5)])
def test_writes_count_in_kilobytes(dynamo: Dynamo, size: int, expected: int) -> None:
    item = of_size({"a": {"S": dynamo.unique()}}, size)
    table = dynamo.table("hash")
    assert units(dynamo, "PutItem", {"TableName": table, "Item": item}) == expected
    assert (
        units(
            dynamo,
            "UpdateItem",
            {"TableName": table, "Key": {"a": item["a"]}, "UpdateExpression": "REMOVE nothing"},
        )
        == expected
    )
    assert units(dynamo, "DeleteItem", {"TableName": table, "Key": {"a": item["a"]}}) == expected
    assert units(dynamo, "DeleteItem", {"TableName": table, "Key": {"a": item["a"]}}) == 1


def test_the_larger_of_old_and_new_counts(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **of_size(key, 3000))
    assert units(dynamo, "PutItem", {"TableName": dynamo.table("hash"), "Item": key}) == 3
    assert units(dynamo, "PutItem", {"TableName": dynamo.table("hash"), "Item": of_size(key, 2000)}) == 2


def test_a_query_counts_the_sum_of_its_items(dynamo: Dynamo) -> None:
    key = {"S": dynamo.unique()}
    for place in range(3):
        dynamo.put(dynamo.table("range"), **of_size({"a": key, "b": {"S": str(place)}}, 3000))
    request = {
        "TableName": dynamo.table("range"),
        "KeyConditionExpression": "a = :a",
        "ExpressionAttributeValues": {":a": key},
    }
    # 9000 bytes are three times four kilobytes, not three items of one unit each.
    assert units(dynamo, "Query", request) == 1.5
    assert units(dynamo, "Query", {**request, "ConsistentRead": True}) == 3
    assert units(dynamo, "Query", {**request, "Limit": 1}) == 0.5
    filtered = {**request, "FilterExpression": "attribute_not_exists(v)", "Select": "COUNT"}
    assert units(dynamo, "Query", filtered) == 1.5


def test_indexes_mode_tells_the_table_apart(dynamo: Dynamo) -> None:
    request = {
        "TableName": dynamo.table("hash"),
        "Key": {"a": {"S": "x"}},
        "ReturnConsumedCapacity": "INDEXES",
    }
    assert dynamo.call("GetItem", request)["ConsumedCapacity"] == {
        "TableName": dynamo.table("hash"),
        "CapacityUnits": 0.5,
        "Table": {"CapacityUnits": 0.5},
    }
    put = {"TableName": dynamo.table("hash"), "Item": {"a": {"S": "x"}}, "ReturnConsumedCapacity": "INDEXES"}
    assert dynamo.call("PutItem", put)["ConsumedCapacity"] == {
        "TableName": dynamo.table("hash"),
        "CapacityUnits": 1,
        "Table": {"CapacityUnits": 1},
    }


def by_index(dynamo: Dynamo, operation: str, request: Json) -> dict[str, float]:
    """The units of the table, as "table", and of each index by its name; they add up to the total."""
    consumed = dynamo.call(operation, {**request, "ReturnConsumedCapacity": "INDEXES"})["ConsumedCapacity"]
    found = {"table": float(consumed["Table"]["CapacityUnits"])}
    for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        found |= {name: float(part["CapacityUnits"]) for name, part in consumed.get(kind, {}).items()}
    assert sum(found.values()) == consumed["CapacityUnits"]
    return found


def item(dynamo: Dynamo, **rest: str) -> Json:
    return {
        "a": {"S": dynamo.unique()},
        "b": {"S": "1"},
        **{name: {"S": value} for name, value in rest.items()},
    }


LARGE = "x" * 1500


def test_a_new_entry_costs_its_size(dynamo: Dynamo) -> None:
    request = {"TableName": dynamo.table("indexed"), "Item": item(dynamo, c="c", d="d", e=LARGE, f=LARGE)}
    assert by_index(dynamo, "PutItem", request) == {
        "table": 3,
        "lsi_all": 3,
        "lsi_keys": 1,
        "lsi_some": 2,
        "gsi_all": 3,
        "gsi_keys": 1,
        "gsi_some": 2,
    }


def test_an_index_without_the_item_costs_nothing(dynamo: Dynamo) -> None:
    request = {"TableName": dynamo.table("indexed"), "Item": item(dynamo, c="c")}
    assert by_index(dynamo, "PutItem", request) == {"table": 1, "lsi_all": 1, "gsi_all": 1}


def test_an_unchanged_entry_costs_nothing(dynamo: Dynamo) -> None:
    stored = dynamo.put(dynamo.table("indexed"), **item(dynamo, c="c", d="d", e="1", f="1"))
    same = {"TableName": dynamo.table("indexed"), "Item": stored}
    assert by_index(dynamo, "PutItem", same) == {"table": 1}
    request = {**same, "Item": {**stored, "f": {"S": "2"}}}
    assert by_index(dynamo, "PutItem", request) == {"table": 1, "lsi_all": 1, "gsi_all": 1}


def test_a_moved_entry_costs_a_delete_and_a_put(dynamo: Dynamo) -> None:
    stored = dynamo.put(dynamo.table("indexed"), **item(dynamo, c="c"))
    request = {
        "TableName": dynamo.table("indexed"),
        "Key": {name: stored[name] for name in "ab"},
        "UpdateExpression": "SET c = :c",
        "ExpressionAttributeValues": {":c": {"S": "moved"}},
    }
    assert by_index(dynamo, "UpdateItem", request) == {"table": 1, "lsi_all": 2, "gsi_all": 2}


def test_a_deleted_entry_costs_its_size(dynamo: Dynamo) -> None:
    stored = dynamo.put(dynamo.table("indexed"), **item(dynamo, c="c", f=LARGE))
    request = {"TableName": dynamo.table("indexed"), "Key": {name: stored[name] for name in "ab"}}
    assert by_index(dynamo, "DeleteItem", request) == {"table": 2, "lsi_all": 2, "gsi_all": 2}
    assert by_index(dynamo, "DeleteItem", request) == {"table": 1}


def index_query(dynamo: Dynamo, index: str, name: str, value: Json, **rest: Any) -> Json:
    return {
        "TableName": dynamo.table("indexed"),
        "IndexName": index,
        "KeyConditionExpression": f"{name} = :v",
        "ExpressionAttributeValues": {":v": value},
        **rest,
    }


def test_reading_an_index_costs_what_the_index_holds(dynamo: Dynamo) -> None:
    stored = dynamo.put(dynamo.table("indexed"), **item(dynamo, c=dynamo.unique(), d="d", f="x" * 9000))
    assert by_index(dynamo, "Query", index_query(dynamo, "gsi_all", "c", stored["c"])) == {
        "table": 0,
        "gsi_all": 1.5,
    }
    assert by_index(dynamo, "Query", index_query(dynamo, "gsi_keys", "c", stored["c"])) == {
        "table": 0,
        "gsi_keys": 0.5,
    }
    request = index_query(dynamo, "lsi_keys", "a", stored["a"], ConsistentRead=True)
    assert by_index(dynamo, "Query", request) == {"table": 0, "lsi_keys": 1}


def test_fetching_from_the_table_costs_on_top(dynamo: Dynamo) -> None:
    stored = dynamo.put(dynamo.table("indexed"), **item(dynamo, d="d", f="x" * 5000))
    request = index_query(dynamo, "lsi_keys", "a", stored["a"], Select="ALL_ATTRIBUTES")
    assert by_index(dynamo, "Query", request) == {"table": 1, "lsi_keys": 0.5}


def test_batches_tell_each_table(dynamo: Dynamo) -> None:
    one = of_size({"a": {"S": dynamo.unique()}}, 1500)
    indexed = item(dynamo, c="c")
    write = {
        "RequestItems": {
            dynamo.table("hash"): [{"PutRequest": {"Item": one}}],
            dynamo.table("indexed"): [{"PutRequest": {"Item": indexed}}],
        },
        "ReturnConsumedCapacity": "INDEXES",
    }
    told = {c["TableName"]: c for c in dynamo.call("BatchWriteItem", write)["ConsumedCapacity"]}
    assert told[dynamo.table("hash")]["CapacityUnits"] == 2
    assert told[dynamo.table("indexed")] == {
        "TableName": dynamo.table("indexed"),
        "CapacityUnits": 3,
        "Table": {"CapacityUnits": 1},
        "LocalSecondaryIndexes": {"lsi_all": {"CapacityUnits": 1}},
        "GlobalSecondaryIndexes": {"gsi_all": {"CapacityUnits": 1}},
    }
    read = {
        "RequestItems": {
            dynamo.table("hash"): {"Keys": [{"a": one["a"]}, {"a": {"S": "nobody"}}], "ConsistentRead": True},
            dynamo.table("indexed"): {"Keys": [{name: indexed[name] for name in "ab"}]},
        },
        "ReturnConsumedCapacity": "TOTAL",
    }
    units = {
        c["TableName"]: c["CapacityUnits"] for c in dynamo.call("BatchGetItem", read)["ConsumedCapacity"]
    }
    assert units == {dynamo.table("hash"): 2, dynamo.table("indexed"): 0.5}


def test_transactions_cost_twice(dynamo: Dynamo) -> None:
    one = of_size({"a": {"S": dynamo.unique()}}, 1500)
    table = dynamo.table("hash")
    actions = [
        {"Put": {"TableName": table, "Item": one}},
        {"Delete": {"TableName": table, "Key": {"a": {"S": "nobody"}}}},
    ]
    written = dynamo.call("TransactWriteItems", {"TransactItems": actions, "ReturnConsumedCapacity": "TOTAL"})
    assert written["ConsumedCapacity"] == [{"TableName": table, "CapacityUnits": 6, "WriteCapacityUnits": 6}]
    gets = [{"Get": {"TableName": table, "Key": {"a": one["a"]}}}]
    read = dynamo.call("TransactGetItems", {"TransactItems": gets, "ReturnConsumedCapacity": "INDEXES"})
    assert read["ConsumedCapacity"] == [
        {
            "TableName": table,
            "CapacityUnits": 2,
            "ReadCapacityUnits": 2,
            "Table": {"CapacityUnits": 2, "ReadCapacityUnits": 2},
        }
    ]


def test_the_indexes_of_a_transaction_cost_once(dynamo: Dynamo) -> None:
    actions = [{"Put": {"TableName": dynamo.table("indexed"), "Item": item(dynamo, c="c")}}]
    answer = dynamo.call(
        "TransactWriteItems", {"TransactItems": actions, "ReturnConsumedCapacity": "INDEXES"}
    )
    one = {"CapacityUnits": 1, "WriteCapacityUnits": 1}
    assert answer["ConsumedCapacity"] == [
        {
            "TableName": dynamo.table("indexed"),
            "CapacityUnits": 4,
            "WriteCapacityUnits": 4,
            "Table": {"CapacityUnits": 2, "WriteCapacityUnits": 2},
            "LocalSecondaryIndexes": {"lsi_all": one},
            "GlobalSecondaryIndexes": {"gsi_all": one},
        }
    ]


def test_sizes_of_numbers(dynamo: Dynamo) -> None:
    # A number takes a byte and one for every two digits, so that these 1024 bytes have a byte to spare or not.
    key = {"a": {"S": "k" * 20}}
    fits = {**key, "n": {"N": "1234"}, "v": {"S": "x" * (1024 - 21 - 1 - 3 - 1)}}
    assert units(dynamo, "PutItem", {"TableName": dynamo.table("hash"), "Item": fits}) == 1
    more = {**fits, "v": {"S": fits["v"]["S"] + "x"}}
    dynamo.call("DeleteItem", {"TableName": dynamo.table("hash"), "Key": key})
    assert units(dynamo, "PutItem", {"TableName": dynamo.table("hash"), "Item": more}) == 2
