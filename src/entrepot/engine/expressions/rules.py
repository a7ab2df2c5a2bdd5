"""What DynamoDB demands of an expression once its names and values are known.

Each check raises the first error in DynamoDB's order. They run in full when an expression is first seen
and when a quick check of a later request's values (`needs.py`) has failed; never on the hot path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from entrepot.engine.errors import Validation
from entrepot.engine.expressions.grammar import CONDITION_FUNCTIONS, UPDATE_FUNCTIONS
from entrepot.engine.expressions.paths import ResolvedPath, check_apart, resolve, show
from entrepot.engine.expressions.tree import (
    Action,
    And,
    Arithmetic,
    Assign,
    Between,
    Call,
    Change,
    Compare,
    ConditionNode,
    In,
    Not,
    Operand,
    Or,
    Path,
    ValueRef,
)
from entrepot.engine.values import Value, compare, type_of
from entrepot.engine.values.kinds import describe

IN_OPERANDS_MAX = 100
ORDERED_TYPES = frozenset(("S", "N", "B"))
PREFIX_TYPES = frozenset(("S", "B"))
SIZED_TYPES = frozenset(("S", "B", "SS", "NS", "BS", "L", "M"))
SET_TYPES = frozenset(("SS", "NS", "BS"))
ADDABLE_TYPES = SET_TYPES | {"N"}
TYPE_NAMES = frozenset(("S", "N", "B", "NULL", "SS", "BOOL", "L", "BS", "NS", "M"))

_LONG_NAMES = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "Binary",
    "NULL": "NULL",
    "BOOL": "BOOL",
    "L": "LIST",
    "M": "MAP",
}

Names = Mapping[str, str]
Values = Mapping[str, Value]
Part = ConditionNode | Operand | Arithmetic


class _Refused(Exception):
    """A broken rule, before the kind of expression is put in front of it."""


def check_condition(node: ConditionNode, kind: str, names: Names, values: Values) -> None:
    """Every comparison and function in the order written: placeholders, operands, distinctness, types."""
    try:
        for leaf in leaves(node):
            _check_defined(leaf, names, values)
            for call in calls_in(leaf):
                _check_operand_count(call, CONDITION_FUNCTIONS)
            _check_distinct(leaf, names)
            _check_types(leaf, values)
    except _Refused as refused:
        raise Validation(f"Invalid {kind}: {refused}") from None


def check_update(actions: tuple[Action, ...], names: Names, values: Values) -> None:
    """All placeholders first, then paths that overlap, then the types of operands."""
    try:
        _check_names((ref for action in actions for ref in _action_names(action)), names)
        _check_values((ref for action in actions for ref in _action_values(action)), values)
        check_apart((resolve(action.path, names) for action in actions), "UpdateExpression")
        for action in actions:
            if isinstance(action, Change):
                _check_change(action, values)
        for action in actions:
            if isinstance(action, Assign):
                _check_assigned(action.value, values)
    except _Refused as refused:
        raise Validation(f"Invalid UpdateExpression: {refused}") from None


def check_projection(paths: tuple[Path, ...], names: Names) -> None:
    try:
        _check_names((ref for path in paths for ref in path_names(path)), names)
    except _Refused as refused:
        raise Validation(f"Invalid ProjectionExpression: {refused}") from None
    check_apart((resolve(path, names) for path in paths), "ProjectionExpression")


# Walking


def leaves(node: ConditionNode) -> Iterator[Compare | Between | In | Call]:
    """The comparisons and functions of a condition, in the order written."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, And | Or):
            stack.extend(reversed(current.parts))
        elif isinstance(current, Not):
            stack.append(current.part)
        else:
            yield current


def operands_of(part: Part) -> tuple[Operand, ...]:
    """The direct operands of a comparison, function or sum."""
    if isinstance(part, Compare | Arithmetic):
        return (part.left, part.right)
    if isinstance(part, Between):
        return (part.operand, part.low, part.high)
    if isinstance(part, In):
        return (part.operand, *part.options)
    if isinstance(part, Call):
        return part.arguments
    return ()


def atoms_in(part: Part) -> Iterator[Path | ValueRef]:
    """Every path and value below a part, in the order written."""
    if isinstance(part, Path | ValueRef):
        yield part
        return
    for operand in operands_of(part):
        yield from atoms_in(operand)


def calls_in(part: Part) -> Iterator[Call]:
    """Every function below a part, inner ones first."""
    for operand in operands_of(part):
        yield from calls_in(operand)
    if isinstance(part, Call):
        yield part


def path_names(path: Path) -> Iterator[str]:
    return (step for step in path.steps if isinstance(step, str) and step[0] == "#")


def action_atoms(action: Action) -> Iterator[Path | ValueRef]:
    """Every path and value of an action, in the order written."""
    yield action.path
    if isinstance(action, Assign):
        yield from atoms_in(action.value)
    elif isinstance(action, Change):
        yield action.value


def _action_names(action: Action) -> Iterator[str]:
    return (ref for part in action_atoms(action) if isinstance(part, Path) for ref in path_names(part))


def _action_values(action: Action) -> Iterator[str]:
    return (part.ref for part in action_atoms(action) if isinstance(part, ValueRef))


# Placeholders


def _check_defined(leaf: Part, names: Names, values: Values) -> None:
    for atom in atoms_in(leaf):
        if isinstance(atom, Path):
            _check_names(path_names(atom), names)
        else:
            _check_values((atom.ref,), values)


def _check_names(refs: Iterable[str], names: Names) -> None:
    for ref in refs:
        if ref not in names:
            raise _Refused(
                "An expression attribute name used in the document path is not defined; "
                f"attribute name: {ref}"
            )


def _check_values(refs: Iterable[str], values: Values) -> None:
    for ref in refs:
        if ref not in values:
            raise _Refused(
                f"An expression attribute value used in expression is not defined; attribute value: {ref}"
            )


# Operands


def _check_operand_count(call: Call, functions: Mapping[str, int]) -> None:
    if functions[call.function] != len(call.arguments):
        raise _Refused(
            "Incorrect number of operands for operator or function; "
            f"operator or function: {call.function}, number of operands: {len(call.arguments)}"
        )


def _check_distinct(leaf: Part, names: Names) -> None:
    for call in calls_in(leaf):
        _refuse_repeated(call.function, call.arguments, names)
    if isinstance(leaf, Compare):
        _refuse_repeated(leaf.operator, (leaf.left, leaf.right), names)
    elif isinstance(leaf, In):
        _refuse_repeated("IN", operands_of(leaf), names)
    elif isinstance(leaf, Between):
        _refuse_repeated("BETWEEN", operands_of(leaf), names)


def _refuse_repeated(operator: str, operands: tuple[Operand, ...], names: Names) -> None:
    first, *rest = operands
    if not isinstance(first, Path) or not rest:
        return
    resolved: ResolvedPath = resolve(first, names)
    for other in rest:
        if isinstance(other, Path) and resolve(other, names) == resolved:
            raise _Refused(
                "The first operand must be distinct from the remaining operands for this operator or "
                f"function; operator: {operator}, first operand: {show(resolved)}"
            )


# Types of literal values


def _check_types(leaf: Part, values: Values) -> None:
    for call in calls_in(leaf):
        _check_call(call, values)
    if isinstance(leaf, Compare) and leaf.operator not in ("=", "<>"):
        _demand(leaf.operator, (leaf.left, leaf.right), ORDERED_TYPES, values)
    elif isinstance(leaf, Between):
        _demand("BETWEEN", operands_of(leaf), ORDERED_TYPES, values)
        _check_bounds(leaf, values)
    elif isinstance(leaf, In) and len(leaf.options) > IN_OPERANDS_MAX:
        raise _Refused(
            f"The IN operator is provided with too many operands; number of operands: {len(leaf.options)}"
        )


def _check_call(call: Call, values: Values) -> None:
    function, arguments = call.function, call.arguments
    if function in ("attribute_exists", "attribute_not_exists"):
        _demand_path(function, arguments[0])
    elif function == "begins_with":
        _demand(function, arguments, PREFIX_TYPES, values)
    elif function == "size":
        _demand(function, arguments, SIZED_TYPES, values)
    elif function == "attribute_type":
        _demand_path(function, arguments[0])
        _check_type_name(arguments[1], values)


def _check_type_name(operand: Operand, values: Values) -> None:
    if not isinstance(operand, ValueRef):
        raise _wrong_type("attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
    value = values[operand.ref]
    if type_of(value) != "S":
        raise _wrong_type("attribute_type", type_of(value))
    if value not in TYPE_NAMES:
        raise _Refused(
            f"Invalid attribute type name found; type: {value}, valid types: {{B,NULL,SS,BOOL,L,BS,N,NS,S,M}}"
        )


def _check_bounds(leaf: Between, values: Values) -> None:
    if not isinstance(leaf.low, ValueRef) or not isinstance(leaf.high, ValueRef):
        return
    low, high = values[leaf.low.ref], values[leaf.high.ref]
    bounds = (
        f"lower bound operand: AttributeValue: {describe(low)}, "
        f"upper bound operand: AttributeValue: {describe(high)}"
    )
    if type_of(low) != type_of(high):
        raise _Refused(f"The BETWEEN operator requires same data type for lower and upper bounds; {bounds}")
    if compare(low, high) > 0:
        raise _Refused(
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; " + bounds
        )


def _check_change(action: Change, values: Values) -> None:
    kind = type_of(values[action.value.ref])
    allowed = ADDABLE_TYPES if action.section == "ADD" else SET_TYPES
    if kind not in allowed:
        raise _Refused(
            "Incorrect operand type for operator or function; "
            f"operator: {action.section}, operand type: {_LONG_NAMES[kind]}, "
            f"typeSet: ALLOWED_FOR_{action.section}_OPERAND"
        )


def _check_assigned(part: Operand | Arithmetic, values: Values) -> None:
    for call in calls_in(part):
        _check_operand_count(call, UPDATE_FUNCTIONS)
        if call.function == "if_not_exists":
            _demand_path(call.function, call.arguments[0])
        else:
            _demand(call.function, call.arguments, frozenset("L"), values)
    if isinstance(part, Arithmetic):
        _demand(part.operator, (part.left, part.right), frozenset("N"), values)


def _demand(operator: str, operands: tuple[Operand, ...], allowed: frozenset[str], values: Values) -> None:
    for operand in operands:
        kind = _literal_type(operand, values)
        if kind is not None and kind not in allowed:
            raise _wrong_type(operator, kind)


def _literal_type(operand: Operand, values: Values) -> str | None:
    """The type that an operand has whatever the item is; None for paths."""
    if isinstance(operand, ValueRef):
        return type_of(values[operand.ref])
    if isinstance(operand, Call):
        return _RESULT_TYPES.get(operand.function)
    return None


_RESULT_TYPES: dict[str, Any] = {"size": "N", "list_append": "L"}


def _demand_path(function: str, operand: Operand) -> None:
    if not isinstance(operand, Path):
        raise _Refused(f"Operator or function requires a document path; operator or function: {function}")


def _wrong_type(operator: str, kind: str) -> _Refused:
    return _Refused(
        "Incorrect operand type for operator or function; "
        f"operator or function: {operator}, operand type: {kind}"
    )
