"""What an expression says, as a tree; placeholders are still placeholders in it.

Operand    = Path | ValueRef | Call
Condition  = Compare | Between | In | Call | Not | And | Or
Action     = Assign (SET; its value is an Operand or Arithmetic) | Remove | Change (ADD, DELETE)
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

Step: TypeAlias = str | int
"""A name, a `#placeholder` of a name, or a list index; a plain name never starts with `#`."""


class Path(msgspec.Struct, frozen=True, tag=True):
    """A document path as written: `a.#b[3]` is ("a", "#b", 3)."""

    steps: tuple[Step, ...]


class ValueRef(msgspec.Struct, frozen=True, tag=True):
    """A `:placeholder` of a value."""

    ref: str


class Call(msgspec.Struct, frozen=True, tag=True):
    """A function and its arguments."""

    function: str
    arguments: tuple[Operand, ...]


Operand: TypeAlias = Path | ValueRef | Call


class Compare(msgspec.Struct, frozen=True, tag=True):
    operator: str
    left: Operand
    right: Operand


class Between(msgspec.Struct, frozen=True, tag=True):
    operand: Operand
    low: Operand
    high: Operand


class In(msgspec.Struct, frozen=True, tag=True):
    operand: Operand
    options: tuple[Operand, ...]


class Not(msgspec.Struct, frozen=True, tag=True):
    part: ConditionNode


class And(msgspec.Struct, frozen=True, tag=True):
    parts: tuple[ConditionNode, ...]


class Or(msgspec.Struct, frozen=True, tag=True):
    parts: tuple[ConditionNode, ...]


ConditionNode: TypeAlias = Compare | Between | In | Call | Not | And | Or


class Arithmetic(msgspec.Struct, frozen=True, tag=True):
    operator: str
    left: Operand
    right: Operand


class Assign(msgspec.Struct, frozen=True, tag=True):
    path: Path
    value: Operand | Arithmetic


class Remove(msgspec.Struct, frozen=True, tag=True):
    path: Path


class Change(msgspec.Struct, frozen=True, tag=True):
    """An ADD or DELETE of a value."""

    section: str
    path: Path
    value: ValueRef


Action: TypeAlias = Assign | Remove | Change
