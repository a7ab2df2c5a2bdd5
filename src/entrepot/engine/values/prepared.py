"""An item made ready for the store in one walk: admitted, measured, encoded."""

from __future__ import annotations

from typing import Any

from entrepot.engine.values import image
from entrepot.engine.values.kinds import DEPTH_MAX, Item, admit
from entrepot.engine.values.sizes import item_size, size_of

_PLAIN_INT = 10**17
_NOT_PLAIN = -(2**62)


def prepare(item: Item) -> tuple[Item, int, bytes]:
    """The item in canonical form, its size and its image."""
    size = _weigh_map(item, 1)
    if size >= 0:
        return item, size, image.encode_plain(item)
    item = admit(item)
    return item, item_size(item), image.encode(item)


def _weigh_map(item: dict[str, Any], depth: int) -> int:
    """The size of a map that msgpack can write as it is; below zero where a careful walk is needed."""
    if "" in item:
        return _NOT_PLAIN
    total = 0
    for name, value in item.items():
        kind = type(value)
        if type(name) is not str:
            return _NOT_PLAIN
        total += len(name) if name.isascii() else len(name.encode())
        if kind is str:
            total += len(value) if value.isascii() else len(value.encode())
        else:
            total += _weigh(value, kind, depth)
    return total


def _weigh(value: Any, kind: type, depth: int) -> int:
    if kind is int:
        return size_of(value) if -_PLAIN_INT < value < _PLAIN_INT else _NOT_PLAIN
    if kind is bool or value is None:
        return 1
    if kind is float:
        plain = 1e-130 <= abs(value) < 1e125 and not value.is_integer()
        return size_of(value) if plain else _NOT_PLAIN
    if kind is bytes:
        return len(value)
    if depth >= DEPTH_MAX:
        return _NOT_PLAIN
    if kind is dict:
        return 3 + len(value) + _weigh_map(value, depth + 1)
    if kind is list:
        total = 3 + len(value)
        for element in value:
            total += _weigh(element, type(element), depth + 1)
        return total
    if kind is str:
        return len(value) if value.isascii() else len(value.encode())
    return _NOT_PLAIN
