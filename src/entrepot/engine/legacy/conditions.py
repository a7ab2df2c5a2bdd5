"""Expected, QueryFilter, ScanFilter and KeyConditions: comparisons of top-level attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from entrepot.engine.errors import Validation
from entrepot.engine.expressions.conditions import (
    Condition,
    ConditionPlan,
    Test,
    begins_with,
    between,
    contains,
    ordered,
    same,
)
from entrepot.engine.expressions.keys import CONDITIONS_MAX, KeyBounds, KeyCondition
from entrepot.engine.expressions.paths import ABSENT
from entrepot.engine.values import Value, compare, type_of
from entrepot.engine.values.kinds import admit_value

INVALID = "One or more parameter values were invalid: "

_SCALARS = frozenset(("S", "N", "B"))
_ONE, _NONE, _SOME, _TWO = (1, 1), (0, 0), (1, None), (2, 2)


class _Operator(msgspec.Struct, frozen=True):
    """A comparison operator: how many operands it takes, of which types (None for any), and what it tests."""

    operands: tuple[int, int | None]
    types: frozenset[str] | None
    holds: Callable[[Any, Sequence[Any]], bool]


OPERATORS: dict[str, _Operator] = {
    "EQ": _Operator(_ONE, None, lambda value, operands: same(value, operands[0])),
    "NE": _Operator(_ONE, None, lambda value, operands: not same(value, operands[0])),
    "IN": _Operator(_SOME, _SCALARS, lambda value, operands: any(same(value, one) for one in operands)),
    "LE": _Operator(_ONE, _SCALARS, lambda value, operands: ordered("<=", value, operands[0])),
    "LT": _Operator(_ONE, _SCALARS, lambda value, operands: ordered("<", value, operands[0])),
    "GE": _Operator(_ONE, _SCALARS, lambda value, operands: ordered(">=", value, operands[0])),
    "GT": _Operator(_ONE, _SCALARS, lambda value, operands: ordered(">", value, operands[0])),
    "BETWEEN": _Operator(_TWO, _SCALARS, lambda value, operands: between(value, operands[0], operands[1])),
    "NOT_NULL": _Operator(_NONE, None, lambda value, operands: value is not ABSENT),
    "NULL": _Operator(_NONE, None, lambda value, operands: value is ABSENT),
    "CONTAINS": _Operator(_ONE, _SCALARS, lambda value, operands: contains(value, operands[0])),
    "NOT_CONTAINS": _Operator(_ONE, _SCALARS, lambda value, operands: not contains(value, operands[0])),
    "BEGINS_WITH": _Operator(
        _ONE, frozenset(("S", "B")), lambda value, operands: begins_with(value, operands[0])
    ),
}

_KEY_OPERATORS = {
    "EQ": "=",
    "LE": "<=",
    "LT": "<",
    "GE": ">=",
    "GT": ">",
    "BETWEEN": "between",
    "BEGINS_WITH": "begins_with",
}


class Comparison(msgspec.Struct, frozen=True):
    """One attribute, an operator and its operands."""

    name: str
    operator: str
    operands: tuple[Value, ...]


def condition_of_expected(
    expected: Mapping[str, Mapping[str, Any]], conditional_operator: str | None = None
) -> Condition:
    """The condition that Expected states."""
    comparisons = [_read_expected(name, entry) for name, entry in expected.items()]
    return _condition(comparisons, conditional_operator)


def condition_of_filter(
    filters: Mapping[str, Mapping[str, Any]],
    conditional_operator: str | None = None,
    parameter: str = "QueryFilter",
) -> Condition:
    """The condition that a QueryFilter or ScanFilter states."""
    comparisons = [_read_condition(name, entry, parameter) for name, entry in filters.items()]
    return _condition(comparisons, conditional_operator)


def key_condition_of(
    conditions: Mapping[str, Mapping[str, Any]],
    hash_name: str,
    range_name: str | None,
    types: Mapping[str, str] | None = None,
) -> KeyCondition:
    """What KeyConditions ask of a key schema; `types` are its attributes' types, if known."""
    return key_bounds_of(conditions).fit(hash_name, range_name, types or {})


def key_bounds_of(conditions: Mapping[str, Mapping[str, Any]]) -> KeyBounds:
    """What KeyConditions ask, before the key schema is known: `fit` it to one."""
    comparisons = [_read_condition(name, entry, "KeyConditions") for name, entry in conditions.items()]
    if not 1 <= len(comparisons) <= CONDITIONS_MAX:
        raise Validation("Conditions can be of length 1 or 2 only")
    return KeyBounds({one.name: (_KEY_OPERATORS.get(one.operator, ""), one.operands) for one in comparisons})


def _condition(comparisons: Sequence[Comparison], conditional_operator: str | None) -> Condition:
    names = frozenset(comparison.name for comparison in comparisons)
    combine = any if conditional_operator == "OR" and comparisons else all
    tests = [_test(comparison) for comparison in comparisons]
    plan = ConditionPlan(
        test=lambda item, values: combine(test(item, values) for test in tests),
        attributes=names,
        nested=frozenset(),
    )
    return Condition(plan, {})


def _test(comparison: Comparison) -> Test:
    name, operands = comparison.name, comparison.operands
    holds = OPERATORS[comparison.operator].holds
    return lambda item, values: holds(item.get(name, ABSENT), operands)


# Reading and checking


def _read_condition(name: str, entry: Mapping[str, Any], parameter: str) -> Comparison:
    operator = entry.get("ComparisonOperator")
    place = f"{parameter[0].lower()}{parameter[1:]}.{name}.member.comparisonOperator"
    if operator is None:
        raise Validation(
            f"1 validation error detected: Value null at '{place}' failed to satisfy constraint: "
            "Member must not be null"
        )
    _check_known(operator, place)
    operands = tuple(admit_value(value) for value in entry.get("AttributeValueList") or ())
    _check_operands(operator, operands)
    return Comparison(name, operator, operands)


def _read_expected(name: str, entry: Mapping[str, Any]) -> Comparison:
    listed, single = entry.get("AttributeValueList"), "Value" in entry
    if listed is not None and single:
        raise _invalid(f"Value and AttributeValueList cannot be used together for Attribute: {name}")
    operator = entry.get("ComparisonOperator")
    if operator is None:
        return _read_existence(name, entry)
    _check_known(operator, f"expected.{name}.member.comparisonOperator")
    if entry.get("Exists") is not None:
        raise _invalid(f"Exists and ComparisonOperator cannot be used together for Attribute: {name}")
    if operator not in ("NULL", "NOT_NULL") and listed is None and not single:
        raise _invalid(
            f"Value or AttributeValueList must be used with ComparisonOperator: {operator} "
            f"for Attribute: {name}"
        )
    given = (entry["Value"],) if single else listed or ()
    operands = tuple(admit_value(value) for value in given)
    _check_operands(operator, operands)
    return Comparison(name, operator, operands)


def _read_existence(name: str, entry: Mapping[str, Any]) -> Comparison:
    """The oldest form: a value to be equal to, or `Exists: false`."""
    if entry.get("AttributeValueList") is not None:
        raise _invalid(f"AttributeValueList can only be used with a ComparisonOperator for Attribute: {name}")
    exists = entry.get("Exists")
    if exists is False:
        if "Value" in entry:
            raise _invalid(f"Value cannot be used when Exists is false for Attribute: {name}")
        return Comparison(name, "NULL", ())
    if "Value" not in entry:
        shown = "null" if exists is None else "true"
        raise _invalid(f"Value must be provided when Exists is {shown} for Attribute: {name}")
    return Comparison(name, "EQ", (admit_value(entry["Value"]),))


def _check_known(operator: Any, place: str) -> None:
    if operator not in OPERATORS:
        raise Validation(
            f"1 validation error detected: Value '{operator}' at '{place}' failed to satisfy constraint: "
            "Member must satisfy enum value set: [IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, "
            "LE, BEGINS_WITH, GE, CONTAINS]"
        )


def _check_operands(operator: str, operands: tuple[Value, ...]) -> None:
    least, most = OPERATORS[operator].operands
    if len(operands) < least or (most is not None and len(operands) > most):
        raise _invalid(f"Invalid number of argument(s) for the {operator} ComparisonOperator")
    kinds = [type_of(operand) for operand in operands]
    if len(set(kinds)) > 1:
        raise _invalid("AttributeValues inside AttributeValueList must be of same type")
    allowed = OPERATORS[operator].types
    if allowed is not None and kinds and kinds[0] not in allowed:
        raise _invalid(f"ComparisonOperator {operator} is not valid for {kinds[0]} AttributeValue type")
    if operator == "BETWEEN" and compare(operands[0], operands[1]) > 0:
        raise Validation(
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
        )


def _invalid(message: str) -> Validation:
    return Validation(INVALID + message)
