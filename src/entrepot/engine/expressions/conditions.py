"""Conditions as closures: what is known of an expression is decided once, what is left runs per item."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec

from entrepot.engine.expressions.paths import ABSENT, ResolvedPath, find, resolve
from entrepot.engine.expressions.rules import ORDERED_TYPES, atoms_in, leaves
from entrepot.engine.expressions.tree import (
    And,
    Between,
    Call,
    Compare,
    ConditionNode,
    In,
    Not,
    Operand,
    Or,
    Path,
    ValueRef,
)
from entrepot.engine.values import Item, Value, compare, equal, type_of

Values: TypeAlias = Mapping[str, Value]
Test: TypeAlias = Callable[[Item, Values], bool]
Read: TypeAlias = Callable[[Item, Values], Any]
"""Reads an operand: its value, or ABSENT."""

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


_ELEMENT_TYPES = frozenset((str, bytes, int, float, Decimal))


class ConditionPlan(msgspec.Struct, frozen=True, eq=False):
    """A compiled condition, without the values of any request."""

    test: Test
    attributes: frozenset[str]
    nested: frozenset[str]


class Condition:
    """A condition with the values of one request: call it with an item ({} where there is none)."""

    __slots__ = ("_test", "_values", "attributes", "nested")

    def __init__(self, plan: ConditionPlan, values: Values) -> None:
        self._test = plan.test
        self._values = values
        self.attributes = plan.attributes
        """The top-level attributes that the condition reads."""
        self.nested = plan.nested
        """Those of them that it looks inside of."""

    def __call__(self, item: Item) -> bool:
        return self._test(item, self._values)


def plan_condition(node: ConditionNode, names: Mapping[str, str]) -> ConditionPlan:
    """Compile a condition whose names are all defined."""
    paths = [
        resolve(atom, names) for leaf in leaves(node) for atom in atoms_in(leaf) if isinstance(atom, Path)
    ]
    return ConditionPlan(
        test=_compile(node, names),
        attributes=frozenset(str(path[0]) for path in paths),
        nested=frozenset(str(path[0]) for path in paths if len(path) > 1),
    )


def read_operand(operand: Operand, names: Mapping[str, str]) -> Read:
    """A closure that reads a path, a value or a size."""
    if isinstance(operand, Path):
        return _read_path(resolve(operand, names))
    if isinstance(operand, ValueRef):
        ref = operand.ref
        return lambda item, values: values[ref]
    return _read_size(read_operand(operand.arguments[0], names))


def contains(whole: Any, part: Any) -> bool:
    """DynamoDB's contains: a substring, an element of a set, an element of a list."""
    kind = type(whole)
    if kind is str or kind is bytes:
        return type(part) is kind and part in whole
    if kind is list:
        return any(equal(element, part) for element in whole)
    if kind is set or kind is frozenset:
        # Numbers have one form each, so a set finds them; but it would take True for 1.
        return type(part) in _ELEMENT_TYPES and part in whole
    return False


def begins_with(whole: Any, prefix: Any) -> bool:
    kind = type(whole)
    return (kind is str or kind is bytes) and type(prefix) is kind and bool(whole.startswith(prefix))


def between(value: Any, low: Any, high: Any) -> bool:
    if value is ABSENT or low is ABSENT or high is ABSENT:
        return False
    kind = type_of(value)
    if kind not in ORDERED_TYPES or type_of(low) != kind or type_of(high) != kind:
        return False
    return compare(value, low) >= 0 and compare(value, high) <= 0


def ordered(relation: str, left: Any, right: Any) -> bool:
    """Whether `left < right` (or another relation) holds; never between two types or without an order."""
    if type(left) is not type(right) or type(left) is not str:
        if left is ABSENT or right is ABSENT:
            return False
        kind = type_of(left)
        if kind not in ORDERED_TYPES or type_of(right) != kind:
            return False
    return _ORDERS[relation](compare(left, right), 0)


def _compile(node: ConditionNode, names: Mapping[str, str]) -> Test:
    if isinstance(node, And):
        return _all([_compile(part, names) for part in node.parts])
    if isinstance(node, Or):
        return _any([_compile(part, names) for part in node.parts])
    if isinstance(node, Not):
        part = _compile(node.part, names)
        return lambda item, values: not part(item, values)
    if isinstance(node, Call):
        return _compile_call(node, names)
    if isinstance(node, In):
        return _compile_in(node, names)
    if isinstance(node, Between):
        value, low, high = (read_operand(part, names) for part in (node.operand, node.low, node.high))
        return lambda item, values: between(value(item, values), low(item, values), high(item, values))
    return _compile_comparison(node, names)


def _all(tests: list[Test]) -> Test:
    if len(tests) == 2:
        first, second = tests
        return lambda item, values: first(item, values) and second(item, values)
    return lambda item, values: all(test(item, values) for test in tests)


def _any(tests: list[Test]) -> Test:
    if len(tests) == 2:
        first, second = tests
        return lambda item, values: first(item, values) or second(item, values)
    return lambda item, values: any(test(item, values) for test in tests)


def _compile_comparison(node: Compare, names: Mapping[str, str]) -> Test:
    left, right = read_operand(node.left, names), read_operand(node.right, names)
    relation = node.operator
    if relation == "=":
        if isinstance(node.left, Path) and len(node.left.steps) == 1 and isinstance(node.right, ValueRef):
            return _attribute_equals(str(resolve(node.left, names)[0]), node.right.ref)
        return lambda item, values: same(left(item, values), right(item, values))
    if relation == "<>":
        return lambda item, values: not same(left(item, values), right(item, values))
    return lambda item, values: ordered(relation, left(item, values), right(item, values))


def same(left: Any, right: Any) -> bool:
    """Equality of two operands; what is absent equals nothing."""
    return left is not ABSENT and right is not ABSENT and equal(left, right)


def _attribute_equals(name: str, ref: str) -> Test:
    def equals(item: Item, values: Values) -> bool:
        value = item.get(name, ABSENT)
        return value is not ABSENT and equal(value, values[ref])

    return equals


def _compile_in(node: In, names: Mapping[str, str]) -> Test:
    value = read_operand(node.operand, names)
    options = [read_operand(option, names) for option in node.options]

    def among(item: Item, values: Values) -> bool:
        wanted = value(item, values)
        if wanted is ABSENT:
            return False
        for option in options:
            candidate = option(item, values)
            if candidate is not ABSENT and equal(wanted, candidate):
                return True
        return False

    return among


def _compile_call(call: Call, names: Mapping[str, str]) -> Test:
    first = read_operand(call.arguments[0], names)
    if call.function == "attribute_exists":
        return _exists(call.arguments[0], first, names)
    if call.function == "attribute_not_exists":
        return _not_exists(call.arguments[0], first, names)
    second = read_operand(call.arguments[1], names)
    if call.function == "begins_with":
        return lambda item, values: begins_with(first(item, values), second(item, values))
    if call.function == "contains":
        return lambda item, values: contains(first(item, values), second(item, values))

    def is_of_type(item: Item, values: Values) -> bool:
        value = first(item, values)
        return value is not ABSENT and type_of(value) == second(item, values)

    return is_of_type


def _exists(operand: Operand, read: Read, names: Mapping[str, str]) -> Test:
    if isinstance(operand, Path) and len(operand.steps) == 1:
        name = resolve(operand, names)[0]
        return lambda item, values: name in item
    return lambda item, values: read(item, values) is not ABSENT


def _not_exists(operand: Operand, read: Read, names: Mapping[str, str]) -> Test:
    if isinstance(operand, Path) and len(operand.steps) == 1:
        name = resolve(operand, names)[0]
        return lambda item, values: name not in item
    return lambda item, values: read(item, values) is ABSENT


def _read_path(path: ResolvedPath) -> Read:
    if len(path) == 1:
        name = str(path[0])
        return lambda item, values: item.get(name, ABSENT)
    return lambda item, values: find(item, path)


def _read_size(read: Read) -> Read:
    def size(item: Item, values: Values) -> Any:
        value = read(item, values)
        if isinstance(value, str | bytes | list | dict | set | frozenset):
            return len(value)
        return ABSENT

    return size
