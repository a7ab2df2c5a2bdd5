"""What a Query may ask of a key."""

from __future__ import annotations

from typing import Any

import pytest

from entrepot.engine.expressions import KeyCondition, Placeholders

from .asking import key, refusal

VALUES = {":p": "x", ":s": "y", ":t": "z"}


@pytest.mark.parametrize(
    ("text", "operator", "operands"),
    [
        ("pk = :p", None, ()),
        (":p = pk", None, ()),
        ("(pk = :p)", None, ()),
        ("pk = :p AND sk = :s", "=", ("y",)),
        ("sk < :s AND pk = :p", "<", ("y",)),
        ("pk = :p AND sk <= :s", "<=", ("y",)),
        ("(pk = :p) AND (sk > :s)", ">", ("y",)),
        ("(pk = :p AND sk >= :s)", ">=", ("y",)),
        ("pk = :p AND :s < sk", ">", ("y",)),
        ("pk = :p AND :s >= sk", "<=", ("y",)),
        ("pk = :p AND sk BETWEEN :s AND :t", "between", ("y", "z")),
        ("begins_with(sk, :s) AND pk = :p", "begins_with", ("y",)),
    ],
)
def test_a_key_condition_says_which_part_is_read(text: str, operator: Any, operands: Any) -> None:
    assert key(text, VALUES) == KeyCondition("x", operator, operands)


INVALID = "Invalid condition in KeyConditionExpression: "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pk = :p OR sk = :s", "Invalid operator used in KeyConditionExpression: OR"),
        ("NOT pk = :p", "Invalid operator used in KeyConditionExpression: NOT"),
        ("pk IN (:p)", "Invalid operator used in KeyConditionExpression: IN"),
        ("pk <> :p", "Invalid operator used in KeyConditionExpression: <>"),
        ("attribute_exists(pk)", "Invalid operator used in KeyConditionExpression: attribute_exists"),
        ("pk = :p AND contains(sk, :s)", "Invalid operator used in KeyConditionExpression: contains"),
        ("size(pk) = :p", "KeyConditionExpressions cannot contain nested operations"),
        (":p BETWEEN pk AND :s", INVALID + "BETWEEN operator must have the key attribute as its first operand"),
        ("begins_with(:p, pk)", INVALID + "begins_with operator must have the key attribute as its first operand"),
        ("pk = sk", INVALID + "Multiple attribute names used in one condition"),
        (":p = :s", INVALID + "No key attribute specified"),
        ("pk.a = :p", "KeyConditionExpressions cannot have conditions on nested attributes"),
        ("pk = :p AND sk > :s AND sk < :t", "KeyConditionExpressions must only contain one condition per key"),
        ("pk = :p AND sk = :s AND more = :t", "Conditions can be of length 1 or 2 only"),
        ("sk = :s", "Query condition missed key schema element: pk"),
        ("more = :s", "Query condition missed key schema element: pk"),
        ("pk = :p AND more = :s", "Query condition missed key schema element: sk"),
        ("pk > :p", "Query key condition not supported"),
        ("begins_with(pk, :p)", "Query key condition not supported"),
        ("((pk = :p))", "Invalid KeyConditionExpression: The expression has redundant parentheses;"),
        ("a-b", 'Invalid KeyConditionExpression: Syntax error; token: "-", near: "a-b"'),
        ("pk = :p AND data = :s", "Invalid KeyConditionExpression: Attribute name is a reserved keyword; reserved keyword: data"),
        ("pk = :nope", "Invalid KeyConditionExpression: An expression attribute value used in expression is not defined; attribute value: :nope"),
    ],
)  # fmt: skip
def test_key_conditions_are_refused(text: str, message: str) -> None:
    assert refusal(key, text, VALUES) == message
    assert refusal(key, text, VALUES) == message


def test_a_key_without_a_sort_key_takes_one_condition() -> None:
    assert key("pk = :p", VALUES, range_name=None) == KeyCondition("x", None, ())
    message = refusal(key, "pk = :p AND sk = :s", VALUES, range_name=None)
    assert message == "Query key condition not supported"


def test_types_are_those_of_the_schema() -> None:
    types = {"pk": "S", "sk": "N"}
    mismatch = (
        "One or more parameter values were invalid: Condition parameter type does not match schema type"
    )
    assert key("pk = :p AND sk = :s", {":p": "x", ":s": 1}, types=types).operands == (1,)
    assert refusal(key, "pk = :p", {":p": 1}, types=types) == mismatch
    assert refusal(key, "pk = :p AND sk = :s", VALUES, types=types) == mismatch


def test_bounds_and_prefixes_are_checked() -> None:
    text = "pk = :p AND sk BETWEEN :s AND :t"
    assert "upper bound to be greater" in refusal(key, text, {":p": "x", ":s": 2, ":t": 1})
    assert "operand type: N" in refusal(key, "pk = :p AND begins_with(sk, :s)", {":p": "x", ":s": 2})


def test_the_schema_may_be_known_later() -> None:
    context = Placeholders(None, {":p": "x", ":s": 1})
    bounds = context.key_bounds("pk = :p AND sk > :s")
    context.finish()
    assert bounds.fit("pk", "sk") == KeyCondition("x", ">", (1,))
    assert refusal(bounds.fit, "sk", "pk") == "Query key condition not supported"
    assert refusal(bounds.fit, "a", "b") == "Query condition missed key schema element: a"
    assert refusal(Placeholders().key_bounds, "pk <> sk").endswith("KeyConditionExpression: <>")


def test_names_are_resolved() -> None:
    assert key("#p = :p", VALUES, {"#p": "pk"}).hash_value == "x"
