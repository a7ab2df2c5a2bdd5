"""What a known expression needs of a request's values, in a form that is checked in a moment.

Nothing here raises: a need that is not met sends the request to the full rules, which word the error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from entrepot.engine.expressions.rules import (
    ADDABLE_TYPES,
    ORDERED_TYPES,
    PREFIX_TYPES,
    SET_TYPES,
    SIZED_TYPES,
    TYPE_NAMES,
    atoms_in,
    calls_in,
    leaves,
    operands_of,
)
from entrepot.engine.expressions.tree import (
    Action,
    Arithmetic,
    Assign,
    Between,
    Call,
    Change,
    Compare,
    ConditionNode,
    Operand,
    Remove,
    ValueRef,
)
from entrepot.engine.values import Value, compare, type_of


class Needs(msgspec.Struct, frozen=True):
    """The `:values` that an expression uses, and what some of them must be."""

    refs: frozenset[str]
    typed: tuple[tuple[str, frozenset[str]], ...]
    type_names: tuple[str, ...]
    bounds: tuple[tuple[str, str], ...]
    plain: bool = True
    """Whether values of any type will do."""

    def met_by(self, values: Mapping[str, Value]) -> bool:
        for ref in self.refs:
            if ref not in values:
                return False
        return self.plain or self._types_met_by(values)

    def _types_met_by(self, values: Mapping[str, Value]) -> bool:
        for ref, allowed in self.typed:
            if type_of(values[ref]) not in allowed:
                return False
        for ref in self.type_names:
            if not isinstance(values[ref], str) or values[ref] not in TYPE_NAMES:
                return False
        for low, high in self.bounds:
            one, two = values[low], values[high]
            if type_of(one) != type_of(two) or compare(one, two) > 0:
                return False
        return True


NO_NEEDS = Needs(frozenset(), (), (), ())


class _Gathering:
    def __init__(self) -> None:
        self.refs: set[str] = set()
        self.typed: list[tuple[str, frozenset[str]]] = []
        self.type_names: list[str] = []
        self.bounds: list[tuple[str, str]] = []

    def use(self, part: Any) -> None:
        self.refs.update(atom.ref for atom in atoms_in(part) if isinstance(atom, ValueRef))

    def demand(self, operands: tuple[Operand, ...], allowed: frozenset[str]) -> None:
        self.typed.extend((operand.ref, allowed) for operand in operands if isinstance(operand, ValueRef))

    def done(self) -> Needs:
        plain = not (self.typed or self.type_names or self.bounds)
        return Needs(
            frozenset(self.refs), tuple(self.typed), tuple(self.type_names), tuple(self.bounds), plain
        )


def needs_of_condition(node: ConditionNode) -> Needs:
    gathering = _Gathering()
    for leaf in leaves(node):
        gathering.use(leaf)
        for call in calls_in(leaf):
            _gather_call(gathering, call)
        if isinstance(leaf, Compare) and leaf.operator not in ("=", "<>"):
            gathering.demand((leaf.left, leaf.right), ORDERED_TYPES)
        elif isinstance(leaf, Between):
            gathering.demand(operands_of(leaf), ORDERED_TYPES)
            if isinstance(leaf.low, ValueRef) and isinstance(leaf.high, ValueRef):
                gathering.bounds.append((leaf.low.ref, leaf.high.ref))
    return gathering.done()


def needs_of_update(actions: tuple[Action, ...]) -> Needs:
    gathering = _Gathering()
    for action in actions:
        if isinstance(action, Remove):
            continue
        gathering.use(action.value)
        if isinstance(action, Change):
            gathering.demand((action.value,), ADDABLE_TYPES if action.section == "ADD" else SET_TYPES)
        elif isinstance(action, Assign):
            _gather_assigned(gathering, action.value)
    return gathering.done()


def _gather_call(gathering: _Gathering, call: Call) -> None:
    if call.function == "begins_with":
        gathering.demand(call.arguments, PREFIX_TYPES)
    elif call.function == "size":
        gathering.demand(call.arguments, SIZED_TYPES)
    elif call.function == "attribute_type":
        gathering.type_names.extend(
            operand.ref for operand in call.arguments if isinstance(operand, ValueRef)
        )


def _gather_assigned(gathering: _Gathering, part: Operand | Arithmetic) -> None:
    for call in calls_in(part):
        if call.function == "list_append":
            gathering.demand(call.arguments, frozenset("L"))
    if isinstance(part, Arithmetic):
        gathering.demand((part.left, part.right), frozenset("N"))
