"""The laws of values: one form per number, images and JSON that lose nothing, sizes, equality."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entrepot.engine.errors import Validation
from entrepot.engine.values import (
    admit,
    canonical,
    compare,
    equal,
    exact,
    from_wire,
    image,
    item_from_wire,
    item_size,
    item_to_wire,
    number_from_text,
    number_to_text,
    prepare,
    to_wire,
    type_of,
)

digits = st.integers(min_value=1, max_value=10**38 - 1)
numbers = st.builds(
    lambda sign, mantissa, exponent: canonical(Decimal((sign, tuple(map(int, str(mantissa))), exponent))),
    st.sampled_from((0, 1)),
    digits,
    st.integers(min_value=-130, max_value=88),
) | st.integers(-(10**6), 10**6)
texts = st.text(max_size=20)
blobs = st.binary(max_size=20)
scalars: st.SearchStrategy[Any] = numbers | texts | blobs | st.booleans() | st.none()
sets: st.SearchStrategy[Any] = (
    st.sets(texts, min_size=1, max_size=4)
    | st.sets(numbers, min_size=1, max_size=4)
    | st.sets(blobs, min_size=1, max_size=4)
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars | sets,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1, max_size=20), inner, max_size=4)
    ),
    max_leaves=12,
)
items = st.dictionaries(st.text(min_size=1, max_size=8), values, max_size=6)


@given(items)
def test_an_image_gives_back_the_item_and_its_types(item: dict[str, Any]) -> None:
    _, size, stored = prepare(item)
    decoded = image.decode(stored)
    assert equal(decoded, item)
    assert {name: type_of(value) for name, value in decoded.items()} == {
        name: type_of(value) for name, value in item.items()
    }
    assert size == item_size(item)


@given(items)
def test_the_same_item_always_has_the_same_image(item: dict[str, Any]) -> None:
    assert prepare(item)[2] == prepare(image.decode(prepare(item)[2]))[2]


@given(items)
def test_the_wire_form_gives_back_the_item(item: dict[str, Any]) -> None:
    assert equal(item_from_wire(item_to_wire(item)), item)


@given(numbers)
def test_a_number_survives_its_text_and_keeps_one_form(number: Any) -> None:
    again = number_from_text(number_to_text(number))
    assert type(again) is type(number)
    assert again == number
    assert "e" not in number_to_text(number).lower()


@given(numbers, numbers)
def test_numbers_compare_as_the_decimals_they_mean(left: Any, right: Any) -> None:
    one, other = exact(left), exact(right)
    assert compare(left, right) == (one > other) - (one < other)
    assert equal(left, right) == (one == other)


@given(st.floats(allow_nan=False, allow_infinity=False).filter(lambda f: f == 0 or 1e-130 <= abs(f) < 1e125))
def test_a_float_means_its_shortest_text(number: float) -> None:
    assert exact(canonical(number)) == Decimal(repr(number))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "The parameter cannot be converted to a numeric value"),
        ("abc", "The parameter cannot be converted to a numeric value: abc"),
        ("1 ", "The parameter cannot be converted to a numeric value: 1 "),
        ("NaN", "The parameter cannot be converted to a numeric value: NaN"),
        ("\u0661", "The parameter cannot be converted to a numeric value: \u0661"),
        ("1" * 39, "Attempting to store more than 38 significant digits in a Number"),
        (
            "1e126",
            "Number overflow. Attempting to store a number with magnitude larger than supported range",
        ),
        (
            "1e-131",
            "Number underflow. Attempting to store a number with magnitude smaller than supported range",
        ),
    ],
)
def test_what_is_no_number_is_refused_in_the_services_words(text: str, said: str) -> None:
    with pytest.raises(Validation) as caught:
        number_from_text(text)
    assert caught.value.message == said


def test_true_is_no_number_and_one_is_not_true() -> None:
    assert not equal(True, 1)
    assert not equal(1, True)
    assert not equal([True], [1])
    assert equal({"a": [1, {"b"}]}, {"a": [1, {"b"}]})


def test_a_decimal_that_looks_like_a_float_is_another_number() -> None:
    tiny = 2**-30
    as_decimal = canonical(Decimal(tiny))
    assert isinstance(as_decimal, Decimal)
    assert not equal(tiny, as_decimal)
    assert not equal({tiny}, {as_decimal})


def test_sizes_are_counted_as_documented() -> None:
    assert item_size({"pk": "é", "n": 0}) == 2 + 2 + 1 + 1
    assert item_size({"a": True, "b": None, "c": b"123"}) == 1 + 1 + 1 + 1 + 1 + 3
    assert item_size({"a": [], "b": {}}) == 1 + 3 + 1 + 3
    assert item_size({"a": ["x"], "b": {"k": "v"}}) == (1 + 3 + 1 + 1) + (1 + 3 + 1 + 2)
    assert [item_size({"n": number}) - 1 for number in (1, 12, 123, -1, 10, 100, 0.1, 123.45)] == [
        2,
        2,
        3,
        3,
        2,
        2,
        2,
        4,
    ]


def test_nesting_stops_at_the_limit() -> None:
    deep: Any = "x"
    for _ in range(31):  # The text at the bottom is a level too.
        deep = [deep]
    admit({"a": deep})
    with pytest.raises(Validation, match="Nesting Levels have exceeded supported limits"):
        admit({"a": [deep]})
    with pytest.raises(Validation, match="Nesting Levels have exceeded supported limits"):
        from_wire(to_wire([deep]))


@pytest.mark.parametrize("value", [object(), {1, "a"}, set(), float("nan"), float("inf"), {"a": {1: 2}}])
def test_what_is_no_value_is_refused(value: Any) -> None:
    with pytest.raises(Validation):
        prepare({"a": value})
