"""The parameters from before expressions."""

from __future__ import annotations

from typing import Any

import pytest

from entrepot.engine.expressions import KeyCondition
from entrepot.engine.legacy import (
    check_mixing,
    condition_of_expected,
    condition_of_filter,
    key_condition_of,
    projection_of,
    update_of,
)

from .asking import refusal

INVALID = "One or more parameter values were invalid: "
ITEM: dict[str, Any] = {"a": 5, "s": "hello", "ss": {"x", "y"}, "l": [1, "x"], "t": True, "b": b"ab"}


@pytest.mark.parametrize(
    ("name", "operator", "operands", "expected"),
    [
        ("a", "EQ", [5], True),
        ("a", "EQ", ["5"], False),
        ("t", "EQ", [True], True),
        ("t", "EQ", [1], False),
        ("l", "EQ", [[1, "x"]], True),
        ("gone", "EQ", [5], False),
        ("a", "NE", [5], False),
        ("a", "NE", ["5"], True),
        ("gone", "NE", [5], True),
        ("a", "IN", [4, 5], True),
        ("gone", "IN", [5], False),
        ("a", "LT", [6], True),
        ("a", "LE", [5], True),
        ("a", "GT", [5], False),
        ("a", "GE", [5], True),
        ("a", "GE", ["5"], False),
        ("gone", "LT", [6], False),
        ("s", "BETWEEN", ["a", "z"], True),
        ("a", "BETWEEN", [6, 7], False),
        ("a", "NULL", [], False),
        ("gone", "NULL", [], True),
        ("a", "NOT_NULL", [], True),
        ("gone", "NOT_NULL", [], False),
        ("s", "CONTAINS", ["ell"], True),
        ("ss", "CONTAINS", ["x"], True),
        ("l", "CONTAINS", [1], True),
        ("ss", "NOT_CONTAINS", ["x"], False),
        ("ss", "NOT_CONTAINS", ["z"], True),
        ("s", "BEGINS_WITH", ["he"], True),
        ("b", "BEGINS_WITH", [b"a"], True),
        ("a", "BEGINS_WITH", ["5"], False),
    ],
)
def test_comparisons(name: str, operator: str, operands: list[Any], expected: bool) -> None:
    entry = {name: {"ComparisonOperator": operator, "AttributeValueList": operands}}
    assert condition_of_filter(entry)(ITEM) is expected
    assert condition_of_expected(entry)(ITEM) is expected


def test_the_oldest_form_of_expected() -> None:
    assert condition_of_expected({"a": {"Value": 5}})(ITEM)
    assert not condition_of_expected({"a": {"Value": 4, "Exists": True}})(ITEM)
    assert condition_of_expected({"gone": {"Exists": False}})(ITEM)
    assert not condition_of_expected({"a": {"Exists": False}})(ITEM)
    assert condition_of_expected({"a": {"ComparisonOperator": "LT", "Value": 6}})(ITEM)


def test_the_conditional_operator() -> None:
    entries: dict[str, dict[str, Any]] = {"a": {"Value": 5}, "s": {"Value": "no"}}
    others: dict[str, dict[str, Any]] = {"a": {"Value": 4}, "s": {"Value": "hello"}}
    assert not condition_of_expected(entries)(ITEM)
    assert not condition_of_expected(entries, "AND")(ITEM)
    assert condition_of_expected(entries, "OR")(ITEM)
    assert condition_of_expected(others, "OR")(ITEM)
    assert condition_of_expected({})(ITEM)
    assert condition_of_expected(entries).attributes == {"a", "s"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"Value": 1, "AttributeValueList": [1]}, "Value and AttributeValueList cannot be used together for Attribute: a"),
        ({"ComparisonOperator": "EQ", "Exists": True, "Value": 1}, "Exists and ComparisonOperator cannot be used together for Attribute: a"),
        ({"ComparisonOperator": "LT"}, "Value or AttributeValueList must be used with ComparisonOperator: LT for Attribute: a"),
        ({"AttributeValueList": [1]}, "AttributeValueList can only be used with a ComparisonOperator for Attribute: a"),
        ({}, "Value must be provided when Exists is null for Attribute: a"),
        ({"Exists": True}, "Value must be provided when Exists is true for Attribute: a"),
        ({"Exists": False, "Value": None}, "Value cannot be used when Exists is false for Attribute: a"),
        ({"ComparisonOperator": "NULL", "Value": 1}, "Invalid number of argument(s) for the NULL ComparisonOperator"),
        ({"ComparisonOperator": "BETWEEN", "AttributeValueList": [1]}, "Invalid number of argument(s) for the BETWEEN ComparisonOperator"),
        ({"ComparisonOperator": "IN", "AttributeValueList": []}, "Invalid number of argument(s) for the IN ComparisonOperator"),
        ({"ComparisonOperator": "IN", "AttributeValueList": [1, "x"]}, "AttributeValues inside AttributeValueList must be of same type"),
        ({"ComparisonOperator": "GT", "AttributeValueList": [{"x"}]}, "ComparisonOperator GT is not valid for SS AttributeValue type"),
        ({"ComparisonOperator": "BEGINS_WITH", "AttributeValueList": [1]}, "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type"),
    ],
)  # fmt: skip
def test_expected_is_refused(entry: dict[str, Any], message: str) -> None:
    assert refusal(condition_of_expected, {"a": entry}) == INVALID + message


def test_filters_are_refused() -> None:
    def filtered(operator: Any, *operands: Any) -> str:
        entry = {"ComparisonOperator": operator, "AttributeValueList": list(operands)}
        return refusal(condition_of_filter, {"a": entry}, None, "ScanFilter")

    assert filtered("EQ", 1, 2) == f"{INVALID}Invalid number of argument(s) for the EQ ComparisonOperator"
    assert (
        filtered("CONTAINS", [1])
        == f"{INVALID}ComparisonOperator CONTAINS is not valid for L AttributeValue type"
    )
    assert filtered("BETWEEN", 2, 1) == (
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    )
    assert "Value 'ABOUT' at 'scanFilter.a.member.comparisonOperator' failed" in filtered("ABOUT", 1)
    assert "Value null at 'scanFilter.a.member.comparisonOperator' failed" in filtered(None, 1)


def conditions(**found: Any) -> dict[str, Any]:
    return {
        name: {"ComparisonOperator": operator, "AttributeValueList": operands}
        for name, (operator, operands) in found.items()
    }


def test_key_conditions() -> None:
    assert key_condition_of(conditions(pk=("EQ", ["x"])), "pk", "sk") == KeyCondition("x", None, ())
    found = key_condition_of(
        conditions(sk=("BETWEEN", [1, 2]), pk=("EQ", ["x"])), "pk", "sk", {"pk": "S", "sk": "N"}
    )
    assert found == KeyCondition("x", "between", (1, 2))
    assert key_condition_of(conditions(pk=("EQ", ["x"]), sk=("GE", [1])), "pk", "sk").operator == ">="


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({}, "Conditions can be of length 1 or 2 only"),
        ({"pk": ("EQ", ["x"]), "sk": ("EQ", ["x"]), "c": ("EQ", ["x"])}, "Conditions can be of length 1 or 2 only"),
        ({"sk": ("EQ", ["x"])}, "Query condition missed key schema element: pk"),
        ({"pk": ("EQ", ["x"]), "c": ("EQ", ["x"])}, "Query condition missed key schema element: sk"),
        ({"pk": ("NE", ["x"])}, "Attempted conditional constraint is not an indexable operation"),
        ({"pk": ("EQ", ["x"]), "sk": ("CONTAINS", ["x"])}, "Attempted conditional constraint is not an indexable operation"),
        ({"pk": ("EQ", [1])}, f"{INVALID}Condition parameter type does not match schema type"),
        ({"pk": ("LT", ["x"])}, "Query key condition not supported"),
    ],
)  # fmt: skip
def test_key_conditions_are_refused(found: dict[str, Any], message: str) -> None:
    assert refusal(key_condition_of, conditions(**found), "pk", "sk", {"pk": "S", "sk": "S"}) == message


def test_attribute_updates() -> None:
    item = {"n": 1, "s": {"x", "y"}, "l": [1], "gone": 1}
    update = update_of(
        {
            "put": {"Value": "v"},
            "n": {"Action": "ADD", "Value": 2},
            "s": {"Action": "DELETE", "Value": {"x"}},
            "l": {"Action": "ADD", "Value": [2]},
            "gone": {"Action": "DELETE"},
            "new": {"Action": "ADD", "Value": {1}},
            "fresh": {"Action": "ADD", "Value": [1]},
            "null": {"Action": "PUT", "Value": None},
        }
    )
    after = {"put": "v", "n": 3, "s": {"y"}, "l": [1, 2], "new": {1}, "fresh": [1], "null": None}
    assert update.apply(item) == after
    assert update.changed(item) == item
    assert update.attributes == {"put", "n", "s", "l", "gone", "new", "fresh", "null"}
    assert item == {"n": 1, "s": {"x", "y"}, "l": [1], "gone": 1}


def test_a_set_that_is_emptied_goes() -> None:
    assert update_of({"s": {"Action": "DELETE", "Value": {"x"}}}).apply({"s": {"x"}}) == {}
    assert update_of({"s": {"Action": "DELETE", "Value": {"x"}}}).apply({}) == {}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "ADD"}, "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "DELETE", "Value": 1}, "DELETE action with value is not supported for the type N"),
        ({"Action": "ADD", "Value": "x"}, "ADD action is not supported for the type S"),
    ],
)
def test_attribute_updates_are_refused(entry: dict[str, Any], message: str) -> None:
    assert refusal(update_of, {"a": entry}) == INVALID + message


def test_an_unknown_action_is_refused() -> None:
    assert "Value 'MIX' at 'attributeUpdates.a.member.action' failed" in refusal(
        update_of, {"a": {"Action": "MIX"}}
    )


@pytest.mark.parametrize(
    ("action", "value", "item"),
    [("ADD", 1, {"a": "x"}), ("ADD", {1}, {"a": {"x"}}), ("ADD", [1], {"a": 1}), ("DELETE", {1}, {"a": 1})],
)
def test_types_of_attribute_updates_match(action: str, value: Any, item: dict[str, Any]) -> None:
    update = update_of({"a": {"Action": action, "Value": value}})
    assert refusal(update.apply, item) == "Type mismatch for attribute to update"


def test_attributes_to_get() -> None:
    assert projection_of(["a", "gone", "m.x"])({"a": 1, "m": {"x": 1}, "m.x": 2}) == {"a": 1, "m.x": 2}
    assert refusal(projection_of, ["a", "b", "a"]) == f"{INVALID}Duplicate value in attribute name: a"


QUERY = {
    "expressions": ("ProjectionExpression", "FilterExpression", "KeyConditionExpression"),
    "legacy": ("AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions"),
}


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"ProjectionExpression": "a", "AttributesToGet": ["a"]}, "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"),
        ({"KeyConditionExpression": "a", "FilterExpression": "b", "KeyConditions": {}, "QueryFilter": {}}, "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {QueryFilter, KeyConditions} Expression parameters: {FilterExpression, KeyConditionExpression}"),
        ({"ExpressionAttributeNames": {}}, "ExpressionAttributeNames can only be specified when using expressions"),
        ({"ProjectionExpression": "a", "ExpressionAttributeValues": {}}, "ExpressionAttributeValues can only be specified when using expressions: FilterExpression and KeyConditionExpression are null"),
        ({"ConditionalOperator": "OR"}, "ConditionalOperator cannot be used without Filter or Expected"),
        ({"ConditionalOperator": "OR", "QueryFilter": {"a": {}}}, "ConditionalOperator can only be used when Filter or Expected has two or more elements"),
    ],
)  # fmt: skip
def test_the_two_forms_do_not_mix(request_: dict[str, Any], message: str) -> None:
    assert refusal(check_mixing, request_, **QUERY) == message


def test_what_goes_together() -> None:
    check_mixing({"KeyConditions": {}, "FilterExpression": "a", "ExpressionAttributeNames": {}}, **QUERY)
    check_mixing(
        {"KeyConditions": {}, "QueryFilter": {"a": {}, "b": {}}, "ConditionalOperator": "OR"}, **QUERY
    )
    check_mixing({"ProjectionExpression": "a", "AttributesToGet": None}, **QUERY)
    one = {"expressions": ("ConditionExpression",), "legacy": ("Expected",)}
    message = refusal(check_mixing, {"ExpressionAttributeValues": {}}, **one)
    assert message.endswith("using expressions: ConditionExpression is null")
