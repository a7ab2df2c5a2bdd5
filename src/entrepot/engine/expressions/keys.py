"""Key conditions: which partition, and which part of it, a Query reads."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from entrepot.engine.errors import Validation
from entrepot.engine.expressions.paths import resolve
from entrepot.engine.expressions.rules import operands_of
from entrepot.engine.expressions.tree import (
    And,
    Between,
    Call,
    Compare,
    ConditionNode,
    In,
    Not,
    Or,
    Path,
    ValueRef,
)
from entrepot.engine.values import Value, type_of

NOT_SUPPORTED = "Query key condition not supported"
TYPE_MISMATCH = (
    "One or more parameter values were invalid: Condition parameter type does not match schema type"
)
CONDITIONS_MAX = 2

_SEEN_FROM_THE_OTHER_SIDE = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_INDEXABLE = frozenset((*_SEEN_FROM_THE_OTHER_SIDE, "between", "begins_with"))
_REFUSED_FUNCTIONS = frozenset(("attribute_exists", "attribute_not_exists", "attribute_type", "contains"))

_NO_TYPES: Mapping[str, str] = MappingProxyType({})

Bound: TypeAlias = tuple[str, tuple[str, ...]]
"""An operator and the `:values` that it takes."""


class KeyCondition(msgspec.Struct, frozen=True):
    """The partition key's value, and the operator on the sort key (None for all) with its operands."""

    hash_value: Value
    operator: str | None
    operands: tuple[Value, ...]


class KeyBounds(msgspec.Struct, frozen=True):
    """The condition on each attribute, before it is known which of them are keys."""

    bounds: Mapping[str, tuple[str, tuple[Value, ...]]]

    def fit(
        self, hash_name: str, range_name: str | None, types: Mapping[str, str] = _NO_TYPES
    ) -> KeyCondition:
        """The key condition that these make on a key schema, or why they make none; `types` if to be checked."""
        bounds = self.bounds
        if range_name is None and len(bounds) > 1:
            raise Validation(NOT_SUPPORTED)
        if hash_name not in bounds:
            raise _missed(hash_name)
        operator, operands = bounds[hash_name]
        _check_bound(operator, operands, types.get(hash_name))
        if operator != "=":
            raise Validation(NOT_SUPPORTED)
        if len(bounds) == 1:
            return KeyCondition(operands[0], None, ())
        if range_name is None or range_name not in bounds:
            raise _missed(range_name)
        sort_operator, sort_operands = bounds[range_name]
        _check_bound(sort_operator, sort_operands, types.get(range_name))
        return KeyCondition(operands[0], sort_operator, sort_operands)


class KeyPlan(msgspec.Struct, frozen=True, eq=False):
    """A compiled key condition, without the values of any request."""

    bounds: Mapping[str, Bound]

    def bind(self, values: Mapping[str, Value]) -> KeyBounds:
        bound = {}
        for name, (operator, refs) in self.bounds.items():
            bound[name] = operator, tuple([values[ref] for ref in refs])
        return KeyBounds(bound)


def plan_key_condition(node: ConditionNode, names: Mapping[str, str]) -> KeyPlan:
    """Compile a key condition whose names are all defined, or refuse what a key can't be asked."""
    bounds: dict[str, Bound] = {}
    _gather(node, names, bounds)
    if len(bounds) > CONDITIONS_MAX:
        raise Validation("Conditions can be of length 1 or 2 only")
    return KeyPlan(bounds)


def _gather(node: ConditionNode, names: Mapping[str, str], bounds: dict[str, Bound]) -> None:
    if isinstance(node, And):
        for part in node.parts:
            _gather(part, names, bounds)
        return
    _check_operator(node)
    name, place = _attribute(node, names)
    if name in bounds:
        raise Validation("KeyConditionExpressions must only contain one condition per key")
    bounds[name] = _bound(node, place)


def _check_operator(node: ConditionNode) -> None:
    if isinstance(node, Or | Not | In):
        raise _not_for_keys(type(node).__name__.upper())
    if isinstance(node, Compare) and node.operator == "<>":
        raise _not_for_keys("<>")
    if isinstance(node, Call) and node.function in _REFUSED_FUNCTIONS:
        raise _not_for_keys(node.function)
    if isinstance(node, Between) and not isinstance(node.operand, Path):
        raise _key_not_first("BETWEEN")
    if isinstance(node, Call) and not isinstance(node.arguments[0], Path):
        raise _key_not_first(node.function)


def _attribute(node: ConditionNode, names: Mapping[str, str]) -> tuple[str, int]:
    """The one attribute that a condition is on, and its place among the operands."""
    found: tuple[str, int] | None = None
    for place, operand in enumerate(operands_of(node)):
        if isinstance(operand, Call):
            raise Validation("KeyConditionExpressions cannot contain nested operations")
        if not isinstance(operand, Path):
            continue
        if found is not None:
            raise Validation(
                "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
            )
        path = resolve(operand, names)
        if len(path) > 1:
            raise Validation("KeyConditionExpressions cannot have conditions on nested attributes")
        found = str(path[0]), place
    if found is None:
        raise Validation("Invalid condition in KeyConditionExpression: No key attribute specified")
    return found


def _bound(node: ConditionNode, place: int) -> Bound:
    refs = tuple(operand.ref for operand in operands_of(node) if isinstance(operand, ValueRef))
    if isinstance(node, Compare):
        return (node.operator if place == 0 else _SEEN_FROM_THE_OTHER_SIDE[node.operator]), refs
    return ("between" if isinstance(node, Between) else "begins_with"), refs


def _check_bound(operator: str, operands: tuple[Value, ...], expected: str | None) -> None:
    if operator not in _INDEXABLE:
        raise Validation("Attempted conditional constraint is not an indexable operation")
    if expected is None:
        return
    for operand in operands:
        if type_of(operand) != expected:
            raise Validation(TYPE_MISMATCH)


def _missed(name: str | None) -> Validation:
    return Validation(f"Query condition missed key schema element: {name}")


def _not_for_keys(operator: str) -> Validation:
    return Validation(f"Invalid operator used in KeyConditionExpression: {operator}")


def _key_not_first(operator: str) -> Validation:
    return Validation(
        f"Invalid condition in KeyConditionExpression: {operator} operator must have the key attribute "
        "as its first operand"
    )
