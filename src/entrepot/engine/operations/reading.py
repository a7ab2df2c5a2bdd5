"""What the reading operations have in common: keys, projections, and the forms that do not mix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from entrepot.engine.errors import Validation
from entrepot.engine.expressions import Placeholders
from entrepot.engine.legacy import check_mixing, projection_of
from entrepot.engine.schema import Table
from entrepot.engine.values import Item
from entrepot.engine.values.kinds import admit

Project = Callable[[Item], Item]

_LEGACY = ("AttributesToGet",)
_EXPRESSIONS = ("ProjectionExpression",)


def admit_key(key: Item) -> Item:
    """A key in canonical form; most are already."""
    for value in key.values():
        if type(value) is not str:
            return admit(key)
    return key if "" not in key else admit(key)


def demand_scalar_keys(table: Table, nested: Iterable[str]) -> None:
    """Refuses to look inside of attributes that are keys of the table or of its indexes."""
    for kind, parts in (("Key", table.parts), ("IndexKey", [part for _, part in table.index_parts])):
        for part in parts:
            if part.name in nested:
                raise Validation(
                    f"Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
                    f"{kind}: {part.name}"
                )


def read_projection(request: dict[str, Any], *, admit: Sequence[str] = ()) -> Project | None:
    """What a request wants of each item: None for all of it."""
    if "AttributesToGet" not in request and "ProjectionExpression" not in request:
        if "ExpressionAttributeNames" in request:
            check_mixing(request, expressions=_EXPRESSIONS, legacy=_LEGACY)
        return None
    check_mixing(request, expressions=_EXPRESSIONS, legacy=_LEGACY)
    for name in admit:
        admit_key(request[name])
    if request.get("AttributesToGet") is not None:
        return projection_of(request["AttributesToGet"])
    placeholders = Placeholders(request.get("ExpressionAttributeNames"), None)
    projection = placeholders.projection(request["ProjectionExpression"])
    placeholders.finish()
    return projection
