"""Document paths with their names resolved, and sets of paths as branching trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final, TypeAlias

from entrepot.engine.errors import Validation
from entrepot.engine.expressions.tree import Path, Step

ResolvedPath: TypeAlias = tuple[Step, ...]


class Absent(Enum):
    """The one value that no attribute has: what a path finds where there is nothing."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT

Branches: TypeAlias = dict[Any, Any]
"""Paths merged by their steps; what stands at the end of a path is a leaf."""


def resolve(path: Path, names: Mapping[str, str]) -> ResolvedPath:
    """The path with attribute names for `#placeholders`, all of which are defined."""
    return tuple(names[step] if isinstance(step, str) and step[0] == "#" else step for step in path.steps)


def find(item: Mapping[str, Any], path: ResolvedPath) -> Any:
    """What stands at a path, or ABSENT."""
    found: Any = item
    for step in path:
        if isinstance(step, str):
            if not isinstance(found, dict):
                return ABSENT
            found = found.get(step, ABSENT)
        else:
            if not isinstance(found, list) or step >= len(found):
                return ABSENT
            found = found[step]
    return found


def show(path: ResolvedPath) -> str:
    """A path as error messages show it: `[a, b, [3]]`."""
    return "[" + ", ".join(f"[{step}]" if isinstance(step, int) else step for step in path) + "]"


def check_apart(paths: Iterable[ResolvedPath], kind: str) -> None:
    """Refuse two paths where one holds the other, or that take one place for both a list and a map."""
    seen: list[ResolvedPath] = []
    conflict: Validation | None = None
    for path in paths:
        for earlier in seen:
            verdict = _verdict(earlier, path)
            if verdict is None:
                continue
            error = Validation(
                f"Invalid {kind}: Two document paths {verdict} with each other; "
                "must remove or rewrite one of these paths; "
                f"path one: {show(earlier)}, path two: {show(path)}"
            )
            if verdict == "overlap":
                raise error
            conflict = conflict or error
        seen.append(path)
    if conflict is not None:
        raise conflict


def branch(paths: Iterable[tuple[ResolvedPath, Any]]) -> Branches:
    """Paths that lie apart, each with its leaf, as one tree of steps."""
    root: Branches = {}
    for path, leaf in paths:
        node = root
        for step in path[:-1]:
            node = node.setdefault(step, {})
        node[path[-1]] = leaf
    return root


def _verdict(one: ResolvedPath, two: ResolvedPath) -> str | None:
    for left, right in zip(one, two, strict=False):
        if type(left) is not type(right):
            return "conflict"
        if left != right:
            return None
    return "overlap"
