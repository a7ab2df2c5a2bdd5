"""Which conditions hold: every comparison and function, on every type."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

Json = dict[str, Any]

ITEM: Json = {
    "n": {"N": "5"},
    "s": {"S": "text"},
    "u": {"S": "füße"},
    "e": {"S": ""},
    "b": {"B": "AQID"},
    "t": {"BOOL": True},
    "z": {"NULL": True},
    "l": {"L": [{"S": "0"}, {"N": "1"}, {"L": [{"S": "in"}]}]},
    "m": {"M": {"x": {"N": "1"}, "y": {"M": {"w": {"S": "w"}}}}},
    "ss": {"SS": ["p", "q"]},
    "ns": {"NS": ["1", "2.5"]},
    "bs": {"BS": ["AA==", "AQ=="]},
}


@pytest.fixture(scope="session")
def key(dynamo: Dynamo) -> Json:
    item = {"a": {"S": dynamo.unique("condition")}, **ITEM}
    dynamo.put(dynamo.table("hash"), **item)
    return {"a": item["a"]}


def condition(dynamo: Dynamo, key: Json, expression: str, values: Json) -> Json:
    request: Json = {"TableName": dynamo.table("hash"), "Key": key, "ConditionExpression": expression}
    if values:
        request["ExpressionAttributeValues"] = {f":{k}": v for k, v in values.items()}
    return request


HOLDS: list[tuple[str, Json]] = [
    ("n = :v", {"v": {"N": "5.0"}}),
    ("n = :v", {"v": {"N": "50e-1"}}),
    ("n <> :v", {"v": {"S": "5"}}),
    ("n < :v", {"v": {"N": "10"}}),
    ("n <= :v", {"v": {"N": "5"}}),
    ("n > :v", {"v": {"N": "-10"}}),
    ("n >= :v", {"v": {"N": "5"}}),
    (":v < n", {"v": {"N": "4"}}),
    (":v = :v", {"v": {"N": "4"}}),
    ("s < :v", {"v": {"S": "texts"}}),
    ("s > :v", {"v": {"S": "Text"}}),
    ("u > :v", {"v": {"S": "fz"}}),
    ("e = :v", {"v": {"S": ""}}),
    ("b < :v", {"v": {"B": "AQL/"}}),
    ("t = :v", {"v": {"BOOL": True}}),
    ("z = :v", {"v": {"NULL": True}}),
    ("l = :v", {"v": ITEM["l"]}),
    ("m = :v", {"v": ITEM["m"]}),
    ("m.x = :v", {"v": {"N": "1"}}),
    ("m.y.w = :v", {"v": {"S": "w"}}),
    ("l[1] = :v", {"v": {"N": "1"}}),
    ("l[2][0] = :v", {"v": {"S": "in"}}),
    ("ss = :v", {"v": {"SS": ["q", "p"]}}),
    ("ns = :v", {"v": {"NS": ["2.50", "1"]}}),
    ("bs = :v", {"v": {"BS": ["AQ==", "AA=="]}}),
    ("ss <> :v", {"v": {"SS": ["q"]}}),
    ("nothing <> :v", {"v": {"S": "x"}}),
    ("n BETWEEN :lo AND :hi", {"lo": {"N": "5"}, "hi": {"N": "5"}}),
    ("s between :lo and :hi", {"lo": {"S": "a"}, "hi": {"S": "z"}}),
    (":v BETWEEN m.x AND n", {"v": {"N": "3"}}),
    ("n IN (:v)", {"v": {"N": "5"}}),
    ("s IN (:v, :w, n)", {"v": {"N": "5"}, "w": {"S": "text"}}),
    ("l[0] in (:v)", {"v": {"S": "0"}}),
    ("attribute_exists(n)", {}),
    ("attribute_exists(m.x)", {}),
    ("attribute_exists(l[2])", {}),
    ("attribute_exists(z)", {}),
    ("attribute_not_exists(nothing)", {}),
    ("attribute_not_exists(m.nothing)", {}),
    ("attribute_not_exists(l[3])", {}),
    ("attribute_not_exists(s.x)", {}),
    ("attribute_type(n, :v)", {"v": {"S": "N"}}),
    ("attribute_type(z, :v)", {"v": {"S": "NULL"}}),
    ("attribute_type(ss, :v)", {"v": {"S": "SS"}}),
    ("attribute_type(m.x, :v)", {"v": {"S": "N"}}),
    ("begins_with(s, :v)", {"v": {"S": "te"}}),
    ("begins_with(s, :v)", {"v": {"S": ""}}),
    ("begins_with(b, :v)", {"v": {"B": "AQI="}}),
    ("contains(s, :v)", {"v": {"S": "ex"}}),
    ("contains(ss, :v)", {"v": {"S": "p"}}),
    ("contains(ns, :v)", {"v": {"N": "2.50"}}),
    ("contains(bs, :v)", {"v": {"B": "AQ=="}}),
    ("contains(l, :v)", {"v": {"N": "1.0"}}),
    ("contains(l, :v)", {"v": {"L": [{"S": "in"}]}}),
    ("contains(b, :v)", {"v": {"B": "AgM="}}),
    ("contains(l, m.x)", {}),
    ("size(s) = :v", {"v": {"N": "4"}}),
    ("size(u) = :v", {"v": {"N": "4"}}),
    ("size(b) = :v", {"v": {"N": "3"}}),
    ("size(ss) = :v", {"v": {"N": "2"}}),
    ("size(l) = :v", {"v": {"N": "3"}}),
    ("size(m) = :v", {"v": {"N": "2"}}),
    ("size(l) BETWEEN :v AND :w", {"v": {"N": "1"}, "w": {"N": "3"}}),
    ("size(l) > size(m)", {}),
    ("NOT n = :v", {"v": {"N": "4"}}),
    ("NOT n = :v AND n = :w", {"v": {"N": "4"}, "w": {"N": "5"}}),
    ("n = :v OR s = :v AND s = :v", {"v": {"N": "5"}}),
    ("(n = :v OR s = :v) AND t = :t", {"v": {"N": "5"}, "t": {"BOOL": True}}),
    ("NOT (n = :v AND s = :v)", {"v": {"N": "5"}}),
    ("n=:v and not(s=:v)", {"v": {"N": "5"}}),
    ("(n) = :v", {"v": {"N": "5"}}),
]  # fmt: skip

FAILS: list[tuple[str, Json]] = [
    ("n = :v", {"v": {"S": "5"}}),
    ("n < :v", {"v": {"S": "9"}}),
    ("n <> :v", {"v": {"N": "5"}}),
    ("nothing = :v", {"v": {"S": "x"}}),
    ("nothing = nowhere", {}),
    ("nothing < :v", {"v": {"N": "9"}}),
    ("n BETWEEN :lo AND :hi", {"lo": {"N": "6"}, "hi": {"N": "9"}}),
    ("nothing BETWEEN :lo AND :hi", {"lo": {"N": "6"}, "hi": {"N": "9"}}),
    ("n IN (:v, :w)", {"v": {"S": "5"}, "w": {"N": "6"}}),
    ("attribute_exists(nothing)", {}),
    ("attribute_exists(m.x.y)", {}),
    ("attribute_exists(l[3])", {}),
    ("attribute_not_exists(z)", {}),
    ("attribute_type(n, :v)", {"v": {"S": "S"}}),
    ("attribute_type(nothing, :v)", {"v": {"S": "NULL"}}),
    ("begins_with(s, :v)", {"v": {"S": "ext"}}),
    ("begins_with(n, :v)", {"v": {"S": "5"}}),
    ("begins_with(nothing, :v)", {"v": {"S": "5"}}),
    ("contains(s, :v)", {"v": {"N": "1"}}),
    ("contains(ss, :v)", {"v": {"S": "pq"}}),
    ("contains(ns, :v)", {"v": {"S": "1"}}),
    ("contains(l, :v)", {"v": {"S": "in"}}),
    ("contains(m, :v)", {"v": {"S": "x"}}),
    ("contains(nothing, :v)", {"v": {"S": "x"}}),
    ("size(n) = :v", {"v": {"N": "1"}}),
    ("size(nothing) = :v", {"v": {"N": "0"}}),
    ("t = :v", {"v": {"N": "1"}}),
    ("l = :v", {"v": {"L": [{"N": "1"}, {"S": "0"}, {"L": [{"S": "in"}]}]}}),
    ("NOT n = :v", {"v": {"N": "5"}}),
    ("n = :v AND s = :v", {"v": {"N": "5"}}),
]  # fmt: skip


def putting(dynamo: Dynamo, key: Json, expression: str, values: Json) -> Json:
    """A put of the item as it is, under a condition."""
    request = condition(dynamo, key, expression, values)
    return {name: value for name, value in request.items() if name != "Key"} | {"Item": {**key, **ITEM}}


@pytest.mark.parametrize(("expression", "values"), HOLDS)
def test_holds(dynamo: Dynamo, key: Json, expression: str, values: Json) -> None:
    assert dynamo.call("PutItem", putting(dynamo, key, expression, values)) == {}


@pytest.mark.parametrize(("expression", "values"), FAILS)
def test_fails(dynamo: Dynamo, key: Json, expression: str, values: Json) -> None:
    request = putting(dynamo, key, expression, values)
    dynamo.refuses("PutItem", request, "ConditionalCheckFailedException", "The conditional request failed")


@pytest.mark.parametrize("operation", ["PutItem", "DeleteItem"])
def test_other_writes_take_conditions_too(dynamo: Dynamo, operation: str) -> None:
    item = dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()}, n={"N": "1"})
    request: Json = {"TableName": dynamo.table("hash"), "ExpressionAttributeNames": {"#n": "n"}}
    request |= {"Item": item} if operation == "PutItem" else {"Key": {"a": item["a"]}}
    request["ExpressionAttributeValues"] = {":n": {"N": "1"}}
    dynamo.refuses(
        operation, {**request, "ConditionExpression": "#n <> :n"}, "ConditionalCheckFailedException"
    )
    assert dynamo.call(operation, {**request, "ConditionExpression": "#n = :n"}) == {}


def test_a_put_only_if_absent(dynamo: Dynamo) -> None:
    request = {
        "TableName": dynamo.table("hash"),
        "Item": {"a": {"S": dynamo.unique()}},
        "ConditionExpression": "attribute_not_exists(a)",
    }
    assert dynamo.call("PutItem", request) == {}
    dynamo.refuses("PutItem", request, "ConditionalCheckFailedException", "The conditional request failed")
