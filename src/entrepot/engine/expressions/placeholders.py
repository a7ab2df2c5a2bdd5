"""The placeholders of one request, and the expressions that are read with them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from entrepot.engine.errors import Validation
from entrepot.engine.expressions.conditions import Condition
from entrepot.engine.expressions.keys import KeyBounds, KeyCondition
from entrepot.engine.expressions.plans import (
    Plan,
    Reading,
    plan_for,
    read_condition,
    read_projection,
    read_update,
)
from entrepot.engine.expressions.projections import Projection
from entrepot.engine.expressions.updates import Update
from entrepot.engine.values import Value
from entrepot.engine.values.kinds import admit_value

ConditionKind: TypeAlias = Literal["ConditionExpression", "FilterExpression"]

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_NONE: frozenset[str] = frozenset()
_NAME_KEY = re.compile(r"#[0-9A-Za-z_]+")
_VALUE_KEY = re.compile(r":[0-9A-Za-z_]+")
_KEYS_MAX = 4096
_AS_IT_IS = frozenset((str, bytes, bool, type(None)))


class Placeholders:
    """ExpressionAttributeNames and ExpressionAttributeValues of a request, either of which may be None.

    Read every expression of the request, in DynamoDB's order (update, condition, key condition, filter,
    projection), then `finish`. `prefix` goes before the message of each error that these calls raise.
    """

    __slots__ = ("_names", "_prefix", "_used_names", "_used_values", "_values")

    def __init__(
        self,
        names: Mapping[str, str] | None = None,
        values: Mapping[str, Value] | None = None,
        prefix: str = "",
    ) -> None:
        self._prefix = prefix
        self._names: Mapping[str, str] = _NOTHING
        self._values: Mapping[str, Value] = _NOTHING
        self._used_names: Set[str] = _NONE
        self._used_values: Set[str] = _NONE
        try:
            if names is not None:
                self._names = _check_names(names)
            if values is not None:
                self._values = _admit_values(values)
        except Validation as error:
            raise self._worded(error) from None

    def condition(self, text: str, kind: ConditionKind) -> Condition:
        """The condition that a ConditionExpression or FilterExpression states."""
        try:
            plan = self._plan(read_condition(text, kind))
        except Validation as error:
            raise self._worded(error) from None
        return Condition(plan, self._values)

    def update(self, text: str) -> Update:
        """The update that an UpdateExpression states."""
        try:
            plan = self._plan(read_update(text))
        except Validation as error:
            raise self._worded(error) from None
        return Update(plan, self._values)

    def projection(self, text: str) -> Projection:
        """The projection that a ProjectionExpression states."""
        try:
            projection: Projection = self._plan(read_projection(text))
        except Validation as error:
            raise self._worded(error) from None
        return projection

    def key_condition(
        self, text: str, hash_name: str, range_name: str | None, types: Mapping[str, str] = _NOTHING
    ) -> KeyCondition:
        """What a KeyConditionExpression asks of a key schema; `types` are its attributes' types, if known."""
        bounds = self.key_bounds(text)
        try:
            return bounds.fit(hash_name, range_name, types)
        except Validation as error:
            raise self._worded(error) from None

    def key_bounds(self, text: str) -> KeyBounds:
        """What a KeyConditionExpression asks, before the key schema is known: `fit` it to one."""
        try:
            plan = self._plan(read_condition(text, "KeyConditionExpression"))
            bounds: KeyBounds = plan.bind(self._values)
        except Validation as error:
            raise self._worded(error) from None
        return bounds

    def finish(self) -> None:
        """Refuse names and values that no expression of the request used."""
        if len(self._used_names) != len(self._names):
            raise self._unused("ExpressionAttributeNames", self._names, self._used_names)
        if len(self._used_values) != len(self._values):
            raise self._unused("ExpressionAttributeValues", self._values, self._used_values)

    def _plan(self, reading: Reading) -> Any:
        plan: Plan = plan_for(reading, self._names, self._values)
        if reading.names:
            self._used_names = self._used_names | reading.name_set if self._used_names else reading.name_set
        if reading.needs.refs:
            refs = reading.needs.refs
            self._used_values = self._used_values | refs if self._used_values else refs
        return plan

    def _unused(self, parameter: str, given: Mapping[str, Any], used: Set[str]) -> Validation:
        keys = ", ".join(key for key in given if key not in used)
        return self._worded(
            Validation(f"Value provided in {parameter} unused in expressions: keys: {{{keys}}}")
        )

    def _worded(self, error: Validation) -> Validation:
        return Validation(self._prefix + error.message) if self._prefix else error


def _check_names(names: Mapping[str, str]) -> Mapping[str, str]:
    if not names:
        raise Validation("ExpressionAttributeNames must not be empty")
    for key, name in names.items():
        if not _is_name_key(key):
            raise Validation(f'ExpressionAttributeNames contains invalid key: Syntax error; key: "{key}"')
        if not name:
            raise Validation(
                f"ExpressionAttributeNames contains invalid value: Empty attribute name for key {key}"
            )
    return names


def _admit_values(values: Mapping[str, Value]) -> Mapping[str, Value]:
    """The values in canonical form: the same object where nothing needs to change."""
    if not values:
        raise Validation("ExpressionAttributeValues must not be empty")
    for key in values:
        if not _is_value_key(key):
            raise Validation(f'ExpressionAttributeValues contains invalid key: Syntax error; key: "{key}"')
    admitted: dict[str, Value] | None = None
    for key, value in values.items():
        if type(value) in _AS_IT_IS:
            continue
        try:
            canonical = admit_value(value)
        except Validation as error:
            raise Validation(
                f"ExpressionAttributeValues contains invalid value: {error.message} for key {key}"
            ) from None
        if canonical is not value:
            admitted = dict(values) if admitted is None else admitted
            admitted[key] = canonical
    return values if admitted is None else admitted


@lru_cache(maxsize=_KEYS_MAX)
def _is_name_key(key: str) -> bool:
    return _NAME_KEY.fullmatch(key) is not None


@lru_cache(maxsize=_KEYS_MAX)
def _is_value_key(key: str) -> bool:
    return _VALUE_KEY.fullmatch(key) is not None
