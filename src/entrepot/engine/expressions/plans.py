"""Expressions as read and as compiled, remembered: a repeated one costs a look-up and a check of values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from entrepot.engine.expressions import rules
from entrepot.engine.expressions.conditions import ConditionPlan, plan_condition
from entrepot.engine.expressions.grammar import parse_condition, parse_projection, parse_update
from entrepot.engine.expressions.keys import KeyPlan, plan_key_condition
from entrepot.engine.expressions.needs import NO_NEEDS, Needs, needs_of_condition, needs_of_update
from entrepot.engine.expressions.paths import resolve
from entrepot.engine.expressions.projections import Projection
from entrepot.engine.expressions.tree import Path
from entrepot.engine.expressions.updates import UpdatePlan, plan_update
from entrepot.engine.values import Value

PLANS_MAX = 4096
"""How many expressions are remembered, as read and as compiled; the least recently used go first."""

Plan: TypeAlias = ConditionPlan | UpdatePlan | KeyPlan | Projection


class Reading(msgspec.Struct, frozen=True, eq=False):
    """An expression as read: its tree, and the placeholders in it."""

    kind: str
    tree: Any
    names: tuple[str, ...]
    name_set: frozenset[str]
    needs: Needs


@lru_cache(maxsize=PLANS_MAX)
def read_condition(text: str, kind: str) -> Reading:
    tree = parse_condition(text, kind)
    atoms = (atom for leaf in rules.leaves(tree) for atom in rules.atoms_in(leaf))
    return _reading(kind, tree, (atom for atom in atoms if isinstance(atom, Path)), needs_of_condition(tree))


@lru_cache(maxsize=PLANS_MAX)
def read_update(text: str) -> Reading:
    tree = parse_update(text)
    atoms = (atom for action in tree for atom in rules.action_atoms(action))
    return _reading(
        "UpdateExpression", tree, (atom for atom in atoms if isinstance(atom, Path)), needs_of_update(tree)
    )


@lru_cache(maxsize=PLANS_MAX)
def read_projection(text: str) -> Reading:
    tree = parse_projection(text)
    return _reading("ProjectionExpression", tree, tree, NO_NEEDS)


def plan_for(reading: Reading, names: Mapping[str, str], values: Mapping[str, Value]) -> Any:
    """The compiled form of an expression with these names, once it is certain that the values fit it too."""
    named: tuple[str | None, ...] = ()
    if reading.names:
        named = tuple([names.get(ref) for ref in reading.names])
    key = (reading, named)
    plan = _plans.get(key)
    if plan is None:
        _check(reading, names, values)
        plan = _compile(reading, names)
        _plans[key] = plan
        if len(_plans) > PLANS_MAX:
            _plans.popitem(last=False)
        return plan
    needs = reading.needs
    if needs.refs and not needs.met_by(values):
        _check(reading, names, values)
    _plans.move_to_end(key)
    return plan


def plans_known() -> int:
    """How many compiled expressions are remembered."""
    return len(_plans)


def forget_plans() -> None:
    """Forget every expression, as after a start."""
    _plans.clear()
    for read in (read_condition, read_update, read_projection):
        read.cache_clear()


_plans: OrderedDict[tuple[Reading, tuple[str | None, ...]], Plan] = OrderedDict()


def _reading(kind: str, tree: Any, paths: Iterable[Path], needs: Needs) -> Reading:
    names = tuple(dict.fromkeys(ref for path in paths for ref in rules.path_names(path)))
    return Reading(kind, tree, names, frozenset(names), needs)


def _check(reading: Reading, names: Mapping[str, str], values: Mapping[str, Value]) -> None:
    if reading.kind == "UpdateExpression":
        rules.check_update(reading.tree, names, values)
    elif reading.kind == "ProjectionExpression":
        rules.check_projection(reading.tree, names)
    else:
        rules.check_condition(reading.tree, reading.kind, names, values)


def _compile(reading: Reading, names: Mapping[str, str]) -> Plan:
    if reading.kind == "UpdateExpression":
        return plan_update(reading.tree, names)
    if reading.kind == "ProjectionExpression":
        return Projection(resolve(path, names) for path in reading.tree)
    if reading.kind == "KeyConditionExpression":
        return plan_key_condition(reading.tree, names)
    return plan_condition(reading.tree, names)
