"""The grammar: text to tree, with every error that needs no names and values.

condition  = and {OR and}          and = not {AND not}         not = NOT not | primary
primary    = operand comparator operand | operand BETWEEN operand AND operand | operand IN (operand, …)
           | function (operand, …) | (condition)
operand    = path | :value | function (operand, …) | (operand)
path       = name {.name | [index]}
update     = {SET path = sum, … | REMOVE path, … | ADD path :value, … | DELETE path :value, …}
sum        = operand [+|- operand] | (sum)
projection = path, …
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, TypeVar

from entrepot.engine.errors import Validation
from entrepot.engine.expressions.reserved import is_reserved
from entrepot.engine.expressions.tokens import Tokens, check_size
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
    Remove,
    Step,
    ValueRef,
)

OPERATORS_MAX = 300
PATH_STEPS_MAX = 32
LIST_INDEX_MAX = 2**31 - 1
# Deeper than any expression that keeps within OPERATORS_MAX, unless its parentheses are redundant.
NESTING_MAX = OPERATORS_MAX + 10

COMPARATORS = frozenset(("=", "<>", "<", "<=", ">", ">="))
CONDITION_FUNCTIONS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
}
UPDATE_FUNCTIONS = {"if_not_exists": 2, "list_append": 2}
CONDITION_KEYWORDS = frozenset(("AND", "OR", "NOT", "BETWEEN", "IN"))
SECTIONS = ("SET", "REMOVE", "ADD", "DELETE")

_INDEX_DIGITS_MAX = 10
_REDUNDANT = "The expression has redundant parentheses;"

T = TypeVar("T")

Complaint: TypeAlias = Literal["parentheses", "function", "misuse", "reserved", "section", "path"]

# DynamoDB reads the whole text first; of several complaints it answers the first of this order.
_CONDITION_ORDER: tuple[Complaint, ...] = ("parentheses", "function", "misuse", "reserved", "path")
_UPDATE_ORDER: tuple[Complaint, ...] = ("parentheses", "reserved", "function", "section", "path")


def parse_condition(text: str, kind: str) -> ConditionNode:
    """The tree of a condition, filter or key condition expression."""
    check_size(text, kind)
    grammar = _Grammar(text, kind, CONDITION_FUNCTIONS, CONDITION_KEYWORDS)
    node = grammar.condition()
    grammar.tokens.expect_end()
    condition = grammar.as_condition(node)
    grammar.complain(_CONDITION_ORDER)
    return condition


def parse_update(text: str) -> tuple[Action, ...]:
    """The actions of an update expression, in the order they are written."""
    check_size(text, "UpdateExpression")
    grammar = _Grammar(text, "UpdateExpression", UPDATE_FUNCTIONS, frozenset(SECTIONS))
    actions = grammar.update()
    grammar.complain(_UPDATE_ORDER)
    return actions


def parse_projection(text: str) -> tuple[Path, ...]:
    """The paths of a projection expression."""
    check_size(text, "ProjectionExpression")
    grammar = _Grammar(text, "ProjectionExpression", {}, frozenset())
    paths = grammar.listed(grammar.path)
    grammar.tokens.expect_end()
    grammar.complain(_CONDITION_ORDER)
    return paths


class _Grammar:
    """One pass over one expression: a method per rule, complaints gathered on the way."""

    def __init__(self, text: str, kind: str, functions: dict[str, int], keywords: frozenset[str]) -> None:
        self.tokens = Tokens(text, kind)
        self._functions = functions
        self._keywords = keywords
        self._complaints: dict[Complaint, Validation] = {}
        self._operators = 0
        self._depth = 0
        self._last_pair = (-1, -1)

    def complain(self, order: tuple[Complaint, ...]) -> None:
        for complaint in order:
            if complaint in self._complaints:
                raise self._complaints[complaint]

    # Conditions. AND and OR share one method, so that a level of parentheses costs few frames of the stack.

    def condition(self) -> ConditionNode | Operand:
        """A condition, or the lone operand that a parenthesis may hold."""
        alternatives: list[ConditionNode] = []
        while True:
            node = self._primary()
            if self.tokens.at_word("AND"):
                parts = [self.as_condition(node)]
                while self._took("AND"):
                    parts.append(self.as_condition(self._primary()))
                node = And(tuple(parts))
            if not self._took("OR"):
                break
            alternatives.append(self.as_condition(node))
        if not alternatives:
            return node
        alternatives.append(self.as_condition(node))
        return Or(tuple(alternatives))

    def as_condition(self, node: ConditionNode | Operand) -> ConditionNode:
        if isinstance(node, Path | ValueRef):
            raise self.tokens.syntax_error()
        if isinstance(node, Call) and node.function == "size":
            self._note_misuse(node)
        return node

    def _primary(self) -> ConditionNode | Operand:
        negations = 0
        while self._took("NOT"):
            negations += 1
        node: ConditionNode | Operand
        if self.tokens.at("("):
            opening = self._open()
            node = self.condition()
            self._close(opening)
            if isinstance(node, Path):
                node = self._path_from(node.steps)
        else:
            node = self._operand()
        if isinstance(node, Path | ValueRef | Call):
            node = self._relation(node)
        for _ in range(negations):
            node = Not(self.as_condition(node))
        return node

    def _relation(self, left: Operand) -> ConditionNode | Operand:
        """What follows an operand: a comparison, BETWEEN, IN, or nothing yet."""
        tokens = self.tokens
        if tokens.current.kind == "symbol" and tokens.current.text in COMPARATORS:
            self._count_operator()
            operator = tokens.take().text
            right = self._operand()
            self._check_misuse(left, right)
            return Compare(operator, left, right)
        if self._took("BETWEEN"):
            low = self._operand()
            if not tokens.at_word("AND"):
                raise tokens.syntax_error()
            tokens.take()
            high = self._operand()
            self._check_misuse(left, low, high)
            return Between(left, low, high)
        if self._took("IN"):
            tokens.expect("(")
            options = self.listed(self._operand)
            tokens.expect(")")
            self._check_misuse(left, *options)
            return In(left, options)
        return left

    # Updates

    def update(self) -> tuple[Action, ...]:
        actions: list[Action] = []
        seen: set[str] = set()
        while True:
            section = self.tokens.current.text.upper()
            if self.tokens.current.kind != "word" or section not in SECTIONS:
                raise self.tokens.syntax_error()
            self.tokens.take()
            if section in seen:
                self._note(
                    "section", f'The "{section}" section can only be used once in an update expression;'
                )
            seen.add(section)
            if section == "SET":
                actions.extend(self.listed(self._assignment))
            elif section == "REMOVE":
                actions.extend(Remove(path) for path in self.listed(self.path))
            else:
                actions.extend(Change(section, *pair) for pair in self.listed(self._path_and_value))
            if self.tokens.at_end():
                return tuple(actions)

    def _assignment(self) -> Assign:
        path = self.path()
        self.tokens.expect("=")
        return Assign(path, self._sum())

    def _sum(self) -> Operand | Arithmetic:
        if self.tokens.at("("):
            opening = self._open()
            value = self._sum()
            self._close(opening, redundancy=False)
            if isinstance(value, Arithmetic):
                return value
            left = self._path_from(value.steps) if isinstance(value, Path) else value
        else:
            left = self._operand()
        if not (self.tokens.at("+") or self.tokens.at("-")):
            return left
        self._count_operator()
        operator = self.tokens.take().text
        return Arithmetic(operator, left, self._operand())

    def _path_and_value(self) -> tuple[Path, ValueRef]:
        path = self.path()
        if self.tokens.current.kind != "value":
            raise self.tokens.syntax_error()
        return path, ValueRef(self.tokens.take().text)

    # Operands

    def _operand(self) -> Operand:
        tokens = self.tokens
        if tokens.at("("):
            opening = self._open()
            operand = self._operand()
            self._close(opening, redundancy=bool(self._keywords & CONDITION_KEYWORDS))
            return self._path_from(operand.steps) if isinstance(operand, Path) else operand
        if tokens.current.kind == "value":
            return ValueRef(tokens.take().text)
        following = tokens.following()
        if tokens.current.kind != "word" or following.kind != "symbol" or following.text != "(":
            return self.path()
        function = self._function()
        # The arguments are read here and not by a method, so that nested calls cost a frame each.
        arguments = [self._operand()]
        while tokens.at(","):
            tokens.take()
            arguments.append(self._operand())
        tokens.expect(")")
        if self._functions is CONDITION_FUNCTIONS:
            self._check_misuse(*arguments)
        return Call(function, tuple(arguments))

    def _function(self) -> str:
        """The name of a function, and the parenthesis after it."""
        if self.tokens.current.text.upper() in self._keywords:
            raise self.tokens.syntax_error()
        self._count_operator()
        function = self.tokens.take().text
        self.tokens.expect("(")
        if function not in self._functions:
            self._note("function", f"Invalid function name; function: {function}")
        return function

    def listed(self, rule: Callable[[], T]) -> tuple[T, ...]:
        """One or more of a rule, with commas between."""
        found = [rule()]
        while self.tokens.at(","):
            self.tokens.take()
            found.append(rule())
        return tuple(found)

    def path(self) -> Path:
        return self._path_from((self._name(),))

    def _path_from(self, steps: tuple[Step, ...]) -> Path:
        """The path that starts with `steps` and goes on as far as dots and brackets do."""
        found = list(steps)
        while True:
            if self.tokens.at("."):
                self.tokens.take()
                found.append(self._name())
            elif self.tokens.at("["):
                self.tokens.take()
                found.append(self._index())
                self.tokens.expect("]")
            else:
                break
        if len(found) > PATH_STEPS_MAX:
            self._note("path", f"The document path has too many nesting levels; nesting levels: {len(found)}")
        return Path(tuple(found))

    def _name(self) -> str:
        token = self.tokens.current
        if token.kind == "name":
            return self.tokens.take().text
        if token.kind != "word" or token.text.upper() in self._keywords:
            raise self.tokens.syntax_error()
        if is_reserved(token.text):
            self._note("reserved", f"Attribute name is a reserved keyword; reserved keyword: {token.text}")
        return self.tokens.take().text

    def _index(self) -> int:
        token = self.tokens.current
        if token.kind != "index":
            raise self.tokens.syntax_error()
        self.tokens.take()
        if len(token.text) > _INDEX_DIGITS_MAX or int(token.text) > LIST_INDEX_MAX:
            self._note("path", f"List index is not within the allowable range; index: [{token.text}]")
            return 0
        return int(token.text)

    # Bookkeeping

    def _took(self, keyword: str) -> bool:
        """Whether the keyword stood here; if so it is taken, and counted as an operator."""
        if not self.tokens.at_word(keyword):
            return False
        self._count_operator()
        self.tokens.take()
        return True

    def _open(self) -> int:
        self._depth += 1
        if self._depth > NESTING_MAX:
            raise self.tokens.error(_REDUNDANT)
        position = self.tokens.position
        self.tokens.take()
        return position

    def _close(self, opening: int, *, redundancy: bool = True) -> None:
        self._depth -= 1
        closing = self.tokens.position
        self.tokens.expect(")")
        # A pair right inside this one, with nothing between the two, says nothing.
        if redundancy and self._last_pair == (opening + 1, closing - 1):
            self._note("parentheses", _REDUNDANT)
        self._last_pair = (opening, closing)

    def _count_operator(self) -> None:
        self._operators += 1
        if self._operators > OPERATORS_MAX:
            raise self.tokens.error(
                f"The expression contains too many operators; operator count: {self._operators}"
            )

    def _check_misuse(self, *operands: Operand) -> None:
        for operand in operands:
            if isinstance(operand, Call) and operand.function != "size":
                self._note_misuse(operand)

    def _note_misuse(self, call: Call) -> None:
        self._note(
            "misuse",
            f"The function is not allowed to be used this way in an expression; function: {call.function}",
        )

    def _note(self, complaint: Complaint, message: str) -> None:
        self._complaints.setdefault(complaint, self.tokens.error(message))
