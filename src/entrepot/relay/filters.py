"""Filters: which events a connection wants. All rules must pass; a rule may be a group of rules.

found = filters.parse('[{"path": "$.type", "operator": "starts_with", "value": "invoice."}]')
found.passes(view)
found.explain(view)      # [{"rule": {…}, "passed": True, "found": "invoice.paid"}]
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import msgspec
import re2  # type: ignore[import-untyped]

from entrepot.relay.errors import WrongValue
from entrepot.relay.shapes import bounded
from entrepot.relay.views import MISSING, EventView, Path, path_of

RULES_MAX = 100
DEPTH_MAX = 8
VALUE_BYTES_MAX = 4096
PATTERN_CHARACTERS_MAX = 512
PATTERN_BYTES_MAX = 1 << 20
FOUND_CHARACTERS_MAX = 1000
FILTERS_KEPT = 1024

Explained = dict[str, Any]


class Filter:
    """Rules that were checked; keep it as long as its text stays the same."""

    def __init__(self, rules: list[Rule | Group]) -> None:
        self._rules = rules

    def passes(self, view: EventView) -> bool:
        """Whether the event is wanted."""
        return all(rule.passes(view) for rule in self._rules)

    def explain(self, view: EventView) -> list[Explained]:
        """For each rule whether it passed and what it found; a group tells the same of its rules."""
        return [rule.explain(view) for rule in self._rules]


@functools.lru_cache(maxsize=FILTERS_KEPT)
def parse(text: str) -> Filter:
    """The filter of a connection, from its JSON; made once for each text. Raises WrongValue."""
    return checked(msgspec.json.decode(text))


def checked(rules: Any) -> Filter:
    """The filter of these rules; raises WrongValue for one that could not work."""
    if not isinstance(rules, list):
        raise WrongValue("filters", "must be a list of rules")
    return Filter(_Reader().rules(rules, "filters", depth=1))


class Rule:
    """One comparison."""

    def __init__(self, source: dict[str, Any], path: Path, operator: str, compare: Compare) -> None:
        self._source = source
        self._path = path
        self._compare = compare
        self._passes_missing = operator in _PASS_MISSING

    def passes(self, view: EventView) -> bool:
        found = self._path.find(view)
        return self._passes_missing if found is MISSING else self._compare(found)

    def explain(self, view: EventView) -> Explained:
        found = self._path.find(view)
        told: Explained = {"rule": self._source, "passed": self.passes(view)}
        if found is not MISSING:
            told["found"] = _shown(found)
        return told


class Group:
    """Rules of which all or any must pass, or none."""

    def __init__(self, source: dict[str, Any], kind: str, rules: list[Rule | Group]) -> None:
        self._source = source
        self._kind = kind
        self._rules = rules

    def passes(self, view: EventView) -> bool:
        if self._kind == "any":
            return any(rule.passes(view) for rule in self._rules)
        passed = all(rule.passes(view) for rule in self._rules)
        return not passed if self._kind == "not" else passed

    def explain(self, view: EventView) -> Explained:
        inner = [rule.explain(view) for rule in self._rules]
        return {"rule": self._source, "passed": self.passes(view), "rules": inner}


Compare = Callable[[Any], bool]


class _Reader:
    """Reads rules, and counts them."""

    def __init__(self) -> None:
        self._count = 0

    def rules(self, given: list[Any], at: str, *, depth: int) -> list[Rule | Group]:
        if depth > DEPTH_MAX:
            raise WrongValue(at, f"groups are nested more than {DEPTH_MAX} deep")
        return [self._rule(rule, f"{at}[{index}]", depth) for index, rule in enumerate(given)]

    def _rule(self, given: Any, at: str, depth: int) -> Rule | Group:
        self._count += 1
        if self._count > RULES_MAX:
            raise WrongValue(at, f"there are more than {RULES_MAX} rules")
        if not isinstance(given, dict):
            raise WrongValue(at, "must be {path, operator, value}, {all: []}, {any: []} or {not: {}}")
        for kind in ("all", "any", "not"):
            if kind in given:
                return self._group(given, kind, f"{at}.{kind}", depth)
        return _leaf(given, at)

    def _group(self, given: dict[str, Any], kind: str, at: str, depth: int) -> Group:
        if len(given) != 1:
            raise WrongValue(at, "a group has nothing beside its rules")
        inner = [given[kind]] if kind == "not" else given[kind]
        if not isinstance(inner, list):
            raise WrongValue(at, "must be a list of rules")
        return Group(given, kind, self.rules(inner, at, depth=depth + 1))


def _leaf(given: dict[str, Any], at: str) -> Rule:
    path, operator = given.get("path"), given.get("operator")
    if not isinstance(path, str):
        raise WrongValue(f"{at}.path", "must be a path like $.type")
    if not isinstance(operator, str) or operator not in _OPERATORS:
        raise WrongValue(f"{at}.operator", f"{operator!r} is not one of {', '.join(_OPERATORS)}"[:400])
    if unknown := given.keys() - {"path", "operator", "value"}:
        raise WrongValue(f"{at}.{min(unknown)}", "is not known here")
    if "value" not in given and operator not in _WITHOUT_VALUE:
        raise WrongValue(f"{at}.value", f"is missing; {operator} needs it")
    value = given.get("value")
    if not bounded(value) or len(msgspec.json.encode(value)) > VALUE_BYTES_MAX:
        raise WrongValue(f"{at}.value", f"is larger than {VALUE_BYTES_MAX} bytes, or too deep")
    try:
        return Rule(given, path_of(path), operator, _OPERATORS[operator](value))
    except WrongValue as wrong:
        raise WrongValue(f"{at}.{wrong.field}", wrong.complaint) from None


def same(left: Any, right: Any) -> bool:
    """JSON equality: 5 is 5.0, but neither "5" nor true."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float):
        return isinstance(right, int | float) and left == right
    if isinstance(left, list):
        return (
            isinstance(right, list)
            and len(left) == len(right)
            and all(same(one, other) for one, other in zip(left, right, strict=True))
        )
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and left.keys() == right.keys()
            and all(same(value, right[name]) for name, value in left.items())
        )
    return type(left) is type(right) and bool(left == right)


def _contains(value: Any) -> Compare:
    def compare(found: Any) -> bool:
        if isinstance(found, list):
            return any(same(entry, value) for entry in found)
        return isinstance(found, str) and isinstance(value, str) and value in found

    return compare


def _in(value: Any) -> Compare:
    if not isinstance(value, list):
        raise WrongValue("value", "must be a list")
    return lambda found: any(same(found, entry) for entry in value)


def _ordered(holds: Callable[[Any, Any], bool]) -> Callable[[Any], Compare]:
    def make(value: Any) -> Compare:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise WrongValue("value", "must be a number or a text")

        def compare(found: Any) -> bool:
            if isinstance(found, bool) or isinstance(found, str) is not isinstance(value, str):
                return False
            return isinstance(found, int | float | str) and holds(found, value)

        return compare

    return make


def _text(holds: Callable[[str, str], bool]) -> Callable[[Any], Compare]:
    def make(value: Any) -> Compare:
        if not isinstance(value, str):
            raise WrongValue("value", "must be a text")
        return lambda found: isinstance(found, str) and holds(found, value)

    return make


def _regex(value: Any) -> Compare:
    if not isinstance(value, str) or len(value) > PATTERN_CHARACTERS_MAX:
        raise WrongValue("value", f"must be a pattern of at most {PATTERN_CHARACTERS_MAX} characters")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = PATTERN_BYTES_MAX
    try:
        pattern = re2.compile(value, options=options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise WrongValue("value", f"is no pattern of RE2: {reason}") from None
    return lambda found: isinstance(found, str) and pattern.search(found) is not None


def _not(make: Callable[[Any], Compare]) -> Callable[[Any], Compare]:
    def made(value: Any) -> Compare:
        compare = make(value)
        return lambda found: not compare(found)

    return made


def _equals(value: Any) -> Compare:
    return lambda found: same(found, value)


_OPERATORS: dict[str, Callable[[Any], Compare]] = {
    "equals": _equals,
    "not_equals": _not(_equals),
    "contains": _contains,
    "not_contains": _not(_contains),
    "exists": lambda _: lambda found: True,
    "not_exists": lambda _: lambda found: False,
    "gt": _ordered(lambda found, value: found > value),
    "gte": _ordered(lambda found, value: found >= value),
    "lt": _ordered(lambda found, value: found < value),
    "lte": _ordered(lambda found, value: found <= value),
    "in": _in,
    "not_in": _not(_in),
    "starts_with": _text(str.startswith),
    "ends_with": _text(str.endswith),
    "regex": _regex,
}
_WITHOUT_VALUE = frozenset({"exists", "not_exists"})
_PASS_MISSING = frozenset({"not_exists", "not_equals", "not_contains", "not_in"})


def _shown(found: Any) -> Any:
    if isinstance(found, str):
        return found[:FOUND_CHARACTERS_MAX]
    if not bounded(found):
        return "…"
    text = msgspec.json.encode(found)
    if len(text) <= FOUND_CHARACTERS_MAX:
        return found
    return text.decode(errors="ignore")[:FOUND_CHARACTERS_MAX] + "…"
