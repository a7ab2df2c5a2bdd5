"""Request bodies: decoded with msgspec, and every wrong field named."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from entrepot.http.problems import FieldError, Invalid, Problem

T = TypeVar("T")

ERRORS_MAX = 20

_AT = re.compile(r"^(?P<message>.*) - at `(?P<path>[^`]*)`$", re.DOTALL)


def decode(body: bytes, kind: type[T]) -> T:
    """The JSON body as a value of this type, or a 400 that names what is wrong."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise Invalid(field_errors(msgspec.json.decode(body), kind) or [_field_error(error)]) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem(f"The body is not JSON: {error}", code="MALFORMED_JSON") from None


def field_errors(value: Any, kind: Any) -> list[FieldError]:
    """Everything that is wrong with a decoded body; msgspec itself stops at the first."""
    if not (isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        error = _conversion_error(value, kind)
        return [error] if error else []
    found: list[FieldError] = []
    known = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for name, field in known.items():
        if name not in value:
            if field.required:
                found.append(FieldError(name, "is missing"))
            continue
        error = _conversion_error(value[name], field.type)
        if error:
            path = name + (
                error.field
                if error.field.startswith(("[", "."))
                else f".{error.field}"
                if error.field
                else ""
            )
            found.append(FieldError(path, error.message))
    if kind.__struct_config__.forbid_unknown_fields:
        found.extend(FieldError(name, "is not known here") for name in value if name not in known)
    if not found:
        error = _conversion_error(value, kind)
        found = [error] if error else []
    return found[:ERRORS_MAX]


def _conversion_error(value: Any, kind: Any) -> FieldError | None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return _field_error(error)
    return None


def _field_error(error: msgspec.ValidationError) -> FieldError:
    text = str(error)
    at = _AT.match(text)
    message, path = (at["message"], at["path"]) if at else (text, "$")
    words = message.replace("`", "")
    return FieldError(path.removeprefix("$").removeprefix("."), words[:1].lower() + words[1:])
