"""The lock: what the models say, as a sorted file that people read in a review."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from entrepot.tables.fields import Field, without_none
from entrepot.tables.model import Model
from entrepot.tables.table import Index, Table

HEADER = "# What the models declare; `entrepot schema check` compares. Written by `entrepot schema lock`.\n"

Described = dict[str, Any]


def describe(tables: Iterable[Table]) -> Described:
    """What the lock keeps of each table, by name."""
    return {table.name: _table(table) for table in sorted(tables, key=lambda table: table.name)}


def write(described: Described) -> str:
    """The lock's text."""
    return HEADER + "".join(_section((name,), table) for name, table in described.items())


def read(text: str) -> Described:
    """What a lock says."""
    return tomllib.loads(text)


def _table(table: Table) -> Described:
    described: Described = {"keys": _keys(table.key_names, table.key_kinds)}
    if table.ttl is not None:
        described["ttl"] = table.ttl
    if table.pitr:
        described["pitr"] = table.pitr
    if table.stream is not None:
        described["stream"] = table.stream
    if table.type_attribute is not None:
        described["type_attribute"] = table.type_attribute
    described["indexes"] = {name: _index(index) for name, index in sorted(table.indexes.items())}
    described["entities"] = {name: _entity(model) for name, model in sorted(table.models.items())}
    described["patterns"] = {
        pattern.name: " on ".join([pattern.describe(), pattern.index.name if pattern.index else "the table"])
        for pattern in sorted(table.patterns, key=lambda pattern: pattern.name)
    }
    return described


def _keys(names: Iterable[str], kinds: Iterable[str]) -> str:
    return " ".join(f"{name}:{kind}" for name, kind in zip(names, kinds, strict=True))


def _index(index: Index) -> Described:
    projection = index.project if isinstance(index.project, str) else " ".join(sorted(index.project))
    return {"keys": _keys(index.key_names, index.key_kinds), "project": projection}


def _entity(model: Model[Any]) -> Described:
    described: Described = {
        "keys": {name: template.text for name, template in sorted(model.templates.items())},
        "attributes": {name: describe_field(field) for name, field in sorted(model.fields.items())},
    }
    if model.version is not None:
        described["version"] = model.version
    if model.guards:
        described["unique"] = sorted(guard.name for guard in model.guards)
    return described


def describe_field(field: Field) -> str:
    """An attribute's type: `S`, `S?` when it may be missing, `S = a|b` when only those values."""
    text = field.kind
    if field.kind in ("L", "M", "*"):
        text += f" {_shape(field.annotation)}"
    if field.optional or not field.required:
        text += "?"
    if field.values is not None:
        text += " = " + "|".join(str(value) for value in field.values)
    return text


def _shape(annotation: Any) -> str:
    inner, _ = without_none(annotation)
    name = str(inner) if not isinstance(inner, type) or hasattr(inner, "__args__") else inner.__name__
    return name.replace("typing.", "")


def _section(path: tuple[str, ...], content: Mapping[str, Any]) -> str:
    plain = {name: value for name, value in content.items() if not isinstance(value, Mapping)}
    nested = {name: value for name, value in content.items() if isinstance(value, Mapping)}
    lines = [f"{_name(name)} = {_value(value)}" for name, value in plain.items()]
    text = ""
    if lines or not nested:
        text = f"\n[{'.'.join(_name(part) for part in path)}]\n" + "".join(f"{line}\n" for line in lines)
    return text + "".join(_section((*path, name), value) for name, value in nested.items())


def _name(name: str) -> str:
    bare = name.replace("_", "").replace("-", "")
    return name if bare.isascii() and bare.isalnum() else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False)
