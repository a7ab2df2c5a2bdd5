"""Scan: everything once, in pages, in segments, filtered."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo, member
from .shapes import SHAPES

Json = dict[str, Any]
COUNT = 30


@pytest.fixture(scope="session")
def table(dynamo: Dynamo) -> str:
    """A table of its own with thirty items and nothing else."""
    name = dynamo.create(SHAPES["range"])
    for place in range(COUNT):
        item = {"a": {"S": f"h{place % 10}"}, "b": {"S": f"{place:02}"}, "n": {"N": str(place)}}
        dynamo.put(name, **item)
    return name


def numbers(answer: Json) -> list[int]:
    return [int(item["n"]["N"]) for item in answer["Items"]]


def pages(dynamo: Dynamo, request: Json) -> list[Json]:
    answers = []
    for _ in range(COUNT + 2):
        answers.append(dynamo.call("Scan", request))
        if "LastEvaluatedKey" not in answers[-1]:
            return answers
        request = {**request, "ExclusiveStartKey": answers[-1]["LastEvaluatedKey"]}
    raise AssertionError("a scan that does not end")


def test_it_finds_everything(dynamo: Dynamo, table: str) -> None:
    answer = dynamo.call("Scan", {"TableName": table})
    assert sorted(numbers(answer)) == list(range(COUNT))
    assert (answer["Count"], answer["ScannedCount"], "LastEvaluatedKey" in answer) == (COUNT, COUNT, False)


def test_items_of_one_hash_key_are_in_order(dynamo: Dynamo, table: str) -> None:
    seen: dict[str, list[str]] = {}
    for item in dynamo.call("Scan", {"TableName": table})["Items"]:
        seen.setdefault(item["a"]["S"], []).append(item["b"]["S"])
    assert all(ranges == sorted(ranges) for ranges in seen.values())


@pytest.mark.parametrize("limit", [1, 7, 29, 30, 31])
def test_pages_find_everything_once(dynamo: Dynamo, table: str, limit: int) -> None:
    answers = pages(dynamo, {"TableName": table, "Limit": limit})
    assert all(answer["Count"] <= limit for answer in answers)
    assert sorted(n for answer in answers for n in numbers(answer)) == list(range(COUNT))


@pytest.mark.parametrize("total", [1, 2, 3, 7, 100])
def test_segments_find_everything_once(dynamo: Dynamo, table: str, total: int) -> None:
    found: list[int] = []
    for segment in range(total):
        for answer in pages(
            dynamo, {"TableName": table, "Segment": segment, "TotalSegments": total, "Limit": 9}
        ):
            found += numbers(answer)
    assert sorted(found) == list(range(COUNT))


def test_filters_apply_after_the_limit(dynamo: Dynamo, table: str) -> None:
    request = {
        "TableName": table,
        "Limit": 10,
        "FilterExpression": "n < :n",
        "ExpressionAttributeValues": {":n": {"N": "5"}},
    }
    answers = pages(dynamo, request)
    assert sorted(n for answer in answers for n in numbers(answer)) == [0, 1, 2, 3, 4]
    assert [answer["ScannedCount"] for answer in answers][:3] == [10, 10, 10]


def test_a_filter_may_name_keys(dynamo: Dynamo, table: str) -> None:
    request = {
        "TableName": table,
        "FilterExpression": "a = :a",
        "ExpressionAttributeValues": {":a": {"S": "h3"}},
    }
    assert sorted(numbers(dynamo.call("Scan", request))) == [3, 13, 23]


def test_count_gives_no_items(dynamo: Dynamo, table: str) -> None:
    request = {
        "TableName": table,
        "Select": "COUNT",
        "FilterExpression": "n < :n",
        "ExpressionAttributeValues": {":n": {"N": "5"}},
    }
    assert dynamo.call("Scan", request) == {"Count": 5, "ScannedCount": COUNT}


def test_a_projection(dynamo: Dynamo, table: str) -> None:
    answer = dynamo.call("Scan", {"TableName": table, "ProjectionExpression": "n"})
    assert all(item.keys() == {"n"} for item in answer["Items"])
    answer = dynamo.call("Scan", {"TableName": table, "AttributesToGet": ["b"]})
    assert all(item.keys() == {"b"} for item in answer["Items"])


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ({"Segment": 1}, "The TotalSegments parameter is required but was not present in the request when Segment parameter is present"),
        ({"TotalSegments": 2}, "The Segment parameter is required but was not present in the request when parameter TotalSegments is present"),
        ({"Segment": 2, "TotalSegments": 2}, "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 2 is not less than TotalSegments: 2"),
    ],
)  # fmt: skip
def test_segments_and_their_total(dynamo: Dynamo, rest: Json, message: str) -> None:
    dynamo.invalid("Scan", {"TableName": "no-such-table", **rest}, message)


@pytest.mark.parametrize(
    ("rest", "path", "value", "constraint"),
    [
        ({"Segment": -1, "TotalSegments": 1}, "segment", "-1", "greater than or equal to 0"),
        ({"Segment": 0, "TotalSegments": 0}, "totalSegments", "0", "greater than or equal to 1"),
        (
            {"Segment": 0, "TotalSegments": 1000001},
            "totalSegments",
            "1000001",
            "less than or equal to 1000000",
        ),
        (
            {"Segment": 1000000, "TotalSegments": 1000000},
            "segment",
            "1000000",
            "less than or equal to 999999",
        ),
    ],
)
def test_bounds_of_segments(dynamo: Dynamo, rest: Json, path: str, value: str, constraint: str) -> None:
    text = f"Member must have value {constraint}"
    newer = f"Value at '{path[0].upper()}{path[1:]}' failed to satisfy constraint: {text}"
    dynamo.violates("Scan", {"TableName": "no-such-table", **rest}, [member(path, value, text)], [newer])


@pytest.mark.parametrize(
    "key", [{}, {"a": {"S": "x"}}, {"a": {"S": "x"}, "b": {"N": "1"}}, {"a": {"S": "x"}, "c": {"S": "x"}}]
)
def test_starting_keys_are_keys(dynamo: Dynamo, key: Json) -> None:
    message = "The provided starting key is invalid"
    longer = f"{message}: The provided key element does not match the schema"
    dynamo.invalid("Scan", {"TableName": dynamo.table("range"), "ExclusiveStartKey": key}, longer, message)


def test_a_starting_key_belongs_to_its_segment(dynamo: Dynamo, table: str) -> None:
    total = 2
    first = next(
        answer
        for segment in range(total)
        for answer in [
            dynamo.call("Scan", {"TableName": table, "Segment": segment, "TotalSegments": total, "Limit": 1})
        ]
        if answer["Items"]
    )
    item = first["Items"][0]
    key = {"a": item["a"], "b": item["b"]}
    refused = 0
    for segment in range(total):
        request = {"TableName": table, "Segment": segment, "TotalSegments": total, "ExclusiveStartKey": key}
        if dynamo.transport.send("Scan", request).error is not None:
            refused += 1
            dynamo.invalid(
                "Scan",
                request,
                "The provided starting key is invalid: Invalid ExclusiveStartKey. "
                f"Please use ExclusiveStartKey with correct Segment. TotalSegments: {total} Segment: {segment}",
            )
    assert refused == 1


def test_an_index_that_is_not_there(dynamo: Dynamo) -> None:
    message = "The table does not have the specified index: nope"
    dynamo.invalid("Scan", {"TableName": dynamo.table("range"), "IndexName": "nope"}, message)


def test_a_consistent_scan(dynamo: Dynamo, table: str) -> None:
    assert dynamo.call("Scan", {"TableName": table, "ConsistentRead": True})["Count"] == COUNT
