"""Trees printed as text again, with every operand and part in the plainest form."""

from __future__ import annotations

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


def print_condition(node: ConditionNode) -> str:
    if isinstance(node, And):
        return " AND ".join(enclosed(part) for part in node.parts)
    if isinstance(node, Or):
        return " OR ".join(enclosed(part) for part in node.parts)
    if isinstance(node, Not):
        return f"NOT {enclosed(node.part)}"
    if isinstance(node, Compare):
        return f"{print_operand(node.left)} {node.operator} {print_operand(node.right)}"
    if isinstance(node, Between):
        low, high = print_operand(node.low), print_operand(node.high)
        return f"{print_operand(node.operand)} BETWEEN {low} AND {high}"
    if isinstance(node, In):
        return f"{print_operand(node.operand)} IN ({', '.join(map(print_operand, node.options))})"
    return print_operand(node)


def enclosed(node: ConditionNode) -> str:
    text = print_condition(node)
    return f"({text})" if isinstance(node, And | Or) else text


def print_operand(operand: Operand | Arithmetic) -> str:
    if isinstance(operand, Path):
        return print_path(operand)
    if isinstance(operand, ValueRef):
        return operand.ref
    if isinstance(operand, Call):
        return f"{operand.function}({', '.join(map(print_operand, operand.arguments))})"
    return f"{print_operand(operand.left)} {operand.operator} {print_operand(operand.right)}"


def print_path(path: Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path.steps)[1:]


def print_update(actions: tuple[Action, ...]) -> str:
    sections: dict[str, list[str]] = {}
    for action in actions:
        path = print_path(action.path)
        if isinstance(action, Assign):
            sections.setdefault("SET", []).append(f"{path} = {print_operand(action.value)}")
        elif isinstance(action, Change):
            sections.setdefault(action.section, []).append(f"{path} {action.value.ref}")
        else:
            sections.setdefault("REMOVE", []).append(path)
    return " ".join(f"{section} {', '.join(parts)}" for section, parts in sections.items())


def print_projection(paths: tuple[Path, ...]) -> str:
    return ", ".join(print_path(path) for path in paths)
