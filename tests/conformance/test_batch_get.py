"""BatchGetItem: many keys of many tables at once."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo, member

Json = dict[str, Any]
X = {"a": {"S": "x"}}


def batch(table: str, keys: list[Json], **rest: Any) -> Json:
    return {"RequestItems": {table: {"Keys": keys, **rest}}}


def test_it_gives_what_is_there(dynamo: Dynamo) -> None:
    items = [dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()}, n={"N": str(n)}) for n in range(3)]
    keys = [{"a": item["a"]} for item in items]
    answer = dynamo.call("BatchGetItem", batch(dynamo.table("hash"), [*keys, {"a": {"S": "nobody"}}]))
    found = answer["Responses"][dynamo.table("hash")]
    assert sorted(found, key=lambda item: str(item["n"]["N"])) == items
    assert answer["UnprocessedKeys"] == {}


def test_several_tables(dynamo: Dynamo) -> None:
    one = dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()})
    other = dynamo.put(dynamo.table("range"), a={"S": dynamo.unique()}, b={"S": "1"}, c={"S": "2"})
    request = {
        "RequestItems": {
            dynamo.table("hash"): {"Keys": [one], "ConsistentRead": True},
            dynamo.table("range"): {"Keys": [{k: other[k] for k in "ab"}], "ProjectionExpression": "c"},
        }
    }
    answer = dynamo.call("BatchGetItem", request)
    assert answer["Responses"] == {dynamo.table("hash"): [one], dynamo.table("range"): [{"c": {"S": "2"}}]}


def test_nothing_found_is_an_empty_list(dynamo: Dynamo) -> None:
    answer = dynamo.call("BatchGetItem", batch(dynamo.table("hash"), [{"a": {"S": "nobody"}}]))
    assert answer == {"Responses": {dynamo.table("hash"): []}, "UnprocessedKeys": {}}


def test_attributes_to_get(dynamo: Dynamo) -> None:
    item = dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()}, n={"N": "1"})
    answer = dynamo.call(
        "BatchGetItem", batch(dynamo.table("hash"), [{"a": item["a"]}], AttributesToGet=["n"])
    )
    assert answer["Responses"][dynamo.table("hash")] == [{"n": {"N": "1"}}]


def test_names_in_projections(dynamo: Dynamo) -> None:
    item = dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()}, size={"N": "1"})
    rest: Json = {"ProjectionExpression": "#s", "ExpressionAttributeNames": {"#s": "size"}}
    answer = dynamo.call("BatchGetItem", batch(dynamo.table("hash"), [{"a": item["a"]}], **rest))
    assert answer["Responses"][dynamo.table("hash")] == [{"size": {"N": "1"}}]


def test_a_hundred_keys(dynamo: Dynamo) -> None:
    keys = [{"a": {"S": str(n)}} for n in range(100)]
    assert dynamo.call("BatchGetItem", batch(dynamo.table("hash"), keys))["UnprocessedKeys"] == {}


def test_no_more_than_a_hundred(dynamo: Dynamo) -> None:
    keys = [{"a": {"S": str(n)}} for n in range(101)]
    path = f"RequestItems.{dynamo.table('hash')}.member.Keys"
    refusal = dynamo.refused("BatchGetItem", batch(dynamo.table("hash"), keys))
    # The older layer repeats all the keys in its message, so only the ends of it are compared.
    assert refusal.type == "ValidationException"
    assert refusal.message.startswith(
        (
            "1 validation error detected: Value '[{a=",
            f"1 validation error detected: Value at '{path}'",
            "1 validation error detected: Value '[",
        )
    )
    assert refusal.message.endswith(
        "failed to satisfy constraint: Member must have length less than or equal to 100"
    )


def test_no_more_than_a_hundred_over_all_tables(dynamo: Dynamo) -> None:
    one = [{"a": {"S": str(n)}} for n in range(60)]
    other = [{"a": {"S": str(n)}, "b": {"S": "x"}} for n in range(60)]
    request = {"RequestItems": {dynamo.table("hash"): {"Keys": one}, dynamo.table("range"): {"Keys": other}}}
    refusal = dynamo.refused("BatchGetItem", request)
    assert refusal.type == "ValidationException"
    assert (
        refusal.message == "Too many items requested for the BatchGetItem call"
        or refusal.message.endswith("Member must have length less than or equal to 100")
    )


@pytest.mark.parametrize(
    ("items", "violations"),
    [
        ({}, [[member("requestItems", "{}", "Member must have length greater than or equal to 1")], ["Value at 'RequestItems' failed to satisfy constraint: Member must have length greater than or equal to 1"]]),
        ({"abc": {}}, [[member("requestItems.abc.member.keys", None, "Member must not be null")]]),
        ({"abc": {"Keys": []}}, [[member("requestItems.abc.member.keys", "[]", "Member must have length greater than or equal to 1")], ["Value at 'RequestItems.abc.member.Keys' failed to satisfy constraint: Member must have length greater than or equal to 1"]]),
    ],
)  # fmt: skip
def test_constraints(dynamo: Dynamo, items: Json, violations: list[list[str]]) -> None:
    dynamo.violates("BatchGetItem", {"RequestItems": items}, *violations)


@pytest.mark.parametrize(
    ("keys", "rest", "message"),
    [
        ([X, {"a": {"S": "y"}}, X], {}, "Provided list of item keys contains duplicates"),
        ([{}], {}, "The provided key element does not match the schema"),
        ([{"b": {"S": "x"}}], {}, "The provided key element does not match the schema"),
        ([{"a": {"N": "1"}}], {}, "The provided key element does not match the schema"),
        ([{"a": {"S": "x"}, "b": {"S": "x"}}], {}, "The provided key element does not match the schema"),
        ([X], {"AttributesToGet": ["b", "b"]}, "One or more parameter values were invalid: Duplicate value in attribute name: b"),
        ([X], {"ProjectionExpression": ""}, "Invalid ProjectionExpression: The expression can not be empty;"),
        ([X], {"ProjectionExpression": "abort"}, "Invalid ProjectionExpression: Attribute name is a reserved keyword; reserved keyword: abort"),
        ([X], {"ExpressionAttributeNames": {"#a": "a"}}, "ExpressionAttributeNames can only be specified when using expressions"),
        ([X], {"ProjectionExpression": "b", "AttributesToGet": ["b"]}, "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"),
    ],
)  # fmt: skip
def test_refused(dynamo: Dynamo, keys: list[Json], rest: Json, message: str) -> None:
    dynamo.invalid("BatchGetItem", batch(dynamo.table("hash"), keys, **rest), message)


def test_an_absent_table(dynamo: Dynamo) -> None:
    request = {"RequestItems": {dynamo.table("hash"): {"Keys": [X]}, "no-such-table": {"Keys": [X]}}}
    dynamo.refuses("BatchGetItem", request, "ResourceNotFoundException", "Requested resource not found")


def test_sixteen_megabytes_are_answered_at_most(dynamo: Dynamo) -> None:
    key = dynamo.unique("large")
    keys = []
    for place in range(45):
        item = dynamo.put(dynamo.table("hash"), a={"S": f"{key}-{place}"}, v={"S": "x" * 390_000})
        keys.append({"a": item["a"]})
    answer = dynamo.call("BatchGetItem", batch(dynamo.table("hash"), keys, ConsistentRead=True))
    found = answer["Responses"][dynamo.table("hash")]
    left = answer["UnprocessedKeys"][dynamo.table("hash")]
    assert 0 < len(found) < 45
    assert sum(len(item["v"]["S"]) for item in found) <= 16 * 1024 * 1024
    assert left["ConsistentRead"] is True
    assert sorted([i["a"]["S"] for i in found] + [k["a"]["S"] for k in left["Keys"]]) == sorted(
        k["a"]["S"] for k in keys
    )
