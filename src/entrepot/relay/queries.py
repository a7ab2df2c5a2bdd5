"""JMESPath expressions, held to a time and a size: a short one can double a list with each of its words."""

from __future__ import annotations

import time
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.visitor import TreeInterpreter

from entrepot.relay.errors import TransformFailed, WrongValue
from entrepot.relay.shapes import bounded

EXPRESSION_CHARACTERS_MAX = 2048
SECONDS_MAX = 0.25

# What can make more out of what it is given; all else picks parts.
_GROWING = frozenset(
    {
        "multi_select_list",
        "multi_select_dict",
        "flatten",
        "projection",
        "value_projection",
        "filter_projection",
        "function_expression",
    }
)


class Query:
    """An expression that was read."""

    def __init__(self, parsed: Any) -> None:
        self._parsed = parsed

    def run(self, value: Any) -> Any:
        """Its result on this value; raises TransformFailed."""
        try:
            return _Bounded(time.monotonic() + SECONDS_MAX).visit(self._parsed, value)
        except (JMESPathError, RecursionError, TypeError, ValueError, ArithmeticError) as error:
            raise TransformFailed(f"The expression failed: {str(error)[:300]}") from None


def query_of(expression: Any) -> Query:
    """The expression that is written so; raises WrongValue."""
    at = "transform.expression"
    if not isinstance(expression, str) or not 1 <= len(expression) <= EXPRESSION_CHARACTERS_MAX:
        raise WrongValue(at, f"must be a text of 1 to {EXPRESSION_CHARACTERS_MAX} characters")
    try:
        return Query(jmespath.compile(expression).parsed)
    except (JMESPathError, RecursionError) as error:
        raise WrongValue(at, f"is no JMESPath: {str(error)[:300]}") from None


class _Bounded(TreeInterpreter):
    """Evaluates an expression step by step, and looks at the clock and the result at each."""

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self._deadline = deadline

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        if time.monotonic() > self._deadline:
            raise TransformFailed(f"The expression took longer than {SECONDS_MAX} s.")
        result = super().visit(node, *args, **kwargs)
        if node["type"] in _GROWING and not bounded(result):
            raise TransformFailed("The expression made too large a value.")
        return result
