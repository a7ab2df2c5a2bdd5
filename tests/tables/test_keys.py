"""Keys can't be forged, and their order is the order of what they are made of."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from entrepot.tables import Entity, InvalidKey, Table
from entrepot.tables.model import Model

table = Table("keys", "PK SK", indexes={"GSI": "GPK GSK"})


@table.entity(PK="A#{a}#{b}", SK="N#{n:06}#{c}", GPK="MAIL#{mail:fold}", GSK="MONTH#{at:%Y%m}")
class Keyed(Entity):
    a: str
    b: str
    n: int
    c: str
    mail: str
    at: int


@table.entity(PK="B#{b}", SK="X#{c}")
class Short(Entity):
    b: str
    c: str


@table.entity(PK="B#{b}", SK="X#{c}#LONG#{d}")
class Long(Entity):
    b: str
    c: str
    d: str


KEYED: Model[Keyed] = Keyed.__model__  # type: ignore[attr-defined]


def keyed(**changed: object) -> Keyed:
    values: dict[str, object] = {"a": "a", "b": "b", "n": 1, "c": "c", "mail": "m", "at": 0, **changed}
    return Keyed(**values)  # type: ignore[arg-type]


def test_a_key_is_its_template_filled() -> None:
    item = KEYED.encode(keyed(a="x", b="y", n=42, c="z#w", mail="Ann@Example.COM", at=1_700_000_000))
    assert item["PK"] == "A#x#y"
    assert item["SK"] == "N#000042#z#w"
    assert item["GPK"] == "MAIL#ann@example.com"
    assert item["GSK"] == "MONTH#202311"
    assert item["mail"] == "Ann@Example.COM"


@pytest.mark.parametrize(
    ("changed", "attribute"),
    [
        ({"a": ""}, "a"),
        ({"a": "x#y"}, "a"),
        ({"b": ""}, "b"),
        ({"c": ""}, "c"),
        ({"n": -1}, "n"),
        ({"n": 1_000_000}, "n"),
        ({"mail": ""}, "mail"),
        ({"at": -1}, "at"),
        ({"b": "x" * 3000}, "b"),
        ({"c": "é" * 600}, "c"),
    ],
)
def test_a_value_that_could_forge_a_key_is_refused_by_name(
    changed: dict[str, object], attribute: str
) -> None:
    with pytest.raises(InvalidKey) as caught:
        KEYED.encode(keyed(**changed))
    assert caught.value.entity == "Keyed"
    assert caught.value.attribute == attribute


def test_the_last_value_may_hold_the_delimiter_only_where_nothing_continues_it() -> None:
    assert KEYED.encode(keyed(c="c#LONG#d"))["SK"] == "N#000001#c#LONG#d"
    short: Model[Short] = Short.__model__  # type: ignore[attr-defined]
    with pytest.raises(InvalidKey, match="delimiter"):
        short.encode(Short(b="b", c="c#LONG#d"))


texts = st.text(min_size=1, max_size=20)


@given(a=texts, b=texts, c=texts, d=texts)
def test_different_values_never_make_the_same_key(a: str, b: str, c: str, d: str) -> None:
    assume((a, b) != (c, d))
    try:
        one, other = KEYED.encode(keyed(a=a, b=b)), KEYED.encode(keyed(a=c, b=d))
    except InvalidKey:
        return
    assert one["PK"] != other["PK"]


@given(st.lists(st.integers(min_value=0, max_value=999_999), min_size=2))
def test_the_order_of_keys_is_the_order_of_numbers(numbers: list[int]) -> None:
    by_key = sorted(numbers, key=lambda n: str(KEYED.encode(keyed(n=n))["SK"]))
    assert by_key == sorted(numbers)


@given(b=texts, c=texts, d=texts)
def test_no_value_of_one_entity_makes_the_key_of_another(b: str, c: str, d: str) -> None:
    short: Model[Short] = Short.__model__  # type: ignore[attr-defined]
    long: Model[Long] = Long.__model__  # type: ignore[attr-defined]
    try:
        forged = short.encode(Short(b=b, c=f"{c}#LONG#{d}"))
    except InvalidKey:
        return
    assert forged["SK"] != long.encode(Long(b=b, c=c, d=d))["SK"]
