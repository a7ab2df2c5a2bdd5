"""What an attribute's annotation says: its DynamoDB type, and how its values become native ones."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal, NamedTuple, Union

import msgspec

from entrepot.engine.values import admit, canonical

Encoder = Callable[[Any], Any]

# Marks an attribute whose value no message may show: `Annotated[str, SECRET]`.
SECRET = msgspec.Meta(extra={"secret": True})

# What msgspec must take as it is: without it, text would be read as base64 bytes.
NATIVE = (bytes,)
PLAIN = (bytes, Decimal)
_INT_FAST = 10**17
_SCALARS: dict[Any, str] = {str: "S", int: "N", float: "N", Decimal: "N", bool: "BOOL", bytes: "B"}


class Unsupported(Exception):
    """An annotation that has no DynamoDB type."""


class Field(NamedTuple):
    """One attribute of an entity, as its annotation declares it."""

    name: str
    annotation: Any
    kind: str
    base: Any
    optional: bool
    required: bool
    values: tuple[Any, ...] | None
    encode: Encoder | None
    nested: bool
    secret: bool

    @property
    def identity(self) -> Any:
        """What must be the same for an argument to stand for this attribute: a NewType, or the plain type."""
        return identity_of(self.annotation)


def field_of(info: msgspec.structs.FieldInfo) -> Field:
    """The field that a Struct's attribute declares."""
    inner, optional = without_none(info.type)
    required = info.default is msgspec.NODEFAULT and info.default_factory is msgspec.NODEFAULT
    kind, base, values = _describe(inner)
    return Field(
        name=info.encode_name,
        annotation=info.type,
        kind=kind,
        base=base,
        optional=optional,
        required=required,
        values=values,
        encode=encoder_of(inner),
        nested=_nested(inner),
        secret=_secret(info.type) or _secret(inner),
    )


def without_none(annotation: Any) -> tuple[Any, bool]:
    """The annotation without its `| None`, and whether it had one."""
    plain = _unwrap_annotated(annotation)
    if typing.get_origin(plain) not in (Union, types.UnionType):
        return annotation, False
    members = typing.get_args(plain)
    rest = [member for member in members if member is not type(None)]
    if len(rest) == len(members):
        return annotation, False
    return (rest[0] if len(rest) == 1 else Union[tuple(rest)]), True  # noqa: UP007


def identity_of(annotation: Any) -> Any:
    """The NewType or plain type under `Annotated` and `| None`; literals count as their base type."""
    inner, _ = without_none(annotation)
    inner = _unwrap_annotated(inner)
    if typing.get_origin(inner) is Literal:
        return type(typing.get_args(inner)[0])
    return inner


def base_of(annotation: Any) -> Any:
    """The built-in type at the bottom of an annotation."""
    inner = identity_of(annotation)
    while hasattr(inner, "__supertype__"):
        inner = _unwrap_annotated(inner.__supertype__)
    return inner


def _unwrap_annotated(annotation: Any) -> Any:
    while typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    return annotation


def _secret(annotation: Any) -> bool:
    if typing.get_origin(annotation) is not typing.Annotated:
        return False
    metas = [meta for meta in annotation.__metadata__ if isinstance(meta, msgspec.Meta)]
    return any((meta.extra or {}).get("secret") for meta in metas)


def _describe(annotation: Any) -> tuple[str, Any, tuple[Any, ...] | None]:
    plain = _unwrap_annotated(annotation)
    if typing.get_origin(plain) is Literal:
        values = typing.get_args(plain)
        kinds = {_SCALARS.get(type(value)) for value in values}
        if len(kinds) != 1 or None in kinds:
            raise Unsupported(f"the literals {values} are not of one type")
        return str(kinds.pop()), type(values[0]), values
    base = base_of(plain)
    if isinstance(base, type) and issubclass(base, enum.Enum):
        values = tuple(member.value for member in base)
        return _SCALARS[type(values[0])], base, values
    return _kind_of(base), base, None


def _kind_of(base: Any) -> str:
    known = _SCALARS.get(base)
    if known is not None:
        return known
    if base is Any:
        return "*"
    origin = typing.get_origin(base) or base
    if origin in (set, frozenset):
        return _set_kind(base)
    if origin in (list, tuple):
        for element in typing.get_args(base):
            if element is not Ellipsis:
                _describe(element)
        return "L"
    if origin is dict:
        return _map_kind(base)
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
        for info in msgspec.structs.fields(origin):
            field_of(info)
        return "M"
    if origin in (Union, types.UnionType):
        kinds = {_describe(member)[0] for member in typing.get_args(base)}
        return kinds.pop() if len(kinds) == 1 else "*"
    raise Unsupported(f"{base!r} has no DynamoDB type")


def _set_kind(base: Any) -> str:
    arguments = typing.get_args(base)
    if not arguments:
        raise Unsupported("a set must say what it holds")
    element = _describe(arguments[0])[0]
    if element not in ("S", "N", "B"):
        raise Unsupported(f"a set holds strings, numbers or bytes, not {arguments[0]!r}")
    return element + "S"


def _map_kind(base: Any) -> str:
    arguments = typing.get_args(base)
    if arguments:
        if base_of(arguments[0]) is not str:
            raise Unsupported(f"a map's names are strings, not {arguments[0]!r}")
        _describe(arguments[1])
    return "M"


def _nested(annotation: Any) -> bool:
    """Whether validation must look into Structs inside the value."""
    base = base_of(annotation)
    if isinstance(base, type) and issubclass(base, msgspec.Struct):
        return True
    return any(_nested(argument) for argument in typing.get_args(base) if argument is not Ellipsis)


def encoder_of(annotation: Any) -> Encoder | None:
    """How values of this annotation become native; None when they are native as they stand."""
    base = base_of(annotation)
    if base in (str, bool, bytes):
        return None
    if base is int:
        return _encode_int
    if base is float:
        return _encode_float
    if base is Decimal:
        return canonical
    if isinstance(base, type) and issubclass(base, enum.Enum):
        return lambda value: value.value
    origin = typing.get_origin(base) or base
    arguments = typing.get_args(base)
    if origin in (set, frozenset) and arguments:
        return _set_encoder(encoder_of(arguments[0]))
    if origin in (list, tuple):
        return _list_encoder(encoder_of(arguments[0]) if arguments else encode_any)
    if origin is dict:
        return _map_encoder(encoder_of(arguments[1]) if arguments else encode_any)
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
        return _struct_encoder(origin)
    return encode_any


def _encode_int(value: int) -> int:
    if -_INT_FAST < value < _INT_FAST:
        return value
    return canonical(value)  # type: ignore[return-value]


def _encode_float(value: float) -> Any:
    # Most measurements are such numbers, and are native as they stand. A whole number passes for a float, too.
    if type(value) is float and 1e-9 < value < 1e15 and not value.is_integer():
        return value
    return canonical(value)


def encode_any(value: Any) -> Any:
    """Any value in native form."""
    if isinstance(value, enum.Enum):
        value = value.value
    elif isinstance(value, msgspec.Struct):
        value = _struct_encoder(type(value))(value)
    return admit({"value": value})["value"]


def _set_encoder(encode: Encoder | None) -> Encoder:
    if encode is None:
        # DynamoDB has no empty set: nothing in it means no attribute.
        return lambda value: set(value) if value else None
    return lambda value: {encode(element) for element in value} if value else None


def _list_encoder(encode: Encoder | None) -> Encoder:
    if encode is None:
        return list
    return lambda value: [None if element is None else encode(element) for element in value]


def _map_encoder(encode: Encoder | None) -> Encoder:
    if encode is None:
        return dict
    return lambda value: {
        name: None if element is None else encode(element) for name, element in value.items()
    }


def _struct_encoder(struct: type[msgspec.Struct]) -> Encoder:
    # Looked up on first use, so that a Struct may hold itself.
    plan: list[tuple[str, str, Encoder | None]] = []

    def encode(value: Any) -> dict[str, Any]:
        if not plan:
            plan.extend(
                (info.name, info.encode_name, encoder_of(without_none(info.type)[0]))
                for info in msgspec.structs.fields(struct)
            )
        native: dict[str, Any] = {}
        for name, stored, convert in plan:
            element = getattr(value, name)
            if element is not None and convert is not None:
                element = convert(element)
            if element is not None:
                native[stored] = element
        return native

    return encode
