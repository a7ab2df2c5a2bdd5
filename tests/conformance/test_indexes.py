"""Secondary indexes: which items are in them, which attributes, in which order, and their pages."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

Json = dict[str, Any]


def s(text: str) -> Json:
    return {"S": text}


@pytest.fixture(scope="session")
def group(dynamo: Dynamo) -> dict[str, Json]:
    """Five items that share their hash key in the table and in gsi_all; d orders them backwards; one has no d."""
    a, c = s(dynamo.unique("a")), s(dynamo.unique("c"))
    for place in range(5):
        item = {"a": a, "b": s(str(place)), "c": c, "e": s("kept"), "f": s("left out")}
        if place != 2:
            item["d"] = s(f"d{9 - place}")
        dynamo.put(dynamo.table("indexed"), **item)
    return {"a": a, "c": c}


def ask(dynamo: Dynamo, index: str, condition: str, values: Json, **rest: Any) -> Json:
    return {
        "TableName": dynamo.table("indexed"),
        "IndexName": index,
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": values,
        **rest,
    }


KEYS = {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("index", "hash_name", "places", "names"),
    [
        ("lsi_all", "a", None, KEYS | {"e", "f"}),
        ("lsi_keys", "a", [4, 3, 1, 0], {"a", "b", "d"}),
        ("lsi_some", "a", [4, 3, 1, 0], {"a", "b", "d", "e"}),
        ("gsi_all", "c", None, KEYS | {"e", "f"}),
        ("gsi_keys", "c", [4, 3, 1, 0], KEYS),
    ],
)
def test_what_an_index_holds(
    dynamo: Dynamo,
    group: dict[str, Json],
    index: str,
    hash_name: str,
    places: list[int] | None,
    names: set[str],
) -> None:
    answer = dynamo.call("Query", ask(dynamo, index, f"{hash_name} = :h", {":h": group[hash_name]}))
    found = [int(item["b"]["S"]) for item in answer["Items"]]
    # Among equal keys the order is the service's own.
    assert found == places if places is not None else sorted(found) == [0, 1, 2, 3, 4]
    assert all(item.keys() <= names and item.keys() | {"d"} == names | {"d"} for item in answer["Items"])


def test_the_other_way_round(dynamo: Dynamo, group: dict[str, Json]) -> None:
    request = ask(dynamo, "lsi_keys", "a = :h", {":h": group["a"]}, ScanIndexForward=False)
    assert [item["b"]["S"] for item in dynamo.call("Query", request)["Items"]] == ["0", "1", "3", "4"]


def test_a_range_condition_on_an_index(dynamo: Dynamo, group: dict[str, Json]) -> None:
    request = ask(dynamo, "gsi_keys", "c = :h AND d > :d", {":h": group["c"], ":d": s("d6")})
    assert [item["b"]["S"] for item in dynamo.call("Query", request)["Items"]] == ["1", "0"]


@pytest.mark.parametrize(
    ("index", "hash_name", "key_names"),
    [("lsi_keys", "a", {"a", "b", "d"}), ("gsi_all", "c", {"a", "b", "c"}), ("gsi_keys", "c", KEYS)],
)
@pytest.mark.parametrize("forward", [True, False])
def test_pages(
    dynamo: Dynamo, group: dict[str, Json], index: str, hash_name: str, key_names: set[str], forward: bool
) -> None:
    request = ask(dynamo, index, f"{hash_name} = :h", {":h": group[hash_name]}, ScanIndexForward=forward)
    whole = dynamo.call("Query", request)["Items"]
    collected: list[Json] = []
    request["Limit"] = 2
    for _ in range(6):
        answer = dynamo.call("Query", request)
        collected += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            break
        assert answer["LastEvaluatedKey"].keys() == key_names
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
    assert collected == whole


def test_an_update_moves_an_item_in_an_index(dynamo: Dynamo) -> None:
    a, old, new = s(dynamo.unique()), s(dynamo.unique("old")), s(dynamo.unique("new"))
    dynamo.put(dynamo.table("indexed"), a=a, b=s("1"), c=old)
    key = {"a": a, "b": s("1")}
    change = {
        "TableName": dynamo.table("indexed"),
        "Key": key,
        "UpdateExpression": "SET c = :c",
        "ExpressionAttributeValues": {":c": new},
    }
    dynamo.call("UpdateItem", change)
    assert dynamo.call("Query", ask(dynamo, "gsi_all", "c = :h", {":h": old}))["Count"] == 0
    assert dynamo.call("Query", ask(dynamo, "gsi_all", "c = :h", {":h": new}))["Items"] == [{**key, "c": new}]


@pytest.mark.parametrize("how", ["REMOVE", "put", "delete"])
def test_an_item_leaves_an_index_with_its_key(dynamo: Dynamo, how: str) -> None:
    a, c = s(dynamo.unique()), s(dynamo.unique())
    key = {"a": a, "b": s("1")}
    dynamo.put(dynamo.table("indexed"), **key, c=c)
    match how:
        case "REMOVE":
            change = {"TableName": dynamo.table("indexed"), "Key": key, "UpdateExpression": "REMOVE c"}
            dynamo.call("UpdateItem", change)
        case "put":
            dynamo.put(dynamo.table("indexed"), **key)
        case _:
            dynamo.call("DeleteItem", {"TableName": dynamo.table("indexed"), "Key": key})
    for index, name, value in (("gsi_all", "c", c), ("lsi_all", "a", a)):
        assert dynamo.call("Query", ask(dynamo, index, f"{name} = :h", {":h": value}))["Count"] == 0


def test_a_scan_of_a_sparse_index(dynamo: Dynamo, group: dict[str, Json]) -> None:
    request: Json = {
        "TableName": dynamo.table("indexed"),
        "IndexName": "gsi_keys",
        "FilterExpression": "a = :a",
        "ExpressionAttributeValues": {":a": group["a"]},
    }
    answer = dynamo.call("Scan", request)
    assert sorted(item["b"]["S"] for item in answer["Items"]) == ["0", "1", "3", "4"]
    assert all(item.keys() == KEYS for item in answer["Items"])


def test_all_attributes_of_a_local_index_come_from_the_table(dynamo: Dynamo, group: dict[str, Json]) -> None:
    request = ask(dynamo, "lsi_keys", "a = :h", {":h": group["a"]}, Select="ALL_ATTRIBUTES", Limit=1)
    assert dynamo.call("Query", request)["Items"][0].keys() == KEYS | {"e", "f"}


def test_a_local_index_projects_what_the_table_has(dynamo: Dynamo, group: dict[str, Json]) -> None:
    request = ask(dynamo, "lsi_keys", "a = :h", {":h": group["a"]}, ProjectionExpression="f, b", Limit=1)
    assert dynamo.call("Query", request)["Items"] == [{"b": s("4"), "f": s("left out")}]


def test_all_projected_attributes(dynamo: Dynamo, group: dict[str, Json]) -> None:
    request = ask(
        dynamo, "gsi_keys", "c = :h", {":h": group["c"]}, Select="ALL_PROJECTED_ATTRIBUTES", Limit=1
    )
    assert dynamo.call("Query", request)["Items"][0].keys() == KEYS


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_all_attributes_of_a_global_index_need_all_projected(dynamo: Dynamo, operation: str) -> None:
    request = ask(dynamo, "gsi_keys", "c = :h", {":h": s("x")}, Select="ALL_ATTRIBUTES")
    if operation == "Scan":
        request = {k: v for k, v in request.items() if k in {"TableName", "IndexName", "Select"}}
    dynamo.invalid(
        operation,
        request,
        "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary "
        "index gsi_keys because its projection type is not ALL",
    )


def test_a_global_index_gives_only_what_it_projects(dynamo: Dynamo) -> None:
    request = ask(dynamo, "gsi_keys", "c = :h", {":h": s("x")}, ProjectionExpression="a, f")
    dynamo.invalid(
        "Query",
        request,
        "One or more parameter values were invalid: Global secondary index gsi_keys does not project [f]",
    )


def test_a_local_index_reads_consistently(dynamo: Dynamo, group: dict[str, Json]) -> None:
    request = ask(dynamo, "lsi_all", "a = :h", {":h": group["a"]}, ConsistentRead=True)
    assert dynamo.call("Query", request)["Count"] == 5


def test_filters_do_not_name_the_keys_of_the_index(dynamo: Dynamo) -> None:
    request = ask(dynamo, "gsi_keys", "c = :h", {":h": s("x"), ":f": s("y")}, FilterExpression="d = :f")
    message = "Filter Expression can only contain non-primary key attributes: Primary key attribute: d"
    dynamo.invalid("Query", request, message)


def test_filters_may_name_the_keys_of_the_table(dynamo: Dynamo, group: dict[str, Json]) -> None:
    request = ask(dynamo, "gsi_keys", "c = :h", {":h": group["c"], ":f": s("3")}, FilterExpression="b = :f")
    assert dynamo.call("Query", request)["Count"] == 1


def test_numbers_order_an_index(dynamo: Dynamo) -> None:
    g = s(dynamo.unique())
    for number in ("10", "9", "-1", "2.5"):
        dynamo.put(dynamo.table("by_number"), a=s(dynamo.unique()), g=g, n={"N": number})
    request = {
        "TableName": dynamo.table("by_number"),
        "IndexName": "by_n",
        "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": g},
    }
    assert [item["n"]["N"] for item in dynamo.call("Query", request)["Items"]] == ["-1", "2.5", "9", "10"]


def test_many_items_may_share_an_index_key(dynamo: Dynamo) -> None:
    g = s(dynamo.unique())
    for _ in range(5):
        dynamo.put(dynamo.table("by_number"), a=s(dynamo.unique()), g=g, n={"N": "1"})
    request: Json = {
        "TableName": dynamo.table("by_number"),
        "IndexName": "by_n",
        "KeyConditionExpression": "g = :g AND n = :n",
        "ExpressionAttributeValues": {":g": g, ":n": {"N": "1"}},
        "Limit": 2,
    }
    seen = set()
    for _ in range(4):
        answer = dynamo.call("Query", request)
        seen |= {item["a"]["S"] for item in answer["Items"]}
        if "LastEvaluatedKey" not in answer:
            break
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
    assert len(seen) == 5


def test_a_start_in_an_index_has_both_keys(dynamo: Dynamo) -> None:
    request = ask(dynamo, "gsi_keys", "c = :h", {":h": s("x")}, ExclusiveStartKey={"c": s("x"), "d": s("y")})
    dynamo.invalid("Query", request, "The provided starting key is invalid")
