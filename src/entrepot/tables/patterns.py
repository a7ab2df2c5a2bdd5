"""Access patterns: what a method of an `Access` class declares, proven against the tables when it is loaded."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any, Union

import msgspec

from entrepot.tables.errors import DeclarationError
from entrepot.tables.expressions import Argument, Condition, arguments_of, attributes_of
from entrepot.tables.keys import Template, TemplateError
from entrepot.tables.model import Entity, Guard, Model
from entrepot.tables.overlap import align, could_be_equal, could_begin
from entrepot.tables.results import Result
from entrepot.tables.table import Index, Table

LIST_MAX = 1000
READS_MAX = 1000

_RANGES = {
    "begins_with": "begins_with(#{name}, :low)",
    "between": "#{name} BETWEEN :low AND :high",
    "=": "#{name} = :low",
    "<": "#{name} < :low",
    "<=": "#{name} <= :low",
    ">": "#{name} > :low",
    ">=": "#{name} >= :low",
}


class Range:
    """A condition on a sort key."""

    __slots__ = ("high", "low", "operator")

    def __init__(self, operator: str, low: Any, high: Any = None) -> None:
        self.operator = operator
        self.low = low
        self.high = high


def begins_with(prefix: str) -> Range:
    """Sort keys that begin with the prefix."""
    return Range("begins_with", prefix)


def between(low: str | int, high: str | int) -> Range:
    """Sort keys from low to high, both included."""
    return Range("between", low, high)


def at_least(low: str | int) -> Range:
    """Sort keys from low on."""
    return Range(">=", low)


def at_most(high: str | int) -> Range:
    """Sort keys up to high, included."""
    return Range("<=", high)


def above(low: str | int) -> Range:
    """Sort keys after low."""
    return Range(">", low)


def below(high: str | int) -> Range:
    """Sort keys before high."""
    return Range("<", high)


class ReadSpec:
    """What `item`, `first` or `query` was given."""

    __slots__ = ("keys", "kind", "options")

    def __init__(self, kind: str, keys: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        self.kind = kind
        self.keys = dict(keys)
        self.options = dict(options)


class Builder:
    """A function from the pattern's arguments to one key attribute."""

    __slots__ = ("attribute", "build", "template")

    def __init__(self, attribute: str, template: Template) -> None:
        self.attribute = attribute
        self.template = template
        self.build = template.builder()


class Pattern:
    """A named read of one entity (or of several that share a partition), compiled."""

    def __init__(
        self,
        name: str,
        spec: ReadSpec,
        model: Model[Any],
        result: Any,
        arguments: Mapping[str, Any],
        *,
        doc: str,
        file: str,
        line: int,
    ) -> None:
        self.name = name
        self.kind = spec.kind
        self.model = model
        self.table: Table = model.table
        self.doc = doc
        self.file = file
        self.line = line
        self.arguments = dict(arguments)
        self.members = _members(result, model)
        self.descending: bool = spec.options.get("descending", False)
        self.consistent: bool = spec.options.get("consistent", False)
        self.confirm: bool = spec.options.get("confirm", False)
        self.bound: int = spec.options.get("at_most", LIST_MAX)
        self.reads_max: int = spec.options.get("reads_max", READS_MAX)
        self.where: Condition | None = spec.options.get("where")
        self.index: Index | None = None
        self.sort: Range | None = None
        self.keys: list[Builder] = []
        self.high: Builder | None = None
        self.fallback: Fallback | None = None
        self.type_filter = False
        self.narrowed: dict[type, Result] = {}
        if spec.kind == "guarded":
            self.fallback = Fallback(self, spec)
            self.keys = self.fallback.keys
        else:
            self._compile_keys(spec)
            self._compile_options(spec)
        self.result = Result(model, result, self.members, None if self.confirm else self.index)
        self._check_arguments()
        self._check_projection()
        for other in self.table.models.values():
            self.prove_against(other)
        self.cursor_names = self._cursor_names()
        self.request = {} if self.kind in ("item", "guarded") else self._request()

    # -- keys

    def _compile_keys(self, spec: ReadSpec) -> None:
        keys = spec.keys
        if not keys:
            if spec.kind != "item":
                raise TemplateError("says no key")
            keys = {name: self.model.templates[name].text for name in self.table.key_names}
        names = list(keys)
        self.index = self._find_index(names)
        key_names = self.index.key_names if self.index else self.table.key_names
        partition = keys[key_names[0]]
        if isinstance(partition, Range):
            raise TemplateError(f"the partition key {key_names[0]!r} can't be a range")
        self.keys.append(self._builder(key_names[0], partition, whole=True))
        if len(names) == 1:
            if spec.kind == "item" and len(key_names) == 2:
                raise TemplateError(f"an item needs the sort key {key_names[1]!r} too")
            return
        sort = keys[key_names[1]]
        self.sort = sort if isinstance(sort, Range) else Range("=", sort)
        if spec.kind == "item" and self.sort.operator != "=":
            raise TemplateError("an item has one sort key, not a range")
        self.keys.append(self._builder(key_names[1], self.sort.low, whole=self.sort.operator == "="))
        if self.sort.high is not None:
            self.high = self._builder(key_names[1], self.sort.high, whole=False)

    def _find_index(self, names: list[str]) -> Index | None:
        for index in (None, *self.table.indexes.values()):
            key_names = index.key_names if index else self.table.key_names
            if names[0] in key_names and key_names[0] not in names:
                continue
            if set(names) <= set(key_names) and key_names[0] in names:
                if index is not None and self.kind == "item":
                    raise TemplateError(
                        f"an item is read by {' '.join(self.table.key_names)}, not by an index"
                    )
                return index
        known = self.table.all_key_names
        for name in names:
            if name not in known:
                raise TemplateError(
                    f"{name!r} is no key of {self.table.name} or of its indexes: that would be a scan"
                )
        raise TemplateError(
            f"{' '.join(names)} are not the keys of {self.table.name} or of one of its indexes"
        )

    def _builder(self, attribute: str, value: Any, *, whole: bool) -> Builder:
        text = str(value) if isinstance(value, Argument) else value
        if not isinstance(text, str):
            raise TemplateError(f"{attribute}={value!r}: a key is text with arguments in it")
        templates = [member.templates[attribute] for member in self.members if attribute in member.templates]
        if len(templates) < len(self.members):
            raise TemplateError(f"{self.members[0].name} has no {attribute!r}")
        aligned = [self._align(text, template, whole=whole) for template in templates]
        return Builder(attribute, aligned[0])

    def _align(self, text: str, template: Template, *, whole: bool) -> Template:
        return align(text, template, self.arguments, delimiter=self.table.delimiter, whole=whole)

    # -- options

    def _compile_options(self, spec: ReadSpec) -> None:
        if self.consistent and self.index is not None:
            raise TemplateError(f"the index {self.index.name} can't be read consistently")
        if self.confirm and self.index is None:
            raise TemplateError("only what an index answers needs to be confirmed")
        if self.where is not None:
            for name in attributes_of(self.where):
                if name not in self.model.fields:
                    raise TemplateError(
                        f"the condition names {name!r}, which {self.model.name} does not have"
                    )
        fallback = spec.options.get("fallback")
        if fallback is not None:
            self.fallback = Fallback(self, fallback)

    def _check_arguments(self) -> None:
        used = {name for builder in self._builders() for name in builder.template.names}
        if self.where is not None:
            used |= arguments_of(self.where)
        for name in self.arguments:
            if name not in used:
                raise TemplateError(f"the argument {name!r} builds no key")

    def _builders(self) -> list[Builder]:
        builders = [*self.keys, *([self.high] if self.high else [])]
        return builders + (self.fallback.keys if self.fallback else [])

    def _check_projection(self) -> None:
        if self.index is None or self.confirm:
            return
        needed = self.result.needs(self.type_filter)
        for name in needed:
            if not self.index.projects(name, self.table):
                raise TemplateError(
                    f"the index {self.index.name} does not project {name!r}; "
                    "ask for less, or read the item itself with confirm=True"
                )

    # -- shadows

    def prove_against(self, other: Model[Any]) -> None:
        """A list may not hold items of another entity unnoticed."""
        if self.kind in ("item", "guarded") or other in self.members or not self._could_answer(other):
            return
        if self.table.type_attribute is not None:
            self.type_filter = True
            if hasattr(self, "request"):
                self._check_projection()
                self.request = self._request()
            return
        raise DeclarationError(
            f"{self.name}: its keys {' '.join(builder.template.text for builder in self.keys)!r} also find "
            f"{other.name}; give the table a type_attribute, or answer both",
            file=self.file,
            line=self.line,
        )

    def _could_answer(self, other: Model[Any]) -> bool:
        index_names = self.index.key_names if self.index else self.table.key_names
        if any(name not in other.templates for name in index_names):
            return False
        partition = self.keys[0]
        if not could_be_equal(partition.template, other.templates[partition.attribute]):
            return False
        if self.sort is None:
            return True
        template = other.templates[index_names[1]]
        if self.sort.operator == "=":
            return could_be_equal(self.keys[1].template, template)
        if self.sort.operator == "begins_with":
            return could_begin(self.keys[1].template, template)
        if self.high is None:
            return True
        prefix = _common_literal(self.keys[1].template, self.high.template)
        shared = Template(prefix, [prefix], delimiter=self.table.delimiter, bytes_max=0)
        return could_begin(shared, template)

    # -- the request

    def _cursor_names(self) -> list[str]:
        """The attributes that say where a list goes on."""
        names = [*self.table.key_names, *(self.index.key_names if self.index else ())]
        return list(dict.fromkeys(names))

    def _request(self) -> dict[str, Any]:
        request: dict[str, Any] = {"TableName": self.table.name}
        if self.index is not None:
            request["IndexName"] = self.index.name
        texts = [f"#{self.keys[0].attribute} = :partition"]
        names = {f"#{builder.attribute}": builder.attribute for builder in self.keys}
        if self.sort is not None:
            texts.append(_RANGES[self.sort.operator].format(name=self.keys[1].attribute))
        request["KeyConditionExpression"] = " AND ".join(texts)
        request["ExpressionAttributeNames"] = names
        if self.descending:
            request["ScanIndexForward"] = False
        if self.consistent:
            request["ConsistentRead"] = True
        return request

    def key_values(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the key condition, from the pattern's arguments."""
        keys = self.keys
        built: dict[str, Any] = {":partition": keys[0].build(values)}
        if len(keys) == 2:
            built[":low"] = keys[1].build(values)
            if self.high is not None:
                built[":high"] = self.high.build(values)
        return built

    def describe(self) -> str:
        """The key condition as the seeds write it."""
        texts = [f"{self.keys[0].attribute} = {self.keys[0].template.text}"]
        if self.sort is not None:
            name, low = self.keys[1].attribute, self.keys[1].template.text
            if self.sort.operator == "between" and self.high is not None:
                texts.append(f"{name} between {low} and {self.high.template.text}")
            else:
                texts.append(f"{name} {self.sort.operator} {low}")
        if self.descending:
            texts.append("newest first")
        return ", ".join(texts).replace("\uffff", "\\uffff")


class Fallback:
    """Where a lookup finds what its index does not show yet: the item's own key, or a guard item."""

    __slots__ = ("guard", "keys")

    def __init__(self, pattern: Pattern, spec: Any) -> None:
        if not isinstance(spec, ReadSpec) or spec.kind not in ("item", "guarded"):
            raise TemplateError("a fallback is an item(...), read by its key, or guarded(...), by a guard")
        table, model = pattern.table, pattern.model
        if set(spec.keys) != set(table.key_names):
            raise TemplateError(f"a fallback names the keys {' '.join(table.key_names)}")
        shapes: list[tuple[Guard | None, Mapping[str, Template]]] = []
        if spec.kind == "item":
            shapes = [(None, model.templates)]
        else:
            shapes = [(declared, declared.templates) for declared in model.guards]
        error: TemplateError | None = None
        for declared, templates in shapes:
            try:
                self.keys = [
                    Builder(name, pattern._align(str(spec.keys[name]), templates[name], whole=True))
                    for name in table.key_names
                ]
            except TemplateError as mismatch:
                error = mismatch
                continue
            self.guard = declared
            return
        raise TemplateError(f"{model.name} has no such {'key' if spec.kind == 'item' else 'guard'}: {error}")


def _members(result: Any, model: Model[Any]) -> list[Model[Any]]:
    if typing.get_origin(result) in (Union, types.UnionType):
        members = [member.__model__ for member in typing.get_args(result)]
        if any(member.table is not model.table for member in members):
            raise TemplateError("the entities of one list live in one table")
        return members
    if isinstance(result, type) and issubclass(result, Entity):
        declared = getattr(result, "__model__", None)
        if declared is not model:
            raise TemplateError(f"answers {result.__name__}, but this is the access of {model.name}")
    elif not (isinstance(result, type) and issubclass(result, msgspec.Struct)):
        raise TemplateError(f"answers {result!r}, which is no Struct")
    return [model]


def _common_literal(one: Template, other: Template) -> str:
    first = one.parts[0] if one.parts and isinstance(one.parts[0], str) else ""
    second = other.parts[0] if other.parts and isinstance(other.parts[0], str) else ""
    length = 0
    for left, right in zip(first, second, strict=False):
        if left != right:
            break
        length += 1
    return first[:length]
