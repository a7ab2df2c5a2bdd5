"""Updates as closures: every new value is computed from the item as it was, then all are put in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final, TypeAlias

import msgspec

from entrepot.engine.errors import Validation
from entrepot.engine.expressions.conditions import Values
from entrepot.engine.expressions.paths import ABSENT, Branches, ResolvedPath, branch, find, resolve
from entrepot.engine.expressions.projections import Projection
from entrepot.engine.expressions.tree import (
    Action,
    Arithmetic,
    Assign,
    Call,
    Change,
    Operand,
    Path,
    Remove,
    ValueRef,
)
from entrepot.engine.values import Item, type_of
from entrepot.engine.values.numbers import add, subtract

INCORRECT_TYPE = "An operand in the update expression has an incorrect data type"
NO_SUCH_ATTRIBUTE = "The provided expression refers to an attribute that does not exist in the item"
INVALID_PATH = "The document path provided in the update expression is invalid for update"


class _Outcome(Enum):
    REMOVED = "removed"
    KEPT = "kept"


REMOVED: Final = _Outcome.REMOVED
"""The outcome of an action that takes its attribute away."""
KEPT: Final = _Outcome.KEPT
"""The outcome of an action that leaves its attribute as it is."""

Effect: TypeAlias = Callable[[Item, Values], Any]
"""What is to stand at a path after the update: a value, REMOVED or KEPT."""


class UpdatePlan(msgspec.Struct, frozen=True, eq=False):
    """A compiled update, without the values of any request."""

    paths: tuple[ResolvedPath, ...]
    effects: tuple[Effect, ...]
    branches: Branches
    top_level: bool
    projection: Projection
    attributes: frozenset[str]
    nested: frozenset[str]


class Update:
    """An update with the values of one request."""

    __slots__ = ("_plan", "_values", "attributes", "nested", "paths")

    def __init__(self, plan: UpdatePlan, values: Values) -> None:
        self._plan = plan
        self._values = values
        self.paths = plan.paths
        """Where the update writes."""
        self.attributes = plan.attributes
        """The top-level attributes that the update writes."""
        self.nested = plan.nested
        """Those of them that it writes inside of."""

    def apply(self, item: Item) -> Item:
        """The item after the update; `item` itself stays as it was, unchanged parts are shared."""
        plan, values = self._plan, self._values
        outcomes = [effect(item, values) for effect in plan.effects]
        if not plan.top_level:
            return _put_map(item, plan.branches, outcomes)
        updated = dict(item)
        for name, outcome in zip(plan.branches, outcomes, strict=True):
            if outcome is REMOVED:
                updated.pop(name, None)
            elif outcome is not KEPT:
                updated[name] = outcome
        return updated

    def changed(self, item: Item) -> Item:
        """Only what stands in `item` at the paths of the update: UPDATED_OLD before it, UPDATED_NEW after."""
        return self._plan.projection(item)


def plan_update(actions: tuple[Action, ...], names: Mapping[str, str]) -> UpdatePlan:
    """Compile an update whose names are all defined and whose paths lie apart."""
    paths = tuple(resolve(action.path, names) for action in actions)
    effects = tuple(_compile(action, path, names) for action, path in zip(actions, paths, strict=True))
    return plan_effects(paths, effects)


def plan_effects(paths: tuple[ResolvedPath, ...], effects: tuple[Effect, ...]) -> UpdatePlan:
    return UpdatePlan(
        paths=paths,
        effects=effects,
        branches=branch((path, place) for place, path in enumerate(paths)),
        top_level=all(len(path) == 1 for path in paths),
        projection=Projection(paths),
        attributes=frozenset(str(path[0]) for path in paths),
        nested=frozenset(str(path[0]) for path in paths if len(path) > 1),
    )


# Putting outcomes in place. A leaf of the branches is the number of an outcome.


def _put(value: Any, branches: Branches, outcomes: list[Any]) -> Any:
    if isinstance(next(iter(branches)), str):
        if not isinstance(value, dict):
            raise Validation(INVALID_PATH)
        return _put_map(value, branches, outcomes)
    if not isinstance(value, list):
        raise Validation(INVALID_PATH)
    return _put_list(value, branches, outcomes)


def _put_map(value: dict[str, Any], branches: Branches, outcomes: list[Any]) -> dict[str, Any]:
    updated: dict[Any, Any] = dict(value)
    for name, below in branches.items():
        if isinstance(below, dict):
            updated[name] = _put(value.get(name, ABSENT), below, outcomes)
            continue
        outcome = outcomes[below]
        if outcome is REMOVED:
            updated.pop(name, None)
        elif outcome is not KEPT:
            updated[name] = outcome
    return updated


def _put_list(value: list[Any], branches: Branches, outcomes: list[Any]) -> list[Any]:
    updated = list(value)
    for index in sorted(branches):
        below = branches[index]
        present = index < len(value)
        if isinstance(below, dict):
            if not present:
                raise Validation(INVALID_PATH)
            updated[index] = _put(value[index], below, outcomes)
            continue
        outcome = outcomes[below]
        if outcome is KEPT or (outcome is REMOVED and not present):
            continue
        if present:
            updated[index] = outcome
        else:
            # An index past the end appends, the lowest first.
            updated.append(outcome)
    return [element for element in updated if element is not REMOVED]


# Effects


def _compile(action: Action, path: ResolvedPath, names: Mapping[str, str]) -> Effect:
    if isinstance(action, Remove):
        return lambda item, values: REMOVED
    if isinstance(action, Assign):
        return _compile_value(action.value, names)
    return _compile_change(action, path)


def _compile_value(part: Operand | Arithmetic, names: Mapping[str, str]) -> Effect:
    if isinstance(part, ValueRef):
        ref = part.ref
        return lambda item, values: values[ref]
    if isinstance(part, Path):
        return _existing(resolve(part, names))
    if isinstance(part, Call):
        return _compile_call(part, names)
    left, right = _compile_value(part.left, names), _compile_value(part.right, names)
    combine = add if part.operator == "+" else subtract

    def total(item: Item, values: Values) -> Any:
        return combine(_number(left(item, values)), _number(right(item, values)))

    return total


def _existing(path: ResolvedPath) -> Effect:
    def read(item: Item, values: Values) -> Any:
        found = find(item, path)
        if found is ABSENT:
            raise Validation(NO_SUCH_ATTRIBUTE)
        return found

    return read


def _compile_call(call: Call, names: Mapping[str, str]) -> Effect:
    second = _compile_value(call.arguments[1], names)
    if call.function == "if_not_exists":
        assert isinstance(call.arguments[0], Path)  # noqa: S101 - the rules refuse anything else.
        path = resolve(call.arguments[0], names)

        def otherwise(item: Item, values: Values) -> Any:
            found = find(item, path)
            return second(item, values) if found is ABSENT else found

        return otherwise
    first = _compile_value(call.arguments[0], names)

    def joined(item: Item, values: Values) -> Any:
        head, tail = first(item, values), second(item, values)
        if type(head) is not list or type(tail) is not list:
            raise Validation(INCORRECT_TYPE)
        return head + tail

    return joined


def _compile_change(action: Change, path: ResolvedPath) -> Effect:
    ref = action.value.ref
    change = added if action.section == "ADD" else deleted
    return lambda item, values: change(find(item, path), values[ref], INCORRECT_TYPE)


def added(existing: Any, value: Any, mismatch: str) -> Any:
    """ADD: a number summed, a set joined; either made where there was nothing."""
    if existing is ABSENT:
        return value
    if type_of(existing) != type_of(value):
        raise Validation(mismatch)
    if isinstance(value, set | frozenset):
        return existing | value
    return add(existing, value)


def deleted(existing: Any, value: Any, mismatch: str) -> Any:
    """DELETE: elements taken out of a set, which goes when none is left."""
    if existing is ABSENT:
        return KEPT
    if type_of(existing) != type_of(value):
        raise Validation(mismatch)
    return existing - value or REMOVED


def _number(value: Any) -> Any:
    if type_of(value) != "N":
        raise Validation(INCORRECT_TYPE)
    return value
