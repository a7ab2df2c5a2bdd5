"""A slow and plain second opinion: expressions evaluated over DynamoDB JSON by walking a tree of tuples.

condition   ("and"|"or", left, right) ("not", part) ("compare", operator, left, right)
            ("between", operand, low, high) ("in", operand, [options]) ("call", function, [operands])
operand     ("path", [steps]) ("value", attribute value) ("size", operand)
action      ("set", steps, source) ("remove", steps) ("add"|"delete", steps, attribute value)
source      an operand, ("sum", sign, source, source), ("else", steps, source), ("append", source, source)
"""

from __future__ import annotations

import base64
import copy
from decimal import Context, Decimal
from typing import Any

Wire = dict[str, Any]
ROUND = Context(prec=38)


class Failure(Exception):
    """The update can't be done; the argument is a word for why."""


def kind(value: Wire) -> str:
    return next(iter(value))


def number(text: str) -> Decimal:
    return Decimal(text)


def comparable(value: Wire) -> Any:
    """Something that Python compares as DynamoDB compares the value."""
    tag = kind(value)
    content = value[tag]
    if tag == "N":
        return tag, number(content)
    if tag == "S":
        return tag, content.encode()
    if tag == "B":
        return tag, base64.b64decode(content)
    if tag == "NS":
        return tag, frozenset(number(one) for one in content)
    if tag in ("SS", "BS"):
        return tag, frozenset(content)
    if tag == "L":
        return tag, tuple(comparable(one) for one in content)
    if tag == "M":
        return tag, frozenset((name, comparable(one)) for name, one in content.items())
    return tag, content


def walk(item: dict[str, Wire], steps: list[str | int]) -> Wire | None:
    here: Wire = {"M": item}
    for step in steps:
        tag = "M" if isinstance(step, str) else "L"
        if tag not in here:
            return None
        inside = here[tag]
        if isinstance(step, str):
            if step not in inside:
                return None
        elif step >= len(inside):
            return None
        here = inside[step]
    return here


def operand(item: dict[str, Wire], node: Any) -> Wire | None:
    if node[0] == "path":
        return walk(item, node[1])
    if node[0] == "value":
        return dict(node[1])
    inner = operand(item, node[1])
    if inner is None or kind(inner) in ("N", "BOOL", "NULL"):
        return None
    content = inner[kind(inner)]
    return {"N": str(len(base64.b64decode(content) if kind(inner) == "B" else content))}


def holds(item: dict[str, Wire], node: Any) -> bool:
    word = node[0]
    if word == "and":
        return holds(item, node[1]) and holds(item, node[2])
    if word == "or":
        return holds(item, node[1]) or holds(item, node[2])
    if word == "not":
        return not holds(item, node[1])
    if word == "compare":
        return related(node[1], operand(item, node[2]), operand(item, node[3]))
    if word == "between":
        value = operand(item, node[1])
        return related(">=", value, operand(item, node[2])) and related("<=", value, operand(item, node[3]))
    if word == "in":
        return any(related("=", operand(item, node[1]), operand(item, option)) for option in node[2])
    return call(node[1], [operand(item, argument) for argument in node[2]])


def related(operator: str, left: Wire | None, right: Wire | None) -> bool:
    if operator == "<>":
        return not related("=", left, right)
    if left is None or right is None:
        return False
    if operator == "=":
        return bool(comparable(left) == comparable(right))
    if kind(left) != kind(right) or kind(left) not in ("S", "N", "B"):
        return False
    one, two = comparable(left)[1], comparable(right)[1]
    return bool({"<": one < two, "<=": one <= two, ">": one > two, ">=": one >= two}[operator])


def call(function: str, arguments: list[Wire | None]) -> bool:
    first = arguments[0]
    if function == "attribute_exists":
        return first is not None
    if function == "attribute_not_exists":
        return first is None
    second = arguments[1]
    if first is None or second is None:
        return False
    if function == "attribute_type":
        return bool(kind(first) == second["S"])
    if function == "begins_with":
        if kind(first) != kind(second) or kind(first) not in ("S", "B"):
            return False
        return bool(comparable(first)[1].startswith(comparable(second)[1]))
    tag = kind(first)
    if tag in ("S", "B"):
        return kind(second) == tag and bool(comparable(second)[1] in comparable(first)[1])
    if tag in ("SS", "NS", "BS"):
        return any(comparable({tag[0]: one}) == comparable(second) for one in first[tag])
    return tag == "L" and any(comparable(one) == comparable(second) for one in first["L"])


# Updates. Lists become dictionaries by index while the actions run, so that no action moves another's index.


def updated(item: dict[str, Wire], actions: list[Any]) -> dict[str, Wire]:
    outcomes = [outcome(item, action) for action in actions]
    loose = loosen({"M": item})
    for action, result in zip(actions, outcomes, strict=True):
        place(loose, action[1], result)
    return dict(tighten(loose)["M"])


def outcome(item: dict[str, Wire], action: Any) -> Wire | str:
    if action[0] == "remove":
        return "gone"
    if action[0] == "set":
        return source(item, action[2])
    existing, given = walk(item, action[1]), action[2]
    tag = kind(given)
    if existing is None:
        return given if action[0] == "add" else "same"
    if kind(existing) != tag:
        raise Failure("type")
    if tag == "N":
        return {"N": total(number(existing["N"]) + number(given["N"]))}
    if action[0] == "add":
        known = {comparable({tag[0]: one}) for one in existing[tag]}
        return {tag: existing[tag] + [one for one in given[tag] if comparable({tag[0]: one}) not in known]}
    known = {comparable({tag[0]: one}) for one in given[tag]}
    rest = [one for one in existing[tag] if comparable({tag[0]: one}) not in known]
    return {tag: rest} if rest else "gone"


def source(item: dict[str, Wire], node: Any) -> Wire:
    if node[0] == "else":
        found = walk(item, node[1])
        return source(item, node[2]) if found is None else found
    if node[0] == "sum":
        left, right = source(item, node[2]), source(item, node[3])
        if kind(left) != "N" or kind(right) != "N":
            raise Failure("type")
        one, two = number(left["N"]), number(right["N"])
        return {"N": total(one + two if node[1] == "+" else one - two)}
    if node[0] == "append":
        left, right = source(item, node[1]), source(item, node[2])
        if kind(left) != "L" or kind(right) != "L":
            raise Failure("type")
        return {"L": left["L"] + right["L"]}
    found = operand(item, node)
    if found is None:
        raise Failure("absent")
    return found


def total(value: Decimal) -> str:
    return format(ROUND.plus(value), "f")


def loosen(value: Wire) -> Wire:
    tag = kind(value)
    if tag == "L":
        return {"L": {index: loosen(one) for index, one in enumerate(value["L"])}}
    if tag == "M":
        return {"M": {name: loosen(one) for name, one in value["M"].items()}}
    return copy.deepcopy(value)


def tighten(value: Wire) -> Wire:
    tag = kind(value)
    if tag == "L":
        return {"L": [tighten(one) for _, one in sorted(value["L"].items())]}
    if tag == "M":
        return {"M": {name: tighten(one) for name, one in value["M"].items()}}
    return value


def place(loose: Wire, steps: list[str | int], result: Wire | str) -> None:
    here = loose
    for step in steps[:-1]:
        inside = here.get("M" if isinstance(step, str) else "L", {})
        if step not in inside:
            raise Failure("path")
        here = inside[step]
    last = steps[-1]
    inside = here.get("M" if isinstance(last, str) else "L")
    if inside is None:
        raise Failure("path")
    if result == "gone":
        inside.pop(last, None)
    elif result != "same":
        assert isinstance(result, dict)
        inside[last] = loosen(result)


def projected(item: dict[str, Wire], paths: list[list[str | int]]) -> dict[str, Wire]:
    found: Wire = {"M": {}}
    for steps in paths:
        value = walk(item, steps)
        if value is None:
            continue
        here = found
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            inside = here.setdefault("M" if isinstance(step, str) else "L", {})
            if following is None:
                inside[step] = loosen(value)
            else:
                here = inside.setdefault(step, {})
    return dict(tighten(found)["M"])
