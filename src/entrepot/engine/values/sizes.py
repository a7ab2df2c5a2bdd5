"""Sizes as DynamoDB counts them: what limits, pages and capacity are measured in."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from entrepot.engine.values.kinds import Item, Value
from entrepot.engine.values.numbers import Number, exact

ITEM_BYTES_MAX = 400 * 1024

_CONTAINER_BYTES = 3
_ELEMENT_BYTES = 1


def item_size(item: Item) -> int:
    """The bytes of an item: the UTF-8 of each name and the size of each value."""
    total = 0
    for name, value in item.items():
        total += len(name) if name.isascii() else len(name.encode())
        if type(value) is str:
            total += len(value) if value.isascii() else len(value.encode())
        else:
            total += size_of(value)
    return total


def size_of(value: Value) -> int:
    """The bytes of one value."""
    return _SIZES[type(value)](value)


def _size_of_text(value: str) -> int:
    return len(value) if value.isascii() else len(value.encode())


def _size_of_int(value: int) -> int:
    if value == 0:
        return 1
    if -100 < value < 100 and value % 10:
        return 3 if value < 0 else 2
    return _size_of_digits(str(abs(value)).rstrip("0"), len(str(abs(value))) - 1, negative=value < 0)


def _size_of_float(value: float) -> int:
    mantissa, _, power = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = len(digits) - len(fraction) - 1 + (int(power) if power else 0)
    return _size_of_digits(digits.rstrip("0"), exponent, negative=value < 0)


def _size_of_number(value: Number) -> int:
    sign, digits, exponent = exact(value).normalize().as_tuple()
    if not any(digits):
        return 1
    return _size_of_digits("".join(map(str, digits)), len(digits) + int(exponent) - 1, negative=sign == 1)


def _size_of_digits(digits: str, exponent: int, *, negative: bool) -> int:
    # Two digits to a byte, aligned on the decimal point; one byte of exponent, one more for a minus.
    count = len(digits)
    straddles = count % 2 == 0 and exponent % 2 == 0
    return 1 + (count + 1) // 2 + straddles + negative


def _size_of_list(value: list[Any]) -> int:
    return _CONTAINER_BYTES + sum(_ELEMENT_BYTES + size_of(element) for element in value)


def _size_of_map(value: dict[str, Any]) -> int:
    return _CONTAINER_BYTES + _ELEMENT_BYTES * len(value) + item_size(value)


def _size_of_set(value: set[Any] | frozenset[Any]) -> int:
    return sum(size_of(element) for element in value)


def _size_of_one(value: object) -> int:
    return 1


_SIZES: dict[type, Callable[[Any], int]] = {
    str: _size_of_text,
    bytes: len,
    int: _size_of_int,
    float: _size_of_float,
    Decimal: _size_of_number,
    bool: _size_of_one,
    type(None): _size_of_one,
    list: _size_of_list,
    dict: _size_of_map,
    set: _size_of_set,
    frozenset: _size_of_set,
}
