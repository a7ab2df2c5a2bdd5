"""Types of values, equality, order, and the admission of values that a Python caller made."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from entrepot.engine.errors import Validation
from entrepot.engine.values.numbers import Number, canonical, exact, number_to_text

Value = Any
Item = dict[str, Any]

DEPTH_MAX = 32
EMPTY_NAME = "Empty attribute name"
NESTED_TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: "
    "Attributes in the item have nested levels beyond supported limit"
)

_SCALAR_TYPES: dict[type, str] = {
    str: "S",
    int: "N",
    float: "N",
    Decimal: "N",
    bytes: "B",
    bool: "BOOL",
    type(None): "NULL",
    list: "L",
    dict: "M",
}
_SET_TYPES = {"S": "SS", "N": "NS", "B": "BS"}


class Invalid:
    """Stands for a value that broke a rule, until the check whose turn it is raises its error."""

    __slots__ = ("error",)

    def __init__(self, error: Validation) -> None:
        self.error = error


def type_of(value: Value) -> str:
    """DynamoDB's name of a value's type: S, N, B, BOOL, NULL, L, M, SS, NS or BS."""
    known = _SCALAR_TYPES.get(type(value))
    if known is not None:
        return known
    if isinstance(value, (set, frozenset)) and value:
        return _SET_TYPES[type_of(next(iter(value)))]
    raise Validation(f"Unsupported type of value: {type(value).__name__}")


def equal(left: Value, right: Value) -> bool:
    """DynamoDB's equality: of one type and the same value; 1 and 1.0 are one number, true is no number."""
    kind = type(left)
    if kind is str or kind is bytes or kind is bool or left is None:
        return kind is type(right) and bool(left == right)
    if kind is list:
        return (
            type(right) is list
            and len(left) == len(right)
            and all(equal(one, other) for one, other in zip(left, right, strict=True))
        )
    if kind is dict:
        return (
            type(right) is dict
            and left.keys() == right.keys()
            and all(equal(one, right[name]) for name, one in left.items())
        )
    if isinstance(left, (set, frozenset)):
        return isinstance(right, (set, frozenset)) and _same_elements(left, right)
    if kind is type(right):
        return bool(left == right)
    if type(right) is bool or not isinstance(right, (int, float, Decimal)):
        return False
    return exact(left) == exact(right)


def _same_elements(left: set[Any] | frozenset[Any], right: set[Any] | frozenset[Any]) -> bool:
    if len(left) != len(right) or type_of(left) != type_of(right):
        return False
    if type_of(left) == "NS":
        return {exact(number) for number in left} == {exact(number) for number in right}
    return left == right


def compare(left: Value, right: Value) -> int:
    """Negative, zero or positive, for two strings (by their UTF-8), two numbers or two binaries."""
    if type(left) is not type(right):
        left, right = exact(left), exact(right)
    # The order of code points is the order of UTF-8 bytes.
    return int(left > right) - int(left < right)


def admit(item: Item) -> Item:
    """The item in canonical form: the same object where nothing needs to change."""
    if "" in item:
        raise Validation(EMPTY_NAME)
    changed: Item | None = None
    for name, value in item.items():
        if type(name) is not str:
            raise Validation(f"Attribute names are strings, not {type(name).__name__}: {name!r}")
        kind = type(value)
        if kind is str or kind is bytes or kind is bool or value is None:
            continue
        admitted = admit_value(value, 1)
        if admitted is not value:
            if changed is None:
                changed = dict(item)
            changed[name] = admitted
    return item if changed is None else changed


def admit_value(value: Value, depth: int = 1) -> Value:
    """One value in canonical form, or an error naming what is wrong with it."""
    admission = _ADMISSIONS.get(type(value))
    if admission is not None:
        return admission(value, depth)
    if type(value) is Invalid:
        raise value.error
    for kind, admission in _ADMISSIONS.items():
        if isinstance(value, kind):
            return admission(value, depth)
    raise Validation(f"Unsupported type of value: {type(value).__name__}")


def _admit_as_is(value: Value, depth: int) -> Value:
    return value


def _admit_number(value: Number, depth: int) -> Number:
    return canonical(value)


def _admit_list(value: list[Any], depth: int) -> list[Any]:
    if depth >= DEPTH_MAX and value:
        raise Validation(NESTED_TOO_DEEP)
    admitted = [admit_value(element, depth + 1) for element in value]
    same = all(one is other for one, other in zip(admitted, value, strict=True))
    return value if same and type(value) is list else admitted


def _admit_map(value: dict[str, Any], depth: int) -> dict[str, Any]:
    if depth >= DEPTH_MAX and value:
        raise Validation(NESTED_TOO_DEEP)
    if "" in value:
        raise Validation(EMPTY_NAME)
    admitted = {name: admit_value(element, depth + 1) for name, element in value.items()}
    for name, element in value.items():
        if type(name) is not str:
            raise Validation(f"Attribute names are strings, not {type(name).__name__}: {name!r}")
        if admitted[name] is not element:
            return admitted
    return value if type(value) is dict else admitted


def _admit_set(value: set[Any] | frozenset[Any], depth: int) -> set[Any]:
    if not value:
        raise Validation("One or more parameter values were invalid: An string set  may not be empty")
    kinds = {type_of(element) for element in value}
    if len(kinds) > 1 or not kinds <= {"S", "N", "B"}:
        raise Validation(f"A set holds strings, numbers or binaries, not {', '.join(sorted(kinds))}")
    if kinds != {"N"}:
        return value if type(value) is set else set(value)
    return {canonical(number) for number in value}


_ADMISSIONS: dict[type, Callable[[Any, int], Any]] = {
    str: _admit_as_is,
    bool: _admit_as_is,
    bytes: _admit_as_is,
    type(None): _admit_as_is,
    int: _admit_number,
    float: _admit_number,
    Decimal: _admit_number,
    list: _admit_list,
    tuple: _admit_list,
    dict: _admit_map,
    set: _admit_set,
    frozenset: _admit_set,
    bytearray: lambda value, depth: bytes(value),
}


def describe(value: Value) -> str:
    """A value as DynamoDB's messages show it: `{S:a}`, `{N:5}`."""
    kind = type_of(value)
    if kind == "S":
        return f"{{S:{value}}}"
    if kind == "N":
        return f"{{N:{number_to_text(value)}}}"
    if kind == "BOOL":
        return f"{{BOOL:{str(value).lower()}}}"
    if kind == "NULL":
        return "{NULL:true}"
    if kind == "B":
        return f"{{B:java.nio.HeapByteBuffer[pos=0 lim={len(value)} cap={len(value)}]}}"
    if kind == "L":
        return f"{{L:[{','.join(describe(element) for element in value)}]}}"
    if kind == "M":
        return f"{{M:{{{','.join(f'{name}={describe(element)}' for name, element in value.items())}}}}}"
    if kind == "NS":
        return f"{{NS:[{','.join(number_to_text(number) for number in sorted(value, key=exact))}]}}"
    return f"{{{kind}:[{','.join(str(element) for element in sorted(value))}]}}"
