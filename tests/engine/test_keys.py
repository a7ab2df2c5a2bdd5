"""The law of keys: the order of the bytes is DynamoDB's order."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from entrepot.engine import keys
from entrepot.engine.values import compare, exact
from tests.engine.test_values import numbers

texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12)
blobs = st.binary(max_size=12)


def ordered(kind: str, left: Any, right: Any) -> bool:
    one, other = keys.SORTERS[kind](left), keys.SORTERS[kind](right)
    wanted = compare(left, right)
    return ((one > other) - (one < other)) == wanted


@given(texts, texts)
def test_strings_keep_their_order(left: str, right: str) -> None:
    assert ordered("S", left, right)
    assert (left.encode() < right.encode()) == (keys.SORTERS["S"](left) < keys.SORTERS["S"](right))


@given(blobs, blobs)
def test_binaries_keep_their_order(left: bytes, right: bytes) -> None:
    assert ordered("B", left, right)


@given(numbers, numbers)
def test_numbers_keep_their_order(left: Any, right: Any) -> None:
    assert ordered("N", left, right)


@given(blobs, blobs, blobs)
def test_what_begins_with_a_prefix_lies_between_the_prefix_and_its_end(
    prefix: bytes, rest: bytes, other: bytes
) -> None:
    low = b"P" + keys.sort_prefix("B", prefix)
    high = keys.after(low)
    assert low <= b"P" + keys.SORTERS["B"](prefix + rest) < high
    inside = low <= b"P" + keys.SORTERS["B"](other) < high
    assert inside == other.startswith(prefix)


@given(st.lists(st.tuples(texts, texts), min_size=2, max_size=6, unique=True))
def test_two_keys_of_two_parts_never_meet(pairs: list[tuple[str, str]]) -> None:
    built = {keys.partition("S", pk) + keys.SORTERS["S"](sk) for pk, sk in pairs}
    assert len(built) == len(pairs)


@given(texts, texts, texts)
def test_a_partition_is_one_stretch_of_keys(pk: str, sk: str, other: str) -> None:
    low = keys.partition("S", pk)
    high = keys.after(low)
    assert low <= low + keys.SORTERS["S"](sk) < high
    inside = low <= keys.partition("S", other) + keys.SORTERS["S"](sk) < high
    assert inside == (other == pk)


def test_the_order_of_numbers_at_the_edges() -> None:
    edges = [
        -(10**125),
        -100,
        -99,
        -10,
        -1.5,
        -1,
        -0.1,
        -1e-130,
        0,
        1e-130,
        0.1,
        1,
        1.5,
        9,
        10,
        99,
        100,
        10**125,
    ]
    encoded = [keys.number_bytes(number) for number in edges]
    assert encoded == sorted(encoded)
    assert [exact(number) for number in edges] == sorted(exact(number) for number in edges)
