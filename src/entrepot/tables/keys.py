"""Key templates: `SRC#{sourceId}` parsed once, checked against the entity, and built for every request.

A slot says how its attribute is written into the key:

    {sourceId}          text, as it is
    {email:fold}        text, case-folded
    {timestamp_ms:013}  a whole number, zero-padded to 13 digits, so that text order is number order
    {unixEpoch:%Y%m}    epoch seconds as a UTC date

A key attribute of type N is one number as it is: its template is the attribute alone.

No value may be empty, and none may hold the delimiter, except in a template's last place where nothing longer
could be mistaken for it: so no value can forge another item's key.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from entrepot.tables.errors import InvalidKey
from entrepot.tables.fields import Field

HIGHEST = "\uffff"
PARTITION_KEY_BYTES_MAX = 2048
SORT_KEY_BYTES_MAX = 1024

_PADDED = re.compile(r"0(\d{1,2})")


class TemplateError(Exception):
    """A template that can't be right; the declaration adds the place."""


class Slot:
    """The place of one attribute in a template. `build` writes a value, or refuses it."""

    __slots__ = ("build", "delimiter", "entity", "field", "name", "open", "raw", "spec")

    def __init__(
        self, entity: str, field: Field, spec: str, *, delimiter: str, open_: bool, raw: bool = False
    ) -> None:
        self.raw = raw
        self.entity = entity
        self.field = field
        self.name = field.name
        self.spec = spec
        self.delimiter = delimiter
        self.open = open_
        self.build: Callable[[Any], Any] = self._make()

    def close(self) -> None:
        """Refuse the delimiter from now on: another entity's keys continue where this one's end."""
        self.open = False
        self.build = self._make()

    def could_be(self, literal: str) -> bool:
        """Whether some value of the attribute is written like this."""
        if not literal:
            return False
        if self.field.values is not None:
            return literal in [str(value) for value in self.field.values]
        if _PADDED.fullmatch(self.spec):
            return literal.isdecimal() and len(literal) == int(self.spec)
        return True

    def _make(self) -> Callable[[Any], Any]:
        if self.raw:
            return self._as_is()
        if self.field.base is int:
            return self._number() if _PADDED.fullmatch(self.spec) else self._date()
        if self.spec == "fold":
            text = self._text()
            return lambda value: text(value).casefold() if isinstance(value, str) else text(value)
        return self._text()

    def _as_is(self) -> Callable[[Any], Any]:
        refuse = self._refuse

        def build(value: Any) -> Any:
            if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
                raise refuse(value)
            return value

        return build

    def _text(self) -> Callable[[Any], str]:
        delimiter, refuse = self.delimiter, self._refuse
        if self.open:

            def build_open(value: Any) -> str:
                if not value or not isinstance(value, str):
                    raise refuse(value)
                return value

            return build_open

        def build(value: Any) -> str:
            if not value or not isinstance(value, str) or delimiter in value:
                raise refuse(value)
            return value

        return build

    def _number(self) -> Callable[[Any], str]:
        width, refuse = int(self.spec), self._refuse
        limit = 10**width

        def build(value: Any) -> str:
            if type(value) is not int or not 0 <= value < limit:
                raise refuse(value)
            return f"{value:0{width}}"

        return build

    def _date(self) -> Callable[[Any], str]:
        spec, refuse = self.spec, self._refuse

        def build(value: Any) -> str:
            # A query gives the date as text, a write gives the seconds.
            if isinstance(value, str) and value:
                return value
            if type(value) is not int or value < 0:
                raise refuse(value)
            return datetime.fromtimestamp(value, UTC).strftime(spec)

        return build

    def _refuse(self, value: Any) -> InvalidKey:
        return InvalidKey(self.entity, self.name, value, self._reason(value))

    def _reason(self, value: Any) -> str:
        if value is None or value == "":
            return "an empty value can't be part of a key"
        if self.raw:
            return "this key is a number"
        if self.field.base is int:
            width = int(self.spec) if _PADDED.fullmatch(self.spec) else 0
            return f"a key takes a whole number from 0 to {10**width - 1}" if width else "not epoch seconds"
        if not isinstance(value, str):
            return f"a key takes text, not {type(value).__name__}"
        return f"the delimiter {self.delimiter!r} can't be part of a key's value here"


Segment = tuple["str | tuple[str, Slot]", ...]


class Template:
    """A key's text with slots; `build` makes the key from named values."""

    __slots__ = ("bytes_max", "constant", "names", "parts", "segments", "text")

    def __init__(
        self, text: str, parts: Sequence[str | tuple[str, Slot]], *, delimiter: str, bytes_max: int
    ) -> None:
        self.text = text
        self.parts = tuple(part for part in parts if part != "")
        self.segments = _split(self.parts, delimiter)
        self.names = tuple(part[0] for part in self.parts if not isinstance(part, str))
        self.constant = "".join(str(part) for part in self.parts) if not self.names else None
        self.bytes_max = bytes_max

    @property
    def slots(self) -> list[Slot]:
        return [part[1] for part in self.parts if not isinstance(part, str)]

    def builder(self) -> Callable[[Mapping[str, Any]], Any]:
        """A function that builds the key: compiled, since it runs on every call."""
        if self.constant is not None:
            constant = self.constant
            return lambda values: constant
        if len(self.names) == 1:
            return self._builder_of_one()
        parts = [(part, None) if isinstance(part, str) else part for part in self.parts]
        cautious, check = self.bytes_max // 4, self._check_length

        def build(values: Mapping[str, Any]) -> str:
            key = "".join([text if slot is None else slot.build(values[text]) for text, slot in parts])
            return key if len(key) <= cautious else check(key)

        return build

    def _builder_of_one(self) -> Callable[[Mapping[str, Any]], Any]:
        place = next(index for index, part in enumerate(self.parts) if not isinstance(part, str))
        before = "".join(str(part) for part in self.parts[:place])
        after = "".join(str(part) for part in self.parts[place + 1 :])
        name, slot = self.names[0], self.slots[0]
        if slot.raw:
            return lambda values: slot.build(values[name])
        cautious, check = self.bytes_max // 4, self._check_length

        def build(values: Mapping[str, Any]) -> str:
            key: str = before + slot.build(values[name]) + after
            return key if len(key) <= cautious else check(key)

        return build

    def _check_length(self, key: str) -> str:
        size = len(key.encode())
        if size > self.bytes_max:
            slot = self.slots[-1]
            reason = f"the key {self.text} would have {size} bytes, the limit is {self.bytes_max}"
            raise InvalidKey(slot.entity, slot.name, key, reason)
        return key


def parse(
    text: str,
    entity: str,
    fields: Mapping[str, Field],
    *,
    delimiter: str,
    kind: str = "S",
    bytes_max: int = PARTITION_KEY_BYTES_MAX,
) -> Template:
    """An entity's key template, each slot checked against its attribute."""
    pieces = split_format(text)
    if kind == "N":
        return _parse_number(text, entity, fields, delimiter=delimiter, bytes_max=bytes_max)
    names = [name for _, name, _ in pieces if name is not None]
    parts: list[str | tuple[str, Slot]] = []
    for literal, name, spec in pieces:
        parts.append(literal)
        if name is None:
            continue
        field = fields.get(name)
        if field is None:
            raise TemplateError(f"{text!r} names {name!r}, which {entity} does not have")
        _check_slot(text, field, spec)
        last = name == names[-1] and text.endswith("}")
        parts.append((name, Slot(entity, field, spec, delimiter=delimiter, open_=last)))
    return Template(text, parts, delimiter=delimiter, bytes_max=bytes_max)


def _parse_number(
    text: str, entity: str, fields: Mapping[str, Field], *, delimiter: str, bytes_max: int
) -> Template:
    field = fields.get(text[1:-1])
    if field is None or text != f"{{{field.name}}}" or field.kind != "N":
        raise TemplateError(f"{text!r}: a key of type N is one number of {entity}, as in {{count}}")
    slot = Slot(entity, field, "", delimiter=delimiter, open_=False, raw=True)
    return Template(text, [(field.name, slot)], delimiter=delimiter, bytes_max=bytes_max)


def split_format(text: str) -> list[tuple[str, str | None, str]]:
    """A template's pieces: literal, the name that follows it (None at the end), and that name's spec."""
    try:
        pieces = list(string.Formatter().parse(text))
    except ValueError as error:
        raise TemplateError(f"{text!r}: {error}") from None
    for _, name, _, conversion in pieces:
        if conversion is not None or (name is not None and not name.isidentifier()):
            raise TemplateError(f"{text!r}: a slot is the name of an attribute, as in {{sourceId}}")
    return [(literal, name, spec or "") for literal, name, spec, _ in pieces]


def _check_slot(text: str, field: Field, spec: str) -> None:
    if field.base is int:
        if _PADDED.fullmatch(spec) and int(spec) > 0:
            return
        if spec.startswith("%"):
            return
        raise TemplateError(
            f"{text!r}: the number {field.name!r} must be padded, as in {{{field.name}:013}}, "
            "or text order is not number order"
        )
    if field.kind != "S":
        raise TemplateError(f"{text!r}: {field.name!r} is neither text nor a whole number")
    if spec not in ("", "fold"):
        raise TemplateError(
            f"{text!r}: text can't be written as {spec!r}; only {{{field.name}:fold}} is known"
        )


def _split(parts: Sequence[str | tuple[str, Slot]], delimiter: str) -> tuple[Segment, ...]:
    segments: list[list[str | tuple[str, Slot]]] = [[]]
    for part in parts:
        if not isinstance(part, str):
            segments[-1].append(part)
            continue
        first, *rest = part.split(delimiter)
        if first:
            segments[-1].append(first)
        segments.extend([piece] if piece else [] for piece in rest)
    return tuple(tuple(segment) for segment in segments)
