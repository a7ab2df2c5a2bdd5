"""Names and values of a request: their keys, their use, and what is remembered of expressions."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from entrepot.engine.errors import Validation
from entrepot.engine.expressions import Placeholders, plans
from entrepot.engine.values import Invalid

from .asking import holds, refusal


@pytest.mark.parametrize("name", ["b", "#", "", "#b-c", "#b.c", "##b", ":b", "#é", "#b\n"])
def test_names_start_with_a_hash(name: str) -> None:
    message = f'ExpressionAttributeNames contains invalid key: Syntax error; key: "{name}"'
    assert refusal(Placeholders, {name: "b"}) == message


@pytest.mark.parametrize("name", ["v", ":", "", ":v-w", "#v", "::v", ":v "])
def test_values_start_with_a_colon(name: str) -> None:
    message = f'ExpressionAttributeValues contains invalid key: Syntax error; key: "{name}"'
    assert refusal(Placeholders, None, {name: 1}) == message


def test_neither_is_empty() -> None:
    assert refusal(Placeholders, {}) == "ExpressionAttributeNames must not be empty"
    assert refusal(Placeholders, None, {}) == "ExpressionAttributeValues must not be empty"
    message = "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a"
    assert refusal(Placeholders, {"#a": ""}) == message


def test_a_value_that_is_none_is_told_with_its_key() -> None:
    broken = Invalid(Validation("Supplied AttributeValue is empty"))
    message = "ExpressionAttributeValues contains invalid value: Supplied AttributeValue is empty for key :v"
    assert refusal(Placeholders, None, {":v": broken}) == message
    assert "larger than supported range for key :v" in refusal(Placeholders, None, {":v": 10**126})


def test_values_are_taken_in_canonical_form() -> None:
    assert holds("contains(a, :v)", {"a": {1}}, {":v": Decimal("1.0")})
    assert Placeholders(None, {":v": (1, 2)}).update("SET a = :v").apply({}) == {"a": [1, 2]}


def test_every_placeholder_is_used() -> None:
    context = Placeholders({"#a": "a", "#b": "b", "#c": "c"}, {":v": 1, ":w": 2})
    context.condition("#a = :v", "ConditionExpression")
    unused = "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b, #c}"
    assert refusal(context.finish) == unused
    context.projection("#b, #c.x")
    unused = "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}"
    assert refusal(context.finish) == unused
    context.update("SET x = :w + :v")
    context.finish()


def test_a_name_used_twice_is_used_once() -> None:
    context = Placeholders({"#a": "a"}, {":v": 1})
    context.condition("#a.#a = :v OR #a = :v", "ConditionExpression")
    context.condition("#a > :v", "FilterExpression")
    context.finish()


def test_a_prefix_goes_before_each_message() -> None:
    context = Placeholders({"#a": "a"}, {":v": 1}, prefix="1 validation error detected: ")
    assert refusal(context.update, "SET a").startswith(
        "1 validation error detected: Invalid UpdateExpression: "
    )
    assert refusal(context.finish).startswith("1 validation error detected: Value provided in")
    assert refusal(Placeholders, {}, None, "p: ") == "p: ExpressionAttributeNames must not be empty"
    # What an item does not fit is no fault of the request's form.
    update = Placeholders(None, None, prefix="p: ").update("SET a = b")
    assert refusal(update.apply, {}).startswith("The provided expression")


def test_one_text_means_what_its_names_say() -> None:
    for name in ("a", "b", "a"):
        assert holds("#n = :v", {name: 1}, {":v": 1}, {"#n": name})
        assert not holds("#n = :v", {"c": 1}, {":v": 1}, {"#n": name})


def test_a_remembered_expression_is_compiled_once() -> None:
    plans.forget_plans()
    for number in range(5):
        assert holds("#n = :v", {"a": number}, {":v": number}, {"#n": "a"})
    assert plans.read_condition.cache_info().misses == 1
    assert plans.plans_known() == 1


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    plans.forget_plans()
    monkeypatch.setattr(plans, "PLANS_MAX", 10)
    for number in range(50):
        assert holds(f"a{number} = :v", {f"a{number}": 1}, {":v": 1})
        assert holds("kept = :v", {"kept": 1}, {":v": 1})
    assert plans.plans_known() == 10
    plans.forget_plans()


def test_an_undefined_name_is_told_even_of_a_known_text() -> None:
    assert holds("#n = :v", {"a": 1}, {":v": 1}, {"#n": "a"})
    values: dict[str, Any] = {":v": 1}
    assert refusal(holds, "#n = :v", {}, values, {"#m": "a"}).endswith("attribute name: #n")
    assert refusal(holds, "#n = :v", {}, values).endswith("attribute name: #n")
