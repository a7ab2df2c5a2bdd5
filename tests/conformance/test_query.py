"""Query: key conditions, order, pages, filters and what it selects."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

Json = dict[str, Any]
LETTERS = ["a", "ab", "abc", "b", "ba", "c"]


@pytest.fixture(scope="session")
def letters(dynamo: Dynamo) -> Json:
    """The hash key of six items, each with its letter as range key and its place as n."""
    key = {"S": dynamo.unique("letters")}
    for place, letter in enumerate(LETTERS):
        dynamo.put(dynamo.table("range"), a=key, b={"S": letter}, n={"N": str(place)}, big={"S": "x" * 100})
    return key


def query(dynamo: Dynamo, hash_value: Json, condition: str = "", **rest: Any) -> Json:
    values = {":a": hash_value, **rest.pop("values", {})}
    return {
        "TableName": dynamo.table("range"),
        "KeyConditionExpression": f"a = :a{condition}",
        "ExpressionAttributeValues": values,
        **rest,
    }


def found(answer: Json) -> list[str]:
    return [item["b"]["S"] for item in answer["Items"]]


@pytest.mark.parametrize(
    ("condition", "values", "expected"),
    [
        ("", {}, LETTERS),
        (" AND b = :b", {":b": {"S": "ab"}}, ["ab"]),
        (" AND b < :b", {":b": {"S": "b"}}, ["a", "ab", "abc"]),
        (" AND b <= :b", {":b": {"S": "b"}}, ["a", "ab", "abc", "b"]),
        (" AND b > :b", {":b": {"S": "b"}}, ["ba", "c"]),
        (" AND b >= :b", {":b": {"S": "b"}}, ["b", "ba", "c"]),
        (" AND b BETWEEN :b AND :c", {":b": {"S": "ab"}, ":c": {"S": "b"}}, ["ab", "abc", "b"]),
        (" AND begins_with(b, :b)", {":b": {"S": "ab"}}, ["ab", "abc"]),
        (" AND begins_with ( b , :b )", {":b": {"S": "z"}}, []),
        (" AND :b < b", {":b": {"S": "ba"}}, ["c"]),
        (" AND :b >= b", {":b": {"S": "a"}}, ["a"]),
        (" and (b = :b)", {":b": {"S": "c"}}, ["c"]),
    ],
)
def test_key_conditions(
    dynamo: Dynamo, letters: Json, condition: str, values: Json, expected: list[str]
) -> None:
    answer = dynamo.call("Query", query(dynamo, letters, condition, values=values))
    assert found(answer) == expected
    assert (answer["Count"], answer["ScannedCount"]) == (len(expected), len(expected))
    assert "LastEvaluatedKey" not in answer
    backward = dynamo.call("Query", query(dynamo, letters, condition, values=values, ScanIndexForward=False))
    assert found(backward) == expected[::-1]


def test_the_order_of_conditions_does_not_matter(dynamo: Dynamo, letters: Json) -> None:
    request = query(dynamo, letters, values={":b": {"S": "c"}})
    request["KeyConditionExpression"] = "b = :b AND a = :a"
    assert found(dynamo.call("Query", request)) == ["c"]
    request["KeyConditionExpression"] = "(b = :b) AND (:a = a)"
    assert found(dynamo.call("Query", request)) == ["c"]


def test_a_hash_key_with_nothing_is_an_empty_answer(dynamo: Dynamo) -> None:
    answer = dynamo.call("Query", query(dynamo, {"S": "nobody"}))
    assert answer == {"Items": [], "Count": 0, "ScannedCount": 0}


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 4, 6])
def test_pages(dynamo: Dynamo, letters: Json, limit: int, forward: bool) -> None:
    request = query(dynamo, letters, Limit=limit, ScanIndexForward=forward)
    collected: list[str] = []
    for _ in range(len(LETTERS) + 1):
        answer = dynamo.call("Query", request)
        assert answer["Count"] <= limit
        collected += found(answer)
        if "LastEvaluatedKey" not in answer:
            break
        assert answer["LastEvaluatedKey"] == {"a": letters, "b": {"S": collected[-1]}}
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
    assert collected == (LETTERS if forward else LETTERS[::-1])


def test_a_full_page_at_the_end_still_has_a_key_to_go_on(dynamo: Dynamo, letters: Json) -> None:
    answer = dynamo.call("Query", query(dynamo, letters, Limit=6))
    assert answer["LastEvaluatedKey"] == {"a": letters, "b": {"S": "c"}}
    rest = dynamo.call("Query", query(dynamo, letters, Limit=6, ExclusiveStartKey=answer["LastEvaluatedKey"]))
    assert (rest["Count"], "LastEvaluatedKey" in rest) == (0, False)


def test_a_start_need_not_exist(dynamo: Dynamo, letters: Json) -> None:
    answer = dynamo.call("Query", query(dynamo, letters, ExclusiveStartKey={"a": letters, "b": {"S": "aa"}}))
    assert found(answer) == ["ab", "abc", "b", "ba", "c"]


def test_filters_apply_after_the_limit(dynamo: Dynamo, letters: Json) -> None:
    request = query(dynamo, letters, FilterExpression="n > :n", values={":n": {"N": "1"}}, Limit=3)
    answer = dynamo.call("Query", request)
    assert (found(answer), answer["Count"], answer["ScannedCount"]) == (["abc"], 1, 3)
    assert answer["LastEvaluatedKey"] == {"a": letters, "b": {"S": "abc"}}


def test_count_gives_no_items(dynamo: Dynamo, letters: Json) -> None:
    answer = dynamo.call("Query", query(dynamo, letters, Select="COUNT"))
    assert answer == {"Count": 6, "ScannedCount": 6}


def test_a_projection(dynamo: Dynamo, letters: Json) -> None:
    answer = dynamo.call("Query", query(dynamo, letters, ProjectionExpression="n", Limit=1))
    assert answer["Items"] == [{"n": {"N": "0"}}]
    request = query(dynamo, letters, ProjectionExpression="n", Select="SPECIFIC_ATTRIBUTES", Limit=1)
    assert dynamo.call("Query", request)["Items"] == [{"n": {"N": "0"}}]


def test_a_filter_sees_what_the_projection_leaves_out(dynamo: Dynamo, letters: Json) -> None:
    request = query(
        dynamo, letters, ProjectionExpression="b", FilterExpression="n = :n", values={":n": {"N": "5"}}
    )
    assert dynamo.call("Query", request)["Items"] == [{"b": {"S": "c"}}]


def test_binary_range_keys_order_by_unsigned_bytes(dynamo: Dynamo) -> None:
    key = {"S": dynamo.unique()}
    ordered = ["AA==", "AAA=", "AQ==", "fw==", "gA==", "/w=="]
    for value in sorted(ordered):
        dynamo.put(dynamo.table("range_b"), a=key, b={"B": value})
    request = {**query(dynamo, key), "TableName": dynamo.table("range_b")}
    assert [item["b"]["B"] for item in dynamo.call("Query", request)["Items"]] == ordered


def test_strings_order_by_their_utf8_bytes(dynamo: Dynamo) -> None:
    key = {"S": dynamo.unique()}
    ordered = ["A", "Z", "a", "z", "é", "€", "�", "𝄞"]
    for value in sorted(ordered):
        dynamo.put(dynamo.table("range"), a=key, b={"S": value})
    assert found(dynamo.call("Query", query(dynamo, key))) == ordered


def test_a_page_ends_at_one_megabyte(dynamo: Dynamo) -> None:
    key = {"S": dynamo.unique()}
    for place in range(4):
        dynamo.put(dynamo.table("range"), a=key, b={"S": str(place)}, v={"S": "x" * 350_000})
    answer = dynamo.call("Query", query(dynamo, key, Select="COUNT"))
    # The item that crosses the limit is still in the page.
    assert (answer["Count"], answer["LastEvaluatedKey"]["b"]) == (3, {"S": "2"})
    rest = dynamo.call(
        "Query", query(dynamo, key, Select="COUNT", ExclusiveStartKey=answer["LastEvaluatedKey"])
    )
    assert (rest["Count"], "LastEvaluatedKey" in rest) == (1, False)
