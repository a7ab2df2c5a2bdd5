"""The least policy of a service: what its patterns read, and the keys that its entities write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from entrepot.tables.keys import Template
from entrepot.tables.model import Model
from entrepot.tables.table import Table

_WRITES = [
    "dynamodb:BatchWriteItem",
    "dynamodb:ConditionCheckItem",
    "dynamodb:DeleteItem",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
]
_ITEM_READS = ["dynamodb:BatchGetItem", "dynamodb:GetItem"]


def service_of(module: str) -> str:
    """The service that a module belongs to: the package that holds the model."""
    parts = module.split(".")
    return parts[-2] if len(parts) > 1 else parts[-1]


def policy(
    tables: Iterable[Table], service: str, *, prefix: str = "", region: str = "*", account: str = "*"
) -> dict[str, Any]:
    """The policy of one service, to be written as JSON; nothing in it can scan."""
    statements: list[dict[str, Any]] = []
    for table in sorted(tables, key=lambda table: table.name):
        arn = f"arn:aws:dynamodb:{region}:{account}:table/{prefix}{table.name}"
        statements.extend(_statements(table, service, arn))
    return {"Version": "2012-10-17", "Statement": statements}


def _statements(table: Table, service: str, arn: str) -> list[dict[str, Any]]:
    models = [model for model in table.models.values() if service_of(model.entity.__module__) == service]
    patterns = [p for p in table.patterns if service_of(p.model.entity.__module__) == service]
    statements: list[dict[str, Any]] = []
    leading = sorted({key for model in models for key in _leading_keys(model)})
    if models:
        actions = sorted([*_WRITES, *_ITEM_READS])
        statements.append(_allow(actions, arn, leading))
    queried = sorted(
        {_leading(p.keys[0].template) for p in patterns if p.kind in ("first", "query") and p.index is None}
    )
    if queried:
        statements.append(_allow(["dynamodb:Query"], arn, queried))
    for index in table.indexes.values():
        used = [p for p in patterns if p.index is index]
        if used:
            keys = sorted({_leading(p.keys[0].template) for p in used})
            statements.append(_allow(["dynamodb:Query"], f"{arn}/index/{index.name}", keys))
    return statements


def _allow(actions: list[str], resource: str, leading: list[str]) -> dict[str, Any]:
    statement: dict[str, Any] = {"Effect": "Allow", "Action": actions, "Resource": resource}
    if "*" not in leading:
        statement["Condition"] = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": leading}}
    return statement


def _leading_keys(model: Model[Any]) -> list[str]:
    partition = model.table.key_names[0]
    templates = [model.templates[partition], *(guard.templates[partition] for guard in model.guards)]
    return [_leading(template) for template in templates]


def _leading(template: Template) -> str:
    return "".join(part if isinstance(part, str) else "*" for part in template.parts)
