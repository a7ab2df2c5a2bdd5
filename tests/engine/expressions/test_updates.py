"""What updates do, and what they refuse."""

from __future__ import annotations

import copy
from decimal import Decimal
from typing import Any

import pytest

from entrepot.engine.expressions import Placeholders

from .asking import refusal, update

NO_SUCH = "The provided expression refers to an attribute that does not exist in the item"
BAD_TYPE = "An operand in the update expression has an incorrect data type"
BAD_PATH = "The document path provided in the update expression is invalid for update"
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"


@pytest.mark.parametrize(
    ("text", "item", "values", "expected"),
    [
        ("SET a = :v", {}, {":v": 1}, {"a": 1}),
        ("SET a = :v", {"a": 2, "b": 3}, {":v": 1}, {"a": 1, "b": 3}),
        ("SET a = b, b = a", {"a": 1, "b": 2}, None, {"a": 2, "b": 1}),
        ("SET a = a + :v", {"a": 1}, {":v": 2}, {"a": 3}),
        ("SET a = :v - a", {"a": 1}, {":v": 2}, {"a": 1}),
        ("SET a = (b) + (:v)", {"b": 0.1}, {":v": 0.2}, {"a": 0.3, "b": 0.1}),
        ("SET a = (a + :v)", {"a": 1}, {":v": 2}, {"a": 3}),
        ("SET a = if_not_exists(a, :v)", {}, {":v": 1}, {"a": 1}),
        ("SET a = if_not_exists(a, :v)", {"a": None}, {":v": 1}, {"a": None}),
        ("SET a = if_not_exists(b, a) + :v", {"a": 1}, {":v": 1}, {"a": 2}),
        ("SET a = list_append(a, :v)", {"a": [1]}, {":v": [2]}, {"a": [1, 2]}),
        ("SET a = list_append(:v, a)", {"a": [1]}, {":v": [2]}, {"a": [2, 1]}),
        ("SET a = list_append(if_not_exists(a, :e), :v)", {}, {":e": [], ":v": [2]}, {"a": [2]}),
        ("SET a.b = :v", {"a": {"c": 1}}, {":v": 2}, {"a": {"b": 2, "c": 1}}),
        ("SET a[1] = :v", {"a": [1, 2, 3]}, {":v": "x"}, {"a": [1, "x", 3]}),
        ("SET a[9] = :v", {"a": [1]}, {":v": 2}, {"a": [1, 2]}),
        ("SET a[9] = :v, a[5] = :w", {"a": [1]}, {":v": 9, ":w": 5}, {"a": [1, 5, 9]}),
        ("SET a[0].b = :v, a[1].b = :v", {"a": [{}, {}]}, {":v": 1}, {"a": [{"b": 1}, {"b": 1}]}),
        ("REMOVE a", {"a": 1, "b": 2}, None, {"b": 2}),
        ("REMOVE gone", {"b": 2}, None, {"b": 2}),
        ("REMOVE a[0], a[2]", {"a": [0, 1, 2, 3]}, None, {"a": [1, 3]}),
        ("REMOVE a[9]", {"a": [0]}, None, {"a": [0]}),
        ("REMOVE a.b", {"a": {"b": 1}}, None, {"a": {}}),
        ("REMOVE a.c", {"a": {"b": 1}}, None, {"a": {"b": 1}}),
        ("SET a[0] = :v REMOVE a[1]", {"a": [0, 1, 2]}, {":v": "x"}, {"a": ["x", 2]}),
        ("REMOVE a[0] SET a[3] = :v", {"a": [0, 1, 2]}, {":v": "x"}, {"a": [1, 2, "x"]}),
        ("ADD a :v", {}, {":v": 5}, {"a": 5}),
        ("ADD a :v", {"a": 1}, {":v": 5}, {"a": 6}),
        ("ADD a :v", {"a": 1}, {":v": -1.5}, {"a": -0.5}),
        ("ADD a :v", {"a": {"x"}}, {":v": {"y", "x"}}, {"a": {"x", "y"}}),
        ("ADD a :v", {}, {":v": {1, 2}}, {"a": {1, 2}}),
        ("ADD a.b :v, c[0] :v", {"a": {}, "c": [1]}, {":v": 1}, {"a": {"b": 1}, "c": [2]}),
        ("DELETE a :v", {"a": {1, 2}}, {":v": {2, 3}}, {"a": {1}}),
        ("DELETE a :v", {"a": {1, 2}, "b": 1}, {":v": {1, 2}}, {"b": 1}),
        ("DELETE a :v", {"b": 1}, {":v": {1}}, {"b": 1}),
        ("DELETE a.b :v", {"a": {"b": {"x"}}}, {":v": {"x"}}, {"a": {}}),
        ("SET a = :v REMOVE b ADD c :n DELETE d :s", {"b": 1, "d": {"x", "y"}}, {":v": "v", ":n": 1, ":s": {"x"}}, {"a": "v", "c": 1, "d": {"y"}}),
    ],
)  # fmt: skip
def test_effect(text: str, item: dict[str, Any], values: Any, expected: dict[str, Any]) -> None:
    before = copy.deepcopy(item)
    assert update(text, item, values) == expected
    assert item == before


@pytest.mark.parametrize(
    ("text", "item", "values", "message"),
    [
        ("SET a = b", {}, None, NO_SUCH),
        ("SET a = b.c", {"b": {}}, None, NO_SUCH),
        ("SET a = a + :v", {}, {":v": 1}, NO_SUCH),
        ("SET a = list_append(a, :v)", {}, {":v": []}, NO_SUCH),
        ("SET a = if_not_exists(a, b)", {}, None, NO_SUCH),
        ("SET a = a + :v", {"a": "x"}, {":v": 1}, BAD_TYPE),
        ("SET a = b - a", {"a": 1, "b": True}, None, BAD_TYPE),
        ("SET a = list_append(a, :v)", {"a": "x"}, {":v": []}, BAD_TYPE),
        ("SET a = if_not_exists(a, :v) + :v", {"a": "x"}, {":v": 1}, BAD_TYPE),
        ("ADD a :v", {"a": "x"}, {":v": 1}, BAD_TYPE),
        ("ADD a :v", {"a": {1}}, {":v": {"x"}}, BAD_TYPE),
        ("DELETE a :v", {"a": 1}, {":v": {1}}, BAD_TYPE),
        ("SET a.b = :v", {}, {":v": 1}, BAD_PATH),
        ("SET a.b = :v", {"a": [1]}, {":v": 1}, BAD_PATH),
        ("SET a[0] = :v", {"a": {}}, {":v": 1}, BAD_PATH),
        ("SET a[1].b = :v", {"a": [{}]}, {":v": 1}, BAD_PATH),
        ("REMOVE a.b", {}, None, BAD_PATH),
        ("REMOVE a[0]", {"a": "x"}, None, BAD_PATH),
        ("ADD a.b :v", {}, {":v": 1}, BAD_PATH),
        ("DELETE a.b :v", {}, {":v": {1}}, BAD_PATH),
        ("SET a.b = c", {}, None, NO_SUCH),
    ],
)
def test_an_item_may_not_fit(text: str, item: dict[str, Any], values: Any, message: str) -> None:
    assert refusal(update, text, item, values) == message


def test_numbers_are_exact_to_38_digits() -> None:
    assert update("SET a = a + :v", {"a": 0.1}, {":v": 0.2}) == {"a": 0.3}
    assert update("ADD a :v", {"a": 10**37}, {":v": 1}) == {"a": 10**37 + 1}
    big = Decimal("9.9999999999999999999999999999999999999E+125")
    assert refusal(update, "SET a = a + :v", {"a": int(big)}, {":v": big}) == OVERFLOW
    assert refusal(update, "SET a = a - :v", {"a": int(-big)}, {":v": big}) == OVERFLOW
    assert update("SET a = a + :v", {"a": Decimal("1.00000000000000000001")}, {":v": -1}) == {"a": 1e-20}


def test_underflow_is_told() -> None:
    tiny = Decimal("1.0000000001E-125")
    message = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
    assert refusal(update, "SET a = a - :v", {"a": tiny}, {":v": Decimal("1E-125")}) == message


WRONG = "Incorrect operand type for operator or function; operator or function: "


@pytest.mark.parametrize(
    ("text", "values", "reason"),
    [
        ("SET a = :v, a = :v", {":v": 1}, "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]"),
        ("SET a = :v REMOVE a.b", {":v": 1}, "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a, b]"),
        ("SET a[1].b = :v, a[1] = :v", {":v": 1}, "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a, [1], b], path two: [a, [1]]"),
        ("SET a.b = :v, a[1] = :v", {":v": 1}, "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [a, b], path two: [a, [1]]"),
        ("SET a = if_not_exists(a)", {}, "Incorrect number of operands for operator or function; operator or function: if_not_exists, number of operands: 1"),
        ("SET a = if_not_exists(:v, a)", {":v": 1}, "Operator or function requires a document path; operator or function: if_not_exists"),
        ("SET a = list_append(a, :v)", {":v": 1}, WRONG + "list_append, operand type: N"),
        ("SET a = a + :v", {":v": "x"}, WRONG + "+, operand type: S"),
        ("SET a = :v - a", {":v": []}, WRONG + "-, operand type: L"),
        ("SET a = list_append(a, b) + :v", {":v": 1}, WRONG + "+, operand type: L"),
        ("SET a = attribute_exists(a)", {}, "Invalid function name; function: attribute_exists"),
    ],
)  # fmt: skip
def test_updates_are_refused_as_read(text: str, values: dict[str, Any], reason: str) -> None:
    assert refusal(update, text, {}, values or None) == f"Invalid UpdateExpression: {reason}"


@pytest.mark.parametrize("section", ["ADD", "DELETE"])
@pytest.mark.parametrize(
    ("value", "kind"),
    [("x", "STRING"), (b"x", "Binary"), (True, "BOOL"), (None, "NULL"), ([], "LIST"), ({}, "MAP")],
)
def test_add_and_delete_take_few_types(section: str, value: Any, kind: str) -> None:
    assert refusal(update, f"{section} a :v", {}, {":v": value}) == (
        "Invalid UpdateExpression: Incorrect operand type for operator or function; "
        f"operator: {section}, operand type: {kind}, typeSet: ALLOWED_FOR_{section}_OPERAND"
    )


def test_delete_takes_no_number() -> None:
    assert "operand type: NUMBER" in refusal(update, "DELETE a :v", {}, {":v": 1})


def test_paths_overlap_by_what_their_names_stand_for() -> None:
    message = refusal(update, "SET #a = :v, a.b = :v", {}, {":v": 1}, {"#a": "a"})
    assert message.endswith("path one: [a], path two: [a, b]")


def test_an_update_tells_where_it_writes() -> None:
    found = Placeholders({"#n": "name"}, {":v": 1}).update("SET #n.x = :v, a = b REMOVE c[0]")
    assert found.paths == (("name", "x"), ("a",), ("c", 0))
    assert found.attributes == {"name", "a", "c"}
    assert found.nested == {"name", "c"}


def test_what_changed_is_what_stands_at_the_paths() -> None:
    found = Placeholders(None, {":v": 1}).update("SET a.b = :v, l[2] = :v, gone = :v REMOVE x")
    item = {"a": {"b": 2, "c": 3}, "l": [0, 1, 2], "x": "y", "z": 1}
    assert found.changed(item) == {"a": {"b": 2}, "l": [2], "x": "y"}
    assert found.changed(found.apply(item)) == {"a": {"b": 1}, "l": [1], "gone": 1}


def test_unchanged_parts_are_shared() -> None:
    item = {"a": {"b": 1}, "c": {"d": 1}}
    after = update("SET a.x = :v", item, {":v": 1})
    assert after["c"] is item["c"]
    assert after["a"] is not item["a"]
