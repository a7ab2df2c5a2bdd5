"""Short ways to ask an expression, and to see why one is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from entrepot.engine.errors import Validation
from entrepot.engine.expressions import KeyCondition, Placeholders

Names = Mapping[str, str] | None
Values = Mapping[str, Any] | None


def holds(text: str, item: dict[str, Any], values: Values = None, names: Names = None) -> bool:
    return Placeholders(names, values).condition(text, "ConditionExpression")(item)


def update(text: str, item: dict[str, Any], values: Values = None, names: Names = None) -> dict[str, Any]:
    return Placeholders(names, values).update(text).apply(item)


def project(text: str, item: dict[str, Any], names: Names = None) -> dict[str, Any]:
    return Placeholders(names).projection(text)(item)


def key(text: str, values: Values = None, names: Names = None, **schema: Any) -> KeyCondition:
    found = {"hash_name": "pk", "range_name": "sk", **schema}
    return Placeholders(names, values).key_condition(text, **found)


def refusal(ask: Any, *arguments: Any, **more: Any) -> str:
    with pytest.raises(Validation) as caught:
        ask(*arguments, **more)
    return caught.value.message
