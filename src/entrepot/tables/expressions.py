"""Typed conditions and changes: `attr(Source.status) == "active"`, `attr(Source.eventCount).add(1)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, Literal, NamedTuple, TypeVar

T = TypeVar("T")


class Argument:
    """Stands for an argument of a pattern while the pattern is being declared."""

    __slots__ = ("annotation", "name")

    def __init__(self, name: str, annotation: Any) -> None:
        self.name = name
        self.annotation = annotation

    def __format__(self, spec: str) -> str:
        return f"{{{self.name}:{spec}}}" if spec else f"{{{self.name}}}"

    def __str__(self) -> str:
        return f"{{{self.name}}}"

    def __bool__(self) -> bool:
        raise TypeError(f"a pattern is declared once, for all values: it can't decide by {self.name!r}")


class Condition:
    """A condition on an item; `&`, `|` and `~` combine."""

    __slots__ = ("operands", "operator")

    def __init__(self, operator: str, operands: tuple[Any, ...]) -> None:
        self.operator = operator
        self.operands = operands

    def __and__(self, other: Condition) -> Condition:
        return Condition("AND", (self, other))

    def __or__(self, other: Condition) -> Condition:
        return Condition("OR", (self, other))

    def __invert__(self) -> Condition:
        return Condition("NOT", (self,))

    def __bool__(self) -> bool:
        raise TypeError("a condition is for the store; combine with & and |, not with `and` and `or`")


class Change(NamedTuple):
    """One change of an attribute."""

    action: Literal["set", "remove", "add", "discard", "default", "append"]
    path: Path
    value: Any


class Path(NamedTuple):
    """An attribute, or a place inside one; `size` asks for its size."""

    name: str
    steps: tuple[str | int, ...] = ()
    size: bool = False


class Attr(Generic[T]):
    """An attribute in a condition or a change."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path

    # -- conditions

    def __eq__(self, other: T | Attr[T]) -> Condition:  # type: ignore[override]
        if other is None:
            return self.absent()
        return Condition("=", (self.path, _operand(other)))

    def __ne__(self, other: T | Attr[T]) -> Condition:  # type: ignore[override]
        if other is None:
            return self.exists()
        return Condition("<>", (self.path, _operand(other)))

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: T | Attr[T]) -> Condition:
        return Condition("<", (self.path, _operand(other)))

    def __le__(self, other: T | Attr[T]) -> Condition:
        return Condition("<=", (self.path, _operand(other)))

    def __gt__(self, other: T | Attr[T]) -> Condition:
        return Condition(">", (self.path, _operand(other)))

    def __ge__(self, other: T | Attr[T]) -> Condition:
        return Condition(">=", (self.path, _operand(other)))

    def equals(self, other: T) -> Condition:
        """The same as `==`, where linters would have a word: `attr(Url.isActive).equals(True)`."""
        return self == other

    def between(self, low: T, high: T) -> Condition:
        """From low to high, both included."""
        return Condition("BETWEEN", (self.path, low, high))

    def one_of(self, values: Iterable[T]) -> Condition:
        """One of up to 100 values."""
        return Condition("IN", (self.path, *values))

    def begins_with(self, prefix: str) -> Condition:
        return Condition("begins_with", (self.path, prefix))

    def contains(self, value: Any) -> Condition:
        """Text within text, an element of a list or of a set."""
        return Condition("contains", (self.path, value))

    def exists(self) -> Condition:
        return Condition("attribute_exists", (self.path,))

    def absent(self) -> Condition:
        return Condition("attribute_not_exists", (self.path,))

    @property
    def size(self) -> Attr[int]:
        """The attribute's size: characters, bytes or elements."""
        return Attr(self.path._replace(size=True))

    def __getitem__(self, step: str | int) -> Attr[Any]:
        return Attr(self.path._replace(steps=(*self.path.steps, step)))

    # -- changes

    def set(self, value: T) -> Change:
        """The attribute becomes this value; None removes it."""
        if value is None:
            return Change("remove", self.path, None)
        return Change("set", self.path, value)

    def remove(self) -> Change:
        return Change("remove", self.path, None)

    def add(self, value: T) -> Change:
        """Adds a number (atomic; a missing one counts as 0), or elements to a set."""
        return Change("add", self.path, value)

    def discard(self, value: T) -> Change:
        """Takes elements out of a set."""
        return Change("discard", self.path, value)

    def set_if_absent(self, value: T) -> Change:
        """The attribute becomes this value unless it has one."""
        return Change("default", self.path, value)

    def append(self, value: T) -> Change:
        """Appends the elements of a list."""
        return Change("append", self.path, value)


def attr(attribute: T) -> Attr[T]:
    """The attribute of an entity, for a condition or a change: `attr(Source.name)`."""
    name = getattr(attribute, "__name__", None)
    if not isinstance(name, str) or not hasattr(attribute, "__objclass__"):
        raise TypeError(
            f"attr() takes an attribute of an entity class, as in attr(Source.name), not {attribute!r}"
        )
    return Attr(Path(name))


def _operand(value: Any) -> Any:
    return value.path if isinstance(value, Attr) else value


Encode = Callable[[str, Any], Any]
Value = tuple[str, Any]


class Expressions:
    """Gathers the names and values of one request's expressions."""

    __slots__ = ("_encode", "arguments", "names", "values")

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}
        self.arguments: list[tuple[str, str, str]] = []

    def name(self, attribute: str) -> str:
        """The alias of an attribute's name: always one, since many words are reserved."""
        alias = (
            f"#{attribute}" if attribute.isidentifier() and attribute.isascii() else f"#_{len(self.names)}"
        )
        known = self.names.get(alias)
        if known is None:
            self.names[alias] = attribute
        return alias

    def value(self, attribute: str, value: Any) -> str:
        """The alias of a value of this attribute."""
        alias = f":{len(self.values)}"
        if isinstance(value, Argument):
            self.values[alias] = value
            self.arguments.append((alias, attribute, value.name))
        else:
            self.values[alias] = self._encode(attribute, value)
        return alias

    def raw(self, value: Any) -> str:
        """The alias of a value that is native already."""
        alias = f":{len(self.values)}"
        self.values[alias] = value
        return alias

    def path(self, path: Path) -> str:
        text = self.name(path.name)
        for step in path.steps:
            text += f"[{step}]" if isinstance(step, int) else f".{self.name(step)}"
        return f"size({text})" if path.size else text

    def condition(self, condition: Condition) -> str:
        """The text of a condition."""
        operator, operands = condition.operator, condition.operands
        if operator in ("AND", "OR"):
            return f"({self.condition(operands[0])}) {operator} ({self.condition(operands[1])})"
        if operator == "NOT":
            return f"NOT ({self.condition(operands[0])})"
        path, *values = operands
        left = self.path(path)
        # Only an equal value must be one that the attribute can hold; a bound or an element need not.
        typed = operator in ("=", "<>", "IN") and not path.size and not path.steps
        aliases = [
            self.path(value) if isinstance(value, Path) else self.value(path.name if typed else "", value)
            for value in values
        ]
        if operator == "BETWEEN":
            return f"{left} BETWEEN {aliases[0]} AND {aliases[1]}"
        if operator == "IN":
            return f"{left} IN ({', '.join(aliases)})"
        if operator.isidentifier():
            return f"{operator}({', '.join([left, *aliases])})"
        return f"{left} {operator} {aliases[0]}"

    def update(self, changes: Iterable[Change], extra: Mapping[str, list[str]]) -> str:
        """The text of an update; `extra` are parts of its clauses that are written already."""
        clauses: dict[str, list[str]] = {"SET": [], "REMOVE": [], "ADD": [], "DELETE": []}
        for action, path, value in changes:
            target = self.path(path)
            if action == "remove":
                clauses["REMOVE"].append(target)
                continue
            typed = not path.steps and action in ("set", "default", "append")
            alias = self.value(path.name if typed else "", value)
            if action == "set":
                clauses["SET"].append(f"{target} = {alias}")
            elif action == "default":
                clauses["SET"].append(f"{target} = if_not_exists({target}, {alias})")
            elif action == "append":
                empty = self.raw([])
                clauses["SET"].append(f"{target} = list_append(if_not_exists({target}, {empty}), {alias})")
            else:
                clauses["ADD" if action == "add" else "DELETE"].append(f"{target} {alias}")
        for clause, parts in extra.items():
            clauses[clause].extend(parts)
        return " ".join(f"{clause} {', '.join(parts)}" for clause, parts in clauses.items() if parts)

    def fill(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The values with the pattern's arguments in place."""
        if not self.arguments:
            return dict(self.values)
        filled = dict(self.values)
        for alias, attribute, name in self.arguments:
            filled[alias] = self._encode(attribute, arguments[name])
        return filled


def attributes_of(condition: Condition) -> set[str]:
    """The attributes that a condition names."""
    names: set[str] = set()
    for operand in condition.operands:
        if isinstance(operand, Condition):
            names |= attributes_of(operand)
        elif isinstance(operand, Path):
            names.add(operand.name)
    return names


def arguments_of(condition: Condition) -> set[str]:
    """The arguments that a condition takes its values from."""
    names: set[str] = set()
    for operand in condition.operands:
        if isinstance(operand, Condition):
            names |= arguments_of(operand)
        elif isinstance(operand, Argument):
            names.add(operand.name)
    return names
