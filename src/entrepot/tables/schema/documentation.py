"""The page of documentation that the declarations give."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from entrepot.tables.model import Model
from entrepot.tables.schema.lock import describe_field
from entrepot.tables.table import Index, Table


def document(tables: Iterable[Table]) -> str:
    """A page in Markdown: tables, indexes, entities, access patterns."""
    head = ["# Data model\n", "Made by `entrepot schema docs` from the models.\n"]
    return "\n".join([*head, *(_table(table) for table in sorted(tables, key=lambda table: table.name))])


def _table(table: Table) -> str:
    lines = [f"## {table.name}\n", f"Keys: {_code(table.key_names)}."]
    if table.ttl is not None:
        lines.append(f"Items expire by `{table.ttl}` (epoch seconds).")
    if table.pitr:
        days = "35 days" if table.pitr is True else f"{table.pitr} day{'s' if table.pitr > 1 else ''}"
        lines.append(f"Can be restored to any point of the last {days}.")
    if table.stream is not None:
        lines.append(f"Stream: {table.stream}.")
    text = lines[0] + "\n" + " ".join(lines[1:]) + "\n"
    if table.indexes:
        rows = [
            [f"`{index.name}`", _code(index.key_names), _projection(index)]
            for index in table.indexes.values()
        ]
        text += "\n" + _rows(["Index", "Keys", "Projection"], rows)
    for model in table.models.values():
        text += "\n" + _entity(model)
    rows = [
        [
            f"`{p.name}`",
            p.doc.split("\n")[0],
            p.index.name if p.index else "table",
            f"`{_cell(p.describe())}`",
        ]
        for p in table.patterns
    ]
    return text + "\n### Access patterns\n\n" + _rows(["Pattern", "Purpose", "On", "Key condition"], rows)


def _entity(model: Model[Any]) -> str:
    doc = inspect.cleandoc(model.entity.__doc__ or "")
    text = f"### {model.name}\n\n{doc}\n\n" if doc else f"### {model.name}\n\n"
    keys = [[f"`{name}`", f"`{_cell(template.text)}`"] for name, template in model.templates.items()]
    text += _rows(["Key", "Template"], keys) + "\n"
    if model.guards:
        text += "Unique, by guard items: " + ", ".join(f"`{guard.name}`" for guard in model.guards) + ".\n\n"
    attributes = [[f"`{name}`", f"`{_cell(describe_field(field))}`"] for name, field in model.fields.items()]
    return text + _rows(["Attribute", "Type"], attributes)


def _rows(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _projection(index: Index) -> str:
    return index.project if isinstance(index.project, str) else _code(index.project)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
