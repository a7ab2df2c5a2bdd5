"""Item images: how an item lies on disk, as compact msgpack.

What msgpack has no type for is an extension: exact numbers as their text, sets as the list of their
elements. Everything else is read straight into Python values by msgspec.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from msgspec import msgpack

from entrepot.engine.values.kinds import Item, type_of
from entrepot.engine.values.numbers import exact

_NUMBER, _STRING_SET, _NUMBER_SET, _BINARY_SET = 1, 2, 3, 4
_SET_CODES = {"SS": _STRING_SET, "NS": _NUMBER_SET, "BS": _BINARY_SET}
_INT_MAX = 2**63 - 1

_PLAIN = frozenset({str, float, bytes, bool, type(None)})


def encode(item: Item) -> bytes:
    """The image of an item in canonical form."""
    return _encoder.encode(_storable_map(item))


def _storable_map(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value if type(value) in _PLAIN else _storable(value) for name, value in item.items()}


def _storable(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is int:
        return value if -_INT_MAX <= value <= _INT_MAX else msgpack.Ext(_NUMBER, str(value).encode())
    if kind is Decimal:
        return msgpack.Ext(_NUMBER, str(value).encode())
    if kind is dict:
        return _storable_map(value)
    if kind is list:
        return [_storable(element) for element in value]
    if kind is set or kind is frozenset:
        elements = [_storable(element) for element in _ordered(value)]
        return msgpack.Ext(_SET_CODES[type_of(value)], _encoder.encode(elements))
    raise TypeError(f"not a value in canonical form: {kind.__name__}")


def _ordered(elements: set[Any] | frozenset[Any]) -> list[Any]:
    # The same set always gives the same bytes.
    return sorted(elements, key=exact) if type_of(elements) == "NS" else sorted(elements)


def _read_extension(code: int, data: memoryview) -> Any:
    if code == _NUMBER:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdecimal() else Decimal(text)
    return set(_decoder.decode(data))


_encoder = msgpack.Encoder()
_decoder = msgpack.Decoder(ext_hook=_read_extension)

encode_plain = _encoder.encode
decode = _decoder.decode
