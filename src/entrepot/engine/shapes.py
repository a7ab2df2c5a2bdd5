"""Shapes: what a request may hold, declared once per operation.

A shape reads the JSON of the wire into a native request (a wrong type is a SerializationException) and
checks a native request against its constraints (all that break are told together, in order, as DynamoDB
does). Attribute values that break a rule become `Invalid`, so that their error comes in its turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from entrepot.engine.errors import Serialization, Validation
from entrepot.engine.values import Invalid, from_wire

VIOLATIONS_MAX = 10
KNOWN_MAX = 1_000
NAME_SHORTEST, NAME_LONGEST = 3, 255
_DYNAMO = "com.amazonaws.dynamodb.v20120810."


class Shape:
    """A type of a field, with the constraints on its value."""

    def __init__(self, *, required: bool = False) -> None:
        self.required = required

    def read(self, value: Any) -> Any:
        """The native value of what stands in the JSON."""
        raise Serialization("Unexpected field type")

    def demand_type(self, value: Any) -> None:
        """Raises where a native value is not of this shape; asked only once something went wrong with it."""
        self.read(value)

    def holds(self, value: Any) -> bool:
        """Whether a native value keeps all constraints; `violations` says which it breaks."""
        return True

    def violations(self, value: Any, path: str) -> Iterator[str]:
        return iter(())

    @property
    def constrained(self) -> bool:
        return False


class Text(Shape):
    """A string: of a set of words, of a pattern, of a length."""

    def __init__(
        self,
        *,
        required: bool = False,
        words: Sequence[str] = (),
        pattern: str | None = None,
        shortest: int | None = None,
        longest: int | None = None,
    ) -> None:
        super().__init__(required=required)
        self._words = words
        self._pattern = pattern
        self._matches = re.compile(pattern, re.ASCII).fullmatch if pattern else None
        self._shortest = shortest
        self._longest = longest
        # Names of tables and indexes come with every request: those that were right once need no second look.
        self._known: set[str] = set()

    def read(self, value: Any) -> str:
        if type(value) is str:
            return value
        raise Serialization(_not_scalar(value, "String"))

    @property
    def constrained(self) -> bool:
        return bool(self._words or self._pattern or self._shortest or self._longest)

    def holds(self, value: Any) -> bool:
        if self._words:
            return value in self._words
        if value in self._known:
            return True
        if self._matches is not None and self._matches(value) is None:
            return False
        if not _fits(value, self._shortest, self._longest):
            return False
        if len(self._known) < KNOWN_MAX:
            self._known.add(value)
        return True

    def violations(self, value: Any, path: str) -> Iterator[str]:
        if self._words and value not in self._words:
            yield _violation(value, path, f"Member must satisfy enum value set: [{', '.join(self._words)}]")
        if self._matches and not self._matches(value):
            yield _violation(value, path, f"Member must satisfy regular expression pattern: {self._pattern}")
        yield from _length_violations(value, path, self._shortest, self._longest)

    def told(self) -> str:
        """Its constraints as the constraint on a map's keys lists them."""
        return (
            f"Member must have length less than or equal to {self._longest}, "
            f"Member must have length greater than or equal to {self._shortest}, "
            f"Member must satisfy regular expression pattern: {self._pattern}"
        )


class Flag(Shape):
    """A boolean; some words pass for one."""

    def read(self, value: Any) -> bool:
        if type(value) is bool:
            return value
        if type(value) is str:
            folded = value.upper()
            if folded in ("TRUE", "1", "YES"):
                return True
            if folded in ("FALSE", "0", "NO"):
                return False
            raise Serialization("Unexpected token received from parser")
        raise Serialization(_not_scalar(value, "Boolean"))


class Whole(Shape):
    """A whole number within bounds."""

    def __init__(
        self,
        *,
        required: bool = False,
        lowest: int | None = None,
        highest: int | None = None,
        java: str = "Integer",
    ) -> None:
        super().__init__(required=required)
        self._lowest = lowest
        self._highest = highest
        self._java = java

    def read(self, value: Any) -> int:
        if type(value) is int:
            return value
        if type(value) is float:
            return int(value // 1)
        if type(value) is str:
            raise Serialization(f"STRING_VALUE cannot be converted to {self._java}")
        raise Serialization(_not_scalar(value, self._java))

    @property
    def constrained(self) -> bool:
        return self._lowest is not None or self._highest is not None

    def holds(self, value: Any) -> bool:
        return (self._lowest is None or value >= self._lowest) and (
            self._highest is None or value <= self._highest
        )

    def violations(self, value: Any, path: str) -> Iterator[str]:
        if self._lowest is not None and value < self._lowest:
            yield _violation(value, path, f"Member must have value greater than or equal to {self._lowest}")
        if self._highest is not None and value > self._highest:
            yield _violation(value, path, f"Member must have value less than or equal to {self._highest}")


class Attribute(Shape):
    """One attribute value."""

    def __init__(self, *, required: bool = False, field: bool = False) -> None:
        super().__init__(required=required)
        self._wrong_type = "Unexpected field type" if field else "Unexpected value type in payload"

    def read(self, value: Any) -> Any:
        if type(value) is not dict:
            if isinstance(value, list):
                raise Serialization(f"Unrecognized collection type class {_DYNAMO}AttributeValue")
            raise Serialization(self._wrong_type)
        try:
            return from_wire(value)
        except Validation as error:
            return Invalid(error)

    def demand_type(self, value: Any) -> None:
        return  # Whether it is a value at all, its admission says.


class ListOf(Shape):
    """A list of one shape."""

    def __init__(
        self,
        member: Shape,
        *,
        required: bool = False,
        shortest: int | None = None,
        longest: int | None = None,
    ) -> None:
        super().__init__(required=required)
        self._member = member
        self._shortest = shortest
        self._longest = longest

    def read(self, value: Any) -> list[Any]:
        if type(value) is not list:
            if isinstance(value, dict):
                raise Serialization("Start of structure or map found where not expected")
            raise Serialization("Unexpected field type")
        read = self._member.read
        return [None if element is None else read(element) for element in value]

    def demand_type(self, value: Any) -> None:
        if type(value) is not list:
            raise Serialization("Unexpected field type")
        for element in value:
            if element is not None:
                self._member.demand_type(element)

    @property
    def constrained(self) -> bool:
        return bool(self._shortest or self._longest or self._member.constrained or self._member.required)

    def holds(self, value: Any) -> bool:
        if not _fits(value, self._shortest, self._longest):
            return False
        if not self._member.constrained:
            return True
        holds = self._member.holds
        for element in value:
            if element is None or not holds(element):
                return False
        return True

    def violations(self, value: Any, path: str) -> Iterator[str]:
        yield from _length_violations(value, path, self._shortest, self._longest)
        for number, element in enumerate(value, 1):
            yield from _member_violations(self._member, element, f"{path}.{number}.member")


class MapOf(Shape):
    """A map of names to one shape."""

    def __init__(
        self,
        member: Shape,
        java: str,
        *,
        required: bool = False,
        shortest: int | None = None,
        longest: int | None = None,
        keys: Text | None = None,
        lengths: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(required=required)
        self._lengths = lengths
        self._member = member
        self._java = java if "." in java else _DYNAMO + java
        self._shortest = shortest
        self._longest = longest
        self._keys = keys

    def read(self, value: Any) -> dict[str, Any]:
        if type(value) is not dict:
            if isinstance(value, list):
                raise Serialization(
                    f"Unrecognized collection type java.util.Map<java.lang.String, {self._java}>"
                )
            raise Serialization("Unexpected field type")
        read = self._member.read
        return {name: read(element) for name, element in value.items() if element is not None}

    def demand_type(self, value: Any) -> None:
        if type(value) is not dict or not all(type(name) is str for name in value):
            raise Serialization("Unexpected field type")
        for element in value.values():
            if element is not None:
                self._member.demand_type(element)

    @property
    def constrained(self) -> bool:
        return bool(
            self._shortest or self._longest or self._keys or self._lengths or self._member.constrained
        )

    def holds(self, value: Any) -> bool:
        if not _fits(value, self._shortest, self._longest):
            return False
        if self._lengths is not None and not all(_fits(each, *self._lengths) for each in value.values()):
            return False
        if self._keys is not None and not all(self._keys.holds(name) for name in value):
            return False
        holds = self._member.holds
        return not self._member.constrained or all(holds(element) for element in value.values())

    def violations(self, value: Any, path: str) -> Iterator[str]:
        yield from _length_violations(value, path, self._shortest, self._longest)
        if self._keys is not None:
            for name in value:
                if not self._keys.holds(name):
                    yield _violation(value, path, f"Map keys must satisfy constraint: [{self._keys.told()}]")
        if self._lengths is not None:
            least, most = self._lengths
            if not all(_fits(each, least, most) for each in value.values()):
                yield _violation(
                    value,
                    path,
                    f"Map value must satisfy constraint: [Member must have length less than or equal to {most}, "
                    f"Member must have length greater than or equal to {least}]",
                )
        for name, element in value.items():
            yield from _member_violations(self._member, element, f"{path}.{name}.member")


class Record(Shape):
    """A structure with named fields; the operations' own requests are such."""

    def __init__(
        self, java: str, fields: dict[str, Shape], *, required: bool = False, field: bool = True
    ) -> None:
        super().__init__(required=required)
        self._java = java
        self._fields = fields
        self._wrong_type = "Unexpected field type" if field else "Unexpected value type in payload"
        self._required = tuple(name for name, shape in fields.items() if shape.required)
        self._constrained: dict[str, Callable[[Any], bool]] = {
            name: shape.holds for name, shape in fields.items() if shape.constrained
        }

    def read(self, value: Any) -> dict[str, Any]:
        if type(value) is not dict:
            if isinstance(value, list):
                raise Serialization(f"Unrecognized collection type class {_DYNAMO}{self._java}")
            raise Serialization(self._wrong_type)
        fields = self._fields
        return {
            name: fields[name].read(element)
            for name, element in value.items()
            if element is not None and name in fields
        }

    def demand_type(self, value: Any) -> None:
        if type(value) is not dict:
            raise Serialization(self._wrong_type)
        for name, element in value.items():
            if name in self._fields and element is not None:
                self._fields[name].demand_type(element)

    @property
    def constrained(self) -> bool:
        return bool(self._required or self._constrained)

    def violations(self, value: Any, path: str) -> Iterator[str]:
        prefix = f"{path}." if path else ""
        for name, shape in self._fields.items():
            yield from _member_violations(shape, value.get(name), prefix + name[0].lower() + name[1:])

    def check(self, request: dict[str, Any]) -> None:
        """Raises one error that names every constraint that the request breaks."""
        if not self.holds(request):
            self._refuse(request)

    def holds(self, value: Any) -> bool:
        for name in self._required:
            if value.get(name) is None:
                return False
        constrained = self._constrained
        for name, element in value.items():
            if name in constrained and element is not None and not constrained[name](element):
                return False
        return True

    def _refuse(self, request: dict[str, Any]) -> None:
        broken: list[str] = []
        for violation in self.violations(request, ""):
            broken.append(violation)
            if len(broken) == VIOLATIONS_MAX:
                break
        if broken:
            word = "error" if len(broken) == 1 else "errors"
            raise Validation(f"{len(broken)} validation {word} detected: {'; '.join(broken)}")


class TableRecord(Record):
    """The request of a call about a table, which tells of a wrong name in words of its own, before all else."""

    def check(self, request: dict[str, Any]) -> None:
        name = request.get("TableName")
        if name is None:
            raise Validation("The parameter 'TableName' is required but was not present in the request")
        if not NAME_SHORTEST <= len(name) <= NAME_LONGEST:
            raise Validation(
                f"TableName must be at least {NAME_SHORTEST} characters long and at most {NAME_LONGEST} "
                f"characters long"
            )
        super().check(request)


def _member_violations(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if value is None:
        if shape.required:
            yield _violation(None, path, "Member must not be null")
        return
    yield from shape.violations(value, path)


def _fits(value: Any, shortest: int | None, longest: int | None) -> bool:
    return (shortest is None or len(value) >= shortest) and (longest is None or len(value) <= longest)


def _length_violations(value: Any, path: str, shortest: int | None, longest: int | None) -> Iterator[str]:
    if shortest is not None and len(value) < shortest:
        yield _violation(value, path, f"Member must have length greater than or equal to {shortest}")
    if longest is not None and len(value) > longest:
        yield _violation(value, path, f"Member must have length less than or equal to {longest}")


def _violation(value: Any, path: str, constraint: str) -> str:
    shown = "null" if value is None else f"'{_show(value)}'"
    return f"Value {shown} at '{path}' failed to satisfy constraint: {constraint}"


def _show(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_show(element) for element in value)}]"
    if isinstance(value, dict):
        return msgspec.json.encode(value, enc_hook=str).decode()
    return str(value)


def _not_scalar(value: Any, java: str) -> str:
    if value is True or value is False:
        return f"{str(value).upper()}_VALUE cannot be converted to {java}"
    if isinstance(value, (int, float)):
        kind = "NUMBER_VALUE" if isinstance(value, int) else "DECIMAL_VALUE"
        return f"{kind} cannot be converted to {java}"
    if isinstance(value, list):
        return f"Unrecognized collection type class java.lang.{java}"
    return "Start of structure or map found where not expected"
