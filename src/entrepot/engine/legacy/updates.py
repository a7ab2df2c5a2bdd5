"""AttributeUpdates and AttributesToGet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from entrepot.engine.errors import Validation
from entrepot.engine.expressions.paths import ABSENT
from entrepot.engine.expressions.projections import Projection
from entrepot.engine.expressions.updates import REMOVED, Effect, Update, added, deleted, plan_effects
from entrepot.engine.legacy.conditions import INVALID
from entrepot.engine.values import Item, Value, type_of
from entrepot.engine.values.kinds import admit_value

MISMATCH = "Type mismatch for attribute to update"

_SETS = frozenset(("SS", "NS", "BS"))
_ADDABLE = _SETS | {"N", "L"}


def update_of(updates: Mapping[str, Mapping[str, Any]]) -> Update:
    """The update that AttributeUpdates state."""
    effects = tuple(_read(name, entry) for name, entry in updates.items())
    return Update(plan_effects(tuple((name,) for name in updates), effects), {})


def projection_of(names: Sequence[str]) -> Projection:
    """The projection that AttributesToGet state."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise Validation(f"{INVALID}Duplicate value in attribute name: {name}")
        seen.add(name)
    return Projection((name,) for name in names)


def _read(name: str, entry: Mapping[str, Any]) -> Effect:
    action = entry.get("Action")
    action = "PUT" if action is None else action
    if action not in ("PUT", "ADD", "DELETE"):
        raise Validation(
            f"1 validation error detected: Value '{action}' at 'attributeUpdates.{name}.member.action' "
            "failed to satisfy constraint: Member must satisfy enum value set: [ADD, PUT, DELETE]"
        )
    if "Value" not in entry:
        if action != "DELETE":
            raise Validation(f"{INVALID}Only DELETE action is allowed when no attribute value is specified")
        return lambda item, values: REMOVED
    value = admit_value(entry["Value"])
    if action == "PUT":
        return lambda item, values: value
    _check_type(action, type_of(value))
    return _change(name, action, value)


def _check_type(action: str, kind: str) -> None:
    if action == "DELETE" and kind not in _SETS:
        raise Validation(f"{INVALID}DELETE action with value is not supported for the type {kind}")
    if action == "ADD" and kind not in _ADDABLE:
        raise Validation(f"{INVALID}ADD action is not supported for the type {kind}")


def _change(name: str, action: str, value: Value) -> Effect:
    if action == "DELETE":
        return lambda item, values: deleted(item.get(name, ABSENT), value, MISMATCH)
    if isinstance(value, list):
        return lambda item, values: _extended(item, name, value)
    return lambda item, values: added(item.get(name, ABSENT), value, MISMATCH)


def _extended(item: Item, name: str, value: list[Any]) -> list[Any]:
    existing = item.get(name, ABSENT)
    if existing is ABSENT:
        return value
    if not isinstance(existing, list):
        raise Validation(MISMATCH)
    return existing + value
