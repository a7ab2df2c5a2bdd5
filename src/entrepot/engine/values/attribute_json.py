"""DynamoDB JSON (`{"S": "x"}`) to native values and back."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from entrepot.engine.errors import Serialization, Validation
from entrepot.engine.values.kinds import DEPTH_MAX, NESTED_TOO_DEEP, Item, Value, type_of
from entrepot.engine.values.numbers import Number, exact, number_from_text, number_to_text

_INVALID = "One or more parameter values were invalid: "
_EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
_SEVERAL = (
    "Supplied AttributeValue has more than one datatypes set, "
    "must contain exactly one of the supported datatypes"
)


def item_from_wire(item: Mapping[str, Mapping[str, Any]]) -> Item:
    """A map of attribute values, decoded."""
    return {name: from_wire(value) for name, value in item.items()}


def item_to_wire(item: Item) -> dict[str, dict[str, Any]]:
    """An item as DynamoDB JSON."""
    return {name: to_wire(value) for name, value in item.items()}


def from_wire(attribute: Mapping[str, Any], depth: int = 1) -> Value:
    """One attribute value, checked in DynamoDB's order."""
    if len(attribute) == 1:
        for kind, value in attribute.items():
            read = _READERS.get(kind)
            if read is not None:
                return read(value, depth)
    return _read_odd(attribute, depth)


def to_wire(value: Value) -> dict[str, Any]:
    """One native value as DynamoDB JSON."""
    return _WRITERS[type(value)](value)


def _read_odd(attribute: Mapping[str, Any], depth: int) -> Value:
    known = [kind for kind in _READERS if attribute.get(kind) is not None]
    if not known:
        raise Validation(_EMPTY)
    values = [_READERS[kind](attribute[kind], depth) for kind in known]
    if len(known) > 1:
        raise Validation(_SEVERAL)
    return values[0]


def _read_text(value: Any, depth: int) -> str:
    if type(value) is not str:
        raise Serialization(_not_text(value))
    return value


def _not_text(value: Any) -> str:
    if value is True:
        return "TRUE_VALUE cannot be converted to String"
    if value is False:
        return "FALSE_VALUE cannot be converted to String"
    if isinstance(value, (int, float)):
        kind = "NUMBER_VALUE" if isinstance(value, int) else "DECIMAL_VALUE"
        return f"{kind} cannot be converted to String"
    if isinstance(value, list):
        return "Unrecognized collection type class java.lang.String"
    return "Start of structure or map found where not expected"


def _read_number(value: Any, depth: int) -> Number:
    return number_from_text(_read_text(value, depth))


def read_blob(value: Any, depth: int = 1) -> bytes:
    """Bytes from strict base64."""
    if type(value) is not str:
        if isinstance(value, list):
            raise Serialization("Unrecognized collection type class java.nio.ByteBuffer")
        if isinstance(value, dict):
            raise Serialization("Start of structure or map found where not expected")
        raise Serialization("only base-64-encoded strings are convertible to bytes")
    if len(value) % 4:
        raise Serialization(
            f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(value)}"
        )
    try:
        blob = binascii.a2b_base64(value, strict_mode=True) if value else b""
    except (binascii.Error, ValueError):
        raise Serialization("Invalid last non-pad Base64 character dectected") from None
    if binascii.b2a_base64(blob, newline=False).decode() != value:
        raise Serialization("Invalid last non-pad Base64 character dectected")
    return blob


def _read_bool(value: Any, depth: int) -> bool:
    if type(value) is bool:
        return value
    if type(value) is str:
        folded = value.upper()
        if folded in ("TRUE", "1", "YES"):
            return True
        if folded in ("FALSE", "0", "NO"):
            return False
        raise Serialization("Unexpected token received from parser")
    if isinstance(value, (int, float)):
        kind = "NUMBER_VALUE" if isinstance(value, int) else "DECIMAL_VALUE"
        raise Serialization(f"{kind} cannot be converted to Boolean")
    if isinstance(value, list):
        raise Serialization("Unrecognized collection type class java.lang.Boolean")
    raise Serialization("Start of structure or map found where not expected")


def _read_null(value: Any, depth: int) -> None:
    if not _read_bool(value, depth):
        raise Validation(f"{_INVALID}Null attribute value types must have the value of true")


def _read_list(value: Any, depth: int) -> list[Any]:
    _demand_list(value)
    if depth >= DEPTH_MAX and value:
        raise Validation(NESTED_TOO_DEEP)
    return [from_wire(_demand_attribute(element), depth + 1) for element in value]


def _read_map(value: Any, depth: int) -> dict[str, Any]:
    if type(value) is not dict:
        if isinstance(value, list):
            raise Serialization(
                "Unrecognized collection type java.util.Map<java.lang.String, "
                "com.amazonaws.dynamodb.v20120810.AttributeValue>"
            )
        raise Serialization("Unexpected field type")
    if depth >= DEPTH_MAX and value:
        raise Validation(NESTED_TOO_DEEP)
    return {name: from_wire(_demand_attribute(element), depth + 1) for name, element in value.items()}


def _demand_attribute(value: Any) -> Mapping[str, Any]:
    if type(value) is dict:
        return value
    if isinstance(value, list):
        raise Serialization(
            "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue"
        )
    raise Serialization("Unexpected value type in payload")


def _demand_list(value: Any) -> None:
    if type(value) is list:
        return
    if isinstance(value, dict):
        raise Serialization("Start of structure or map found where not expected")
    raise Serialization("Unexpected field type")


def _read_string_set(value: Any, depth: int) -> set[str]:
    _demand_list(value)
    texts = [_read_text(element, depth) for element in value]
    if not texts:
        raise Validation(f"{_INVALID}An string set  may not be empty")
    unique = set(texts)
    if len(unique) != len(texts):
        raise Validation(f"{_INVALID}Input collection [{', '.join(texts)}] contains duplicates.")
    return unique


def _read_number_set(value: Any, depth: int) -> set[Number]:
    _demand_list(value)
    texts = [_read_text(element, depth) for element in value]
    if not texts:
        raise Validation(f"{_INVALID}An number set  may not be empty")
    numbers = [number_from_text(text) for text in texts]
    unique = set(numbers)
    if len(unique) != len(numbers):
        raise Validation("Input collection contains duplicates")
    return unique


def _read_binary_set(value: Any, depth: int) -> set[bytes]:
    _demand_list(value)
    blobs = [read_blob(element) for element in value]
    if not blobs:
        raise Validation(f"{_INVALID}Binary sets should not be empty")
    unique = set(blobs)
    if len(unique) != len(blobs):
        raise Validation(f"{_INVALID}Input collection [{', '.join(value)}]of type BS contains duplicates.")
    return unique


_READERS: dict[str, Callable[[Any, int], Value]] = {
    "S": _read_text,
    "N": _read_number,
    "B": read_blob,
    "BOOL": _read_bool,
    "NULL": _read_null,
    "L": _read_list,
    "M": _read_map,
    "SS": _read_string_set,
    "NS": _read_number_set,
    "BS": _read_binary_set,
}


def _write_blob(value: bytes) -> str:
    return binascii.b2a_base64(value, newline=False).decode()


def _write_set(value: set[Any] | frozenset[Any]) -> dict[str, Any]:
    kind = type_of(value)
    if kind == "NS":
        return {"NS": [number_to_text(number) for number in sorted(value, key=exact)]}
    if kind == "BS":
        return {"BS": [_write_blob(blob) for blob in sorted(value)]}
    return {"SS": sorted(value)}


_WRITERS: dict[type, Callable[[Any], dict[str, Any]]] = {
    str: lambda value: {"S": value},
    int: lambda value: {"N": str(value)},
    float: lambda value: {"N": number_to_text(value)},
    Decimal: lambda value: {"N": number_to_text(value)},
    bytes: lambda value: {"B": _write_blob(value)},
    bool: lambda value: {"BOOL": value},
    type(None): lambda value: {"NULL": True},
    list: lambda value: {"L": [to_wire(element) for element in value]},
    dict: lambda value: {"M": item_to_wire(value)},
    set: _write_set,
    frozenset: _write_set,
}
