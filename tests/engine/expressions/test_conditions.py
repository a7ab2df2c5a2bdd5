"""What conditions mean, and which operands they refuse."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from entrepot.engine.expressions import Placeholders

from .asking import holds, refusal

ITEM: dict[str, Any] = {
    "s": "hello",
    "n": 5,
    "f": 0.1,
    "b": b"\x01\x02",
    "yes": True,
    "nothing": None,
    "l": [1, "two", [3], True],
    "m": {"x": 1, "deep": {"y": [10, {"z": "end"}]}},
    "ss": {"a", "b"},
    "ns": {1, 2.5},
    "bs": {b"x"},
    "blank": "",
}


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("n = :v", 5, True),
        ("n = :v", Decimal("5.0"), True),
        ("n = :v", "5", False),
        ("yes = :v", 1, False),
        ("yes = :v", True, True),
        ("f = :v", Decimal("0.1"), True),
        ("nothing = :v", None, True),
        ("l = :v", [1, "two", [3], True], True),
        ("l = :v", [1, "two", [3], 1], False),
        ("m.deep = :v", {"y": [10, {"z": "end"}]}, True),
        ("ns = :v", {2.5, 1}, True),
        ("n <> :v", 5, False),
        ("n <> :v", "5", True),
        ("gone = :v", 5, False),
        ("gone <> :v", 5, True),
        ("NOT gone = :v", 5, True),
        ("gone < :v", 5, False),
        ("NOT gone < :v", 5, True),
        ("n < :v", 5.5, True),
        ("n < :v", "9", False),
        ("n >= :v", 5, True),
        ("n > :v", 4, True),
        ("n <= :v", 4, False),
        ("s < :v", "hellp", True),
        ("b < :v", b"\x01\x03", True),
        ("l < :v", 1, False),
        (":v < n", 1, True),
        ("m.deep.y[1].z = :v", "end", True),
        ("m.deep.y[0] = :v", 10, True),
        ("m.deep.y[2] = :v", 10, False),
        ("m[0] = :v", 1, False),
        ("l.x = :v", 1, False),
        ("size(s) = :v", 5, True),
        ("size(b) = :v", 2, True),
        ("size(l) = :v", 4, True),
        ("size(m) = :v", 2, True),
        ("size(ss) = :v", 2, True),
        ("size(blank) = :v", 0, True),
        ("size(n) = :v", 1, False),
        ("size(yes) = :v", 1, False),
        ("size(gone) = :v", 0, False),
        ("size(gone) <> :v", 0, True),
        (":v = size(s)", 5, True),
        ("size(s) > size(m) AND n = :v", 5, True),
        ("n = size(s) AND n = :v", 5, True),
        ("contains(s, :v)", "ell", True),
        ("contains(s, :v)", b"ell", False),
        ("contains(b, :v)", b"\x02", True),
        ("contains(l, :v)", "two", True),
        ("contains(l, :v)", [3], True),
        ("contains(l, :v)", True, True),
        ("contains(ss, :v)", "a", True),
        ("contains(ss, :v)", "c", False),
        ("contains(ns, :v)", 1, True),
        ("contains(ns, :v)", Decimal("2.50"), True),
        ("contains(ns, :v)", True, False),
        ("contains(ns, :v)", {1}, False),
        ("contains(n, :v)", 5, False),
        ("contains(m, :v)", "x", False),
        ("contains(gone, :v)", "x", False),
        ("contains(:v, s)", ["hello"], True),
        ("contains(:v, gone)", ["hello"], False),
        ("begins_with(s, :v)", "he", True),
        ("begins_with(s, :v)", "el", False),
        ("begins_with(b, :v)", b"\x01", True),
        ("begins_with(s, :v)", b"he", False),
        ("begins_with(gone, :v)", "", False),
        ("begins_with(:v, s)", "hello there", True),
        ("attribute_type(n, :v)", "N", True),
        ("attribute_type(yes, :v)", "BOOL", True),
        ("attribute_type(nothing, :v)", "NULL", True),
        ("attribute_type(ns, :v)", "NS", True),
        ("attribute_type(m.deep, :v)", "M", True),
        ("attribute_type(gone, :v)", "S", False),
        ("n IN (:v)", 5, True),
        ("n IN (gone, :v)", 4, False),
        ("gone IN (:v)", 4, False),
        ("s IN (:v, s2, m.x)", "hello", True),
    ],
)
def test_meaning(text: str, value: Any, expected: bool) -> None:
    assert holds(text, ITEM, {":v": value}) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("attribute_exists(n)", True),
        ("attribute_exists(nothing)", True),
        ("attribute_exists(m.deep.y[1].z)", True),
        ("attribute_exists(m.deep.y[2])", False),
        ("attribute_not_exists(gone)", True),
        ("attribute_not_exists(n)", False),
        ("attribute_not_exists(m.gone.z)", True),
        ("gone = lost", False),
        ("gone <> lost", True),
        ("m.x < n", True),
    ],
)
def test_meaning_without_values(text: str, expected: bool) -> None:
    assert holds(text, ITEM) is expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(5, 5, True), (1, 9.5, True), (6, 9, False), ("1", "9", False), (Decimal("4.99"), 5, True)],
)
def test_between_includes_its_bounds(low: Any, high: Any, expected: bool) -> None:
    assert holds("n BETWEEN :l AND :h", ITEM, {":l": low, ":h": high}) is expected
    assert holds("gone BETWEEN :l AND :h", ITEM, {":l": low, ":h": high}) is False


def test_between_takes_paths_and_sizes() -> None:
    assert holds("n BETWEEN m.x AND m.deep.y[0]", ITEM)
    assert holds("size(s) BETWEEN m.x AND size(l) OR n BETWEEN size(m) AND :h", ITEM, {":h": 5})


def test_not_binds_before_and_before_or() -> None:
    values = {":one": 1}
    item = {"a": 1, "b": 2, "c": 1}
    assert holds("a = :one OR b = :one AND c = :one", item, values)
    assert not holds("(a = :one OR b = :one) AND NOT c = :one", item, values)
    assert not holds("NOT a = :one AND c = :one", item, values)
    assert holds("NOT (a = :one AND b = :one)", item, values)
    assert holds("NOT NOT a = :one", item, values)
    assert holds("b = :one OR b = :one OR a = :one", item, values)
    assert not holds("a = :one AND c = :one AND b = :one", item, values)


def test_a_condition_tells_which_attributes_it_reads() -> None:
    context = Placeholders({"#n": "name"}, {":v": 1})
    condition = context.condition("#n.x = :v AND size(a) > b[0] OR a = :v", "FilterExpression")
    assert condition.attributes == {"name", "a", "b"}
    assert condition.nested == {"name", "b"}


def test_the_kind_of_expression_stands_in_the_error() -> None:
    message = refusal(Placeholders().condition, "a", "FilterExpression")
    assert message == 'Invalid FilterExpression: Syntax error; token: "<EOF>", near: "a"'


WRONG = "Incorrect operand type for operator or function; operator or function: "
COUNT = "Incorrect number of operands for operator or function; operator or function: "
MISUSED = "The function is not allowed to be used this way in an expression; function: "
DISTINCT = (
    "The first operand must be distinct from the remaining operands for this operator or function; operator: "
)
PATH = "Operator or function requires a document path; operator or function: "
BOUNDS = "lower bound operand: AttributeValue: {}, upper bound operand: AttributeValue: {}"


@pytest.mark.parametrize(
    ("text", "values", "reason"),
    [
        ("size(a)", {}, MISUSED + "size"),
        ("NOT size(a)", {}, MISUSED + "size"),
        ("attribute_exists(a) = :v", {":v": 1}, MISUSED + "attribute_exists"),
        ("a IN (contains(a, b))", {}, MISUSED + "contains"),
        ("contains(a, attribute_exists(b))", {}, MISUSED + "attribute_exists"),
        ("attribute_exists(a, b)", {}, COUNT + "attribute_exists, number of operands: 2"),
        ("begins_with(a)", {}, COUNT + "begins_with, number of operands: 1"),
        ("size(a, b) = :v", {":v": 1}, COUNT + "size, number of operands: 2"),
        ("a = a", {}, DISTINCT + "=, first operand: [a]"),
        ("a.b[1] < a.b[1]", {}, DISTINCT + "<, first operand: [a, b, [1]]"),
        ("contains(a, a)", {}, DISTINCT + "contains, first operand: [a]"),
        ("a IN (b, a)", {}, DISTINCT + "IN, first operand: [a]"),
        ("a BETWEEN b AND a", {}, DISTINCT + "BETWEEN, first operand: [a]"),
        ("attribute_exists(:v)", {":v": 1}, PATH + "attribute_exists"),
        ("attribute_not_exists(size(a))", {}, PATH + "attribute_not_exists"),
        ("begins_with(a, :v)", {":v": 1}, WRONG + "begins_with, operand type: N"),
        ("begins_with(:v, a)", {":v": True}, WRONG + "begins_with, operand type: BOOL"),
        ("begins_with(a, size(b))", {}, WRONG + "begins_with, operand type: N"),
        ("size(:v) = a", {":v": 1}, WRONG + "size, operand type: N"),
        ("size(:v) = a", {":v": None}, WRONG + "size, operand type: NULL"),
        ("size(size(a)) = b", {}, WRONG + "size, operand type: N"),
        ("a < :v", {":v": True}, WRONG + "<, operand type: BOOL"),
        (":v >= a", {":v": [1]}, WRONG + ">=, operand type: L"),
        ("a BETWEEN :v AND b", {":v": {"x"}}, WRONG + "BETWEEN, operand type: SS"),
        ("attribute_type(a, :v)", {":v": 1}, WRONG + "attribute_type, operand type: N"),
        ("attribute_type(a, b)", {}, WRONG + "attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}"),
        ("attribute_type(a, :v)", {":v": "X"}, "Invalid attribute type name found; type: X, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"),
        ("a BETWEEN :l AND :h", {":l": "b", ":h": "a"}, "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; " + BOUNDS.format("{S:b}", "{S:a}")),
        ("a BETWEEN :l AND :h", {":l": 1, ":h": "a"}, "The BETWEEN operator requires same data type for lower and upper bounds; " + BOUNDS.format("{N:1}", "{S:a}")),
    ],
)  # fmt: skip
def test_operands_are_refused(text: str, values: dict[str, Any], reason: str) -> None:
    expected = f"Invalid ConditionExpression: {reason}"
    assert refusal(holds, text, {}, values or None) == expected
    # And again, now that the expression may be remembered.
    assert refusal(holds, text, {}, values or None) == expected


def test_in_takes_at_most_100_operands() -> None:
    values = {f":{number}": number for number in range(101)}
    assert holds(f"n IN ({','.join(list(values)[:100])})", ITEM, values)
    message = (
        "Invalid ConditionExpression: The IN operator is provided with too many operands; "
        "number of operands: 101"
    )
    assert refusal(holds, f"n IN ({','.join(values)})", ITEM, values) == message


def test_distinctness_is_of_resolved_paths() -> None:
    message = refusal(holds, "#x = a", {}, None, {"#x": "a"})
    assert message == f"Invalid ConditionExpression: {DISTINCT}=, first operand: [a]"
    assert holds("#x = a", {"a": 1, "b": 1}, None, {"#x": "b"})


def test_a_remembered_condition_checks_new_values() -> None:
    text = "begins_with(a, :p) AND b BETWEEN :l AND :h AND attribute_type(c, :t) AND d < :l"
    good = {":p": "x", ":l": 1, ":h": 2, ":t": "S"}
    assert not holds(text, {}, good)
    assert "operand type: N" in refusal(holds, text, {}, {**good, ":p": 1})
    assert "upper bound to be greater" in refusal(holds, text, {}, {**good, ":h": 0})
    assert "same data type" in refusal(holds, text, {}, {**good, ":h": "x"})
    assert "Invalid attribute type name" in refusal(holds, text, {}, {**good, ":t": "Z"})
    assert "attribute value: :h" in refusal(holds, text, {}, {":p": "x", ":l": 1, ":t": "S"})
