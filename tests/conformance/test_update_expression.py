"""What SET, REMOVE, ADD and DELETE do to an item."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo
from .test_update_item import update

Json = dict[str, Any]

ITEM: Json = {
    "n": {"N": "5"},
    "s": {"S": "text"},
    "l": {"L": [{"S": "0"}, {"S": "1"}, {"S": "2"}]},
    "m": {"M": {"x": {"N": "1"}, "deep": {"M": {"y": {"S": "y"}}}}},
    "ss": {"SS": ["p", "q"]},
    "ns": {"NS": ["1", "2"]},
    "bs": {"BS": ["AA==", "AQ=="]},
}
ONE = {"v_v": {"N": "1"}}


def changed(dynamo: Dynamo, expression: str, **rest: Any) -> Json:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **key, **ITEM)
    dynamo.call("UpdateItem", update(dynamo, key, expression, **rest))
    item = dynamo.get(dynamo.table("hash"), **key)
    assert item is not None
    return {k: v for k, v in item.items() if k != "a" and v != ITEM.get(k)}


@pytest.mark.parametrize(
    ("expression", "rest", "expected"),
    [
        ("SET x = :v", {"v_v": {"L": []}}, {"x": {"L": []}}),
        ("set x = :v", {"v_v": {"S": ""}}, {"x": {"S": ""}}),
        ("SET n = n + :v", ONE, {"n": {"N": "6"}}),
        ("SET n = n - :v", ONE, {"n": {"N": "4"}}),
        ("SET n = :v - n", ONE, {"n": {"N": "-4"}}),
        ("SET x = n + n", {}, {"x": {"N": "10"}}),
        ("SET x = s", {}, {"x": {"S": "text"}}),
        ("SET x = l[1]", {}, {"x": {"S": "1"}}),
        ("SET x = m.deep.y", {}, {"x": {"S": "y"}}),
        ("SET n = s, s = n", {}, {"n": {"S": "text"}, "s": {"N": "5"}}),
        ("SET x = if_not_exists(x, :v)", ONE, {"x": {"N": "1"}}),
        ("SET n = if_not_exists(n, :v)", ONE, {}),
        ("SET n = if_not_exists(n, :v) + :v", ONE, {"n": {"N": "6"}}),
        ("SET x = if_not_exists(x, :z) + :v", {**ONE, "v_z": {"N": "0"}}, {"x": {"N": "1"}}),
        ("SET x = if_not_exists(y, n)", {}, {"x": {"N": "5"}}),
        ("SET l = list_append(l, :v)", {"v_v": {"L": [{"S": "3"}]}}, {"l": {"L": [{"S": c} for c in "0123"]}}),
        ("SET l = list_append(:v, l)", {"v_v": {"L": [{"S": "3"}]}}, {"l": {"L": [{"S": c} for c in "3012"]}}),
        ("SET l[0] = :v", ONE, {"l": {"L": [{"N": "1"}, {"S": "1"}, {"S": "2"}]}}),
        ("SET l[3] = :v", ONE, {"l": {"L": [{"S": "0"}, {"S": "1"}, {"S": "2"}, {"N": "1"}]}}),
        ("SET l[99] = :v", ONE, {"l": {"L": [{"S": "0"}, {"S": "1"}, {"S": "2"}, {"N": "1"}]}}),
        ("SET l[9] = :v, l[7] = :w", {**ONE, "v_w": {"N": "2"}}, {"l": {"L": [{"S": "0"}, {"S": "1"}, {"S": "2"}, {"N": "2"}, {"N": "1"}]}}),
        ("SET m.z = :v", ONE, {"m": {"M": {**ITEM["m"]["M"], "z": {"N": "1"}}}}),
        ("SET m.#a.#b = :v", {**ONE, "n_a": "deep", "n_b": "a.b"}, {"m": {"M": {**ITEM["m"]["M"], "deep": {"M": {"y": {"S": "y"}, "a.b": {"N": "1"}}}}}}),
        ("SET #n = :v", {**ONE, "n_n": "a.b"}, {"a.b": {"N": "1"}}),
        ("SET x = :v REMOVE n", ONE, {"x": {"N": "1"}}),
        ("REMOVE l[1]", {}, {"l": {"L": [{"S": "0"}, {"S": "2"}]}}),
        ("REMOVE l[0], l[2]", {}, {"l": {"L": [{"S": "1"}]}}),
        ("REMOVE l[7]", {}, {}),
        ("REMOVE m.x", {}, {"m": {"M": {"deep": {"M": {"y": {"S": "y"}}}}}}),
        ("REMOVE m.nothing", {}, {}),
        ("REMOVE nothing", {}, {}),
        ("ADD n :v", ONE, {"n": {"N": "6"}}),
        ("ADD x :v", ONE, {"x": {"N": "1"}}),
        ("ADD m.x :v", ONE, {"m": {"M": {**ITEM["m"]["M"], "x": {"N": "2"}}}}),
        ("ADD x :v", {"v_v": {"SS": ["z"]}}, {"x": {"SS": ["z"]}}),
        ("DELETE ss :v", {"v_v": {"SS": ["p", "other"]}}, {"ss": {"SS": ["q"]}}),
        ("DELETE x :v", {"v_v": {"SS": ["z"]}}, {}),
        ("DELETE ns :v", {"v_v": {"NS": ["2.0"]}}, {"ns": {"NS": ["1"]}}),
        ("DELETE bs :v", {"v_v": {"BS": ["AA=="]}}, {"bs": {"BS": ["AQ=="]}}),
        ("SET x = (:v)", ONE, {"x": {"N": "1"}}),
        ("SET x = (n + :v)", ONE, {"x": {"N": "6"}}),
        ("SET x=:v,y=:v", ONE, {"x": {"N": "1"}, "y": {"N": "1"}}),
    ],
)  # fmt: skip
def test_effects(dynamo: Dynamo, expression: str, rest: Json, expected: Json) -> None:
    assert changed(dynamo, expression, **rest) == expected


def test_add_joins_sets(dynamo: Dynamo) -> None:
    joined = changed(dynamo, "ADD ss :s, ns :n", v_s={"SS": ["q", "r"]}, v_n={"NS": ["2", "3"]})
    assert sorted(joined["ss"]["SS"]) == ["p", "q", "r"]
    assert sorted(joined["ns"]["NS"]) == ["1", "2", "3"]


def test_deleting_every_element_removes_the_attribute(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **key, ss={"SS": ["p", "q"]})
    request = update(dynamo, key, "DELETE ss :v", v_v={"SS": ["p", "q"]}, ReturnValues="ALL_NEW")
    assert dynamo.call("UpdateItem", request) == {"Attributes": key}


def test_remove_takes_the_attribute_away(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **key, b={"S": "x"}, c={"S": "x"})
    request = update(dynamo, key, "REMOVE b", ReturnValues="ALL_NEW")
    assert dynamo.call("UpdateItem", request)["Attributes"] == {**key, "c": {"S": "x"}}


def test_every_operand_is_read_before_anything_changes(dynamo: Dynamo) -> None:
    assert changed(dynamo, "SET n = n + :v, x = n", **ONE) == {"n": {"N": "6"}, "x": {"N": "5"}}


WRONG_TYPE = "An operand in the update expression has an incorrect data type"
NOT_THERE = "The provided expression refers to an attribute that does not exist in the item"
BAD_PATH = "The document path provided in the update expression is invalid for update"


@pytest.mark.parametrize(
    ("expression", "rest", "message"),
    [
        ("SET x = nothing", {}, NOT_THERE),
        ("SET x = nothing + :v", ONE, NOT_THERE),
        ("SET x = if_not_exists(x, nothing)", {}, NOT_THERE),
        ("SET x = list_append(nothing, :v)", {"v_v": {"L": []}}, NOT_THERE),
        ("SET x = m.nothing", {}, NOT_THERE),
        ("SET x = l[9]", {}, NOT_THERE),
        ("SET n = s + :v", ONE, WRONG_TYPE),
        ("SET x = list_append(s, :v)", {"v_v": {"L": []}}, WRONG_TYPE),
        ("ADD s :v", ONE, WRONG_TYPE),
        ("ADD ss :v", ONE, WRONG_TYPE),
        ("ADD ss :v", {"v_v": {"NS": ["1"]}}, WRONG_TYPE),
        ("ADD n :v", {"v_v": {"NS": ["1"]}}, WRONG_TYPE),
        ("DELETE ss :v", {"v_v": {"NS": ["1"]}}, WRONG_TYPE),
        ("DELETE s :v", {"v_v": {"SS": ["1"]}}, WRONG_TYPE),
        ("SET nothing.x = :v", ONE, BAD_PATH),
        ("SET nothing[0] = :v", ONE, BAD_PATH),
        ("SET s.x = :v", ONE, BAD_PATH),
        ("SET s[0] = :v", ONE, BAD_PATH),
        ("SET m[0] = :v", ONE, BAD_PATH),
        ("SET l.x = :v", ONE, BAD_PATH),
        ("SET m.nothing.x = :v", ONE, BAD_PATH),
        ("REMOVE nothing.x", {}, BAD_PATH),
        ("REMOVE s[0]", {}, BAD_PATH),
        ("ADD nothing.x :v", ONE, BAD_PATH),
    ],
)  # fmt: skip
def test_what_the_item_does_not_bear(dynamo: Dynamo, expression: str, rest: Json, message: str) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **key, **ITEM)
    dynamo.invalid("UpdateItem", update(dynamo, key, expression, **rest), message)
    assert dynamo.get(dynamo.table("hash"), **key) == {**key, **ITEM}
