"""Projections: the part of an item that stands at some paths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from entrepot.engine.expressions.paths import ABSENT, Branches, ResolvedPath, branch
from entrepot.engine.values import Item

_WHOLE = None
"""The leaf of a path: everything below it."""


class Projection:
    """Call it with an item: the attributes at the paths, lists without the elements between."""

    __slots__ = ("_branches", "_plain", "attributes", "nested")

    def __init__(self, paths: Iterable[ResolvedPath]) -> None:
        known = tuple(paths)
        self._branches = branch((path, _WHOLE) for path in known)
        self._plain = tuple(str(path[0]) for path in known) if all(len(path) == 1 for path in known) else None
        self.attributes = frozenset(str(path[0]) for path in known)
        """The top-level attributes that the projection reads."""
        self.nested = frozenset(str(path[0]) for path in known if len(path) > 1)
        """Those of them that it looks inside of."""

    def __call__(self, item: Item) -> Item:
        if self._plain is not None:
            return {name: item[name] for name in self._plain if name in item}
        part = _select_map(item, self._branches)
        return {} if part is ABSENT else part


def _select(value: Any, branches: Branches | None) -> Any:
    if branches is _WHOLE:
        return value
    # The steps below one place are all names or all indexes: other paths are refused as conflicting.
    if isinstance(next(iter(branches)), str):
        return _select_map(value, branches) if isinstance(value, dict) else ABSENT
    return _select_list(value, branches) if isinstance(value, list) else ABSENT


def _select_map(value: dict[str, Any], branches: Branches) -> Any:
    selected = {}
    for name, below in branches.items():
        if name in value:
            part = _select(value[name], below)
            if part is not ABSENT:
                selected[name] = part
    return selected or ABSENT


def _select_list(value: list[Any], branches: Branches) -> Any:
    selected = []
    for index in sorted(branches):
        if index < len(value):
            part = _select(value[index], branches[index])
            if part is not ABSENT:
                selected.append(part)
    return selected or ABSENT
