"""Filters: each operator by example, and all of them against an evaluator that is plainly right."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entrepot.relay import filters
from entrepot.relay.errors import WrongValue
from entrepot.relay.views import EventView

BODY = {
    "type": "invoice.paid",
    "n": 5,
    "f": 5.5,
    "t": True,
    "none": None,
    "tags": ["a", 1, None],
    "deep": {"list": [{"x": 1}], "a.b": "dotted"},
}


def view(body: Any = BODY, **more: Any) -> EventView:
    given: dict[str, Any] = {
        "method": "POST",
        "headers": {"X-Kind": "push"},
        "query": "a=1&b=&a=2",
        "body": msgspec.json.encode(body),
        "content_type": "application/json",
    }
    return EventView(**{**given, **more})


def passes(path: str, operator: str, value: Any = None, **more: Any) -> bool:
    return filters.checked([{"path": path, "operator": operator, "value": value}]).passes(view(**more))


@pytest.mark.parametrize(
    ("path", "operator", "value", "expected"),
    [
        ("$.type", "equals", "invoice.paid", True),
        ("$.n", "equals", 5, True),
        ("$.n", "equals", 5.0, True),
        ("$.n", "equals", "5", False),
        ("$.t", "equals", 1, False),
        ("$.t", "equals", True, True),
        ("$.none", "equals", None, True),
        ("$.none", "exists", None, True),
        ("$.none", "not_exists", None, False),
        ("$.missing", "exists", None, False),
        ("$.missing", "not_exists", None, True),
        ("$.missing", "equals", None, False),
        ("$.missing", "not_equals", 1, True),
        ("$.missing", "not_contains", "a", True),
        ("$.missing", "not_in", [1], True),
        ("$.missing", "regex", ".*", False),
        ("$.missing", "lt", 5, False),
        ("$.type", "contains", "voice", True),
        ("$.tags", "contains", 1, True),
        ("$.tags", "contains", True, False),
        ("$.tags", "contains", None, True),
        ("$.n", "contains", 5, False),
        ("$.n", "gt", 4, True),
        ("$.f", "gte", 5.5, True),
        ("$.n", "lt", "6", False),
        ("$.t", "gte", 0, False),
        ("$.type", "gt", "invoice", True),
        ("$.n", "in", [1, 5], True),
        ("$.n", "in", ["5", True], False),
        ("$.n", "not_in", [1], True),
        ("$.type", "starts_with", "invoice.", True),
        ("$.type", "ends_with", ".paid", True),
        ("$.n", "starts_with", "5", False),
        ("$.type", "regex", r"\.p[a-z]id", True),
        ("$.type", "regex", r"^paid", False),
        ("$.deep.list[0].x", "equals", 1, True),
        ("$.deep.list[1].x", "exists", None, False),
        ("$.deep['a.b']", "equals", "dotted", True),
        ("$headers.x-KIND", "equals", "push", True),
        ("$query.a", "equals", "1", True),
        ("$query.b", "equals", "", True),
        ("$method", "equals", "POST", True),
    ],
)
def test_an_operator_holds_or_not(path: str, operator: str, value: Any, expected: bool) -> None:
    assert passes(path, operator, value) is expected


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ({"path": "$.a", "operator": "like", "value": 1}, "filters[0].operator"),
        ({"path": "a", "operator": "equals", "value": 1}, "filters[0].path"),
        ({"path": "$.a[", "operator": "equals", "value": 1}, "filters[0].path"),
        ({"path": "$.a", "operator": "equals"}, "filters[0].value"),
        ({"path": "$.a", "operator": "in", "value": 1}, "filters[0].value"),
        ({"path": "$.a", "operator": "regex", "value": "("}, "filters[0].value"),
        ({"path": "$.a", "operator": "gt", "value": True}, "filters[0].value"),
        ({"any": {}}, "filters[0].any"),
        ({"all": [], "path": "$"}, "filters[0].all"),
        ({"not": {"path": "$.a", "operator": "no"}}, "filters[0].not[0].operator"),
    ],
)
def test_a_rule_that_could_not_work_is_refused_with_its_place(rule: Any, field: str) -> None:
    with pytest.raises(WrongValue) as refused:
        filters.checked([rule])
    assert refused.value.field == field


def test_rules_are_bounded_in_number_and_depth() -> None:
    leaf = {"path": "$.a", "operator": "exists"}
    with pytest.raises(WrongValue, match="more than"):
        filters.checked([leaf] * (filters.RULES_MAX + 1))
    deep: dict[str, Any] = leaf
    for _ in range(filters.DEPTH_MAX):
        deep = {"not": deep}
    with pytest.raises(WrongValue, match="nested"):
        filters.checked([deep])


def test_values_that_are_nested_without_end_hang_nothing() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    with pytest.raises(WrongValue, match="too deep"):
        filters.checked([{"path": "$", "operator": "equals", "value": deep}])
    raw = b"[" * 900 + b"]" * 900
    rule = filters.checked([{"path": "$", "operator": "equals", "value": [[[]]]}])
    seen = EventView(method="POST", headers={}, query="", body=raw, content_type="application/json")
    assert rule.explain(seen)[0]["passed"] is False


def test_a_pattern_that_hangs_others_ends_at_once() -> None:
    began = time.perf_counter()
    assert not passes("$.s", "regex", "^(a+)+$", body=msgspec.json.encode({"s": "a" * 50_000 + "b"}))
    assert time.perf_counter() - began < 1


def test_the_explanation_tells_what_each_rule_found() -> None:
    rule = {"path": "$.n", "operator": "gt", "value": 9}
    lost = {"path": "$.missing", "operator": "exists"}
    told = filters.checked([rule, {"any": [lost, {"path": "$.n", "operator": "equals", "value": 5}]}])
    first, second = told.explain(view())
    assert first == {"rule": rule, "passed": False, "found": 5}
    assert second["passed"] is True
    assert second["rules"][0] == {"rule": lost, "passed": False}


def test_a_text_is_read_once() -> None:
    text = '[{"path": "$.n", "operator": "equals", "value": 5}]'
    assert filters.parse(text) is filters.parse(text)


# -- the law: all operators and groups are what a plain evaluator says

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0]), st.text("ab", max_size=2)
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3))
BODIES = st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=3)
ORDERED = st.one_of(st.integers(-3, 3), st.text("ab", max_size=2))
PATHS = st.sampled_from(["$.x", "$.y", "$.z[0]"])


def rule_of(operators: list[str], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({"path": PATHS, "operator": st.sampled_from(operators), "value": values})


LEAVES = st.one_of(
    rule_of(["equals", "not_equals", "contains", "not_contains", "exists", "not_exists"], VALUES),
    rule_of(["gt", "gte", "lt", "lte"], ORDERED),
    rule_of(["in", "not_in"], st.lists(SCALARS, max_size=3)),
    rule_of(["starts_with", "ends_with", "regex"], st.text("ab", max_size=2)),
)
RULES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"all": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"any": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"not": inner}),
    ),
    max_leaves=6,
)


@given(st.lists(RULES, max_size=3), BODIES)
def test_filters_agree_with_a_naive_evaluator(rules: list[Any], body: dict[str, Any]) -> None:
    made = filters.checked(rules)
    seen = view(body)
    assert made.passes(seen) is all(naive(rule, body) for rule in rules)
    assert [told["passed"] for told in made.explain(seen)] == [naive(rule, body) for rule in rules]


def naive(rule: dict[str, Any], body: dict[str, Any]) -> bool:
    if "all" in rule:
        return all(naive(inner, body) for inner in rule["all"])
    if "any" in rule:
        return any(naive(inner, body) for inner in rule["any"])
    if "not" in rule:
        return not naive(rule["not"], body)
    name, operator, value = rule["path"][2], rule["operator"], rule["value"]
    there, found = name in body, body.get(name)
    if rule["path"].endswith("[0]"):
        there = isinstance(found, list) and len(found) > 0
        found = found[0] if there and isinstance(found, list) else None
    if not there:
        return operator in ("not_exists", "not_equals", "not_contains", "not_in")
    return naive_compare(operator, found, value)


def naive_compare(operator: str, found: Any, value: Any) -> bool:
    if operator.startswith("not_"):
        return not naive_compare(operator[4:], found, value)
    # Canonical JSON is as strict as we want: "5" is not 5, true is not 1. Only 1.0 has to be 1.
    if operator == "exists":
        return True
    if operator == "equals":
        return canonical(found) == canonical(value)
    if operator == "in":
        return canonical(found) in [canonical(entry) for entry in value]
    if operator == "contains":
        if isinstance(found, list):
            return canonical(value) in [canonical(entry) for entry in found]
        return isinstance(found, str) and isinstance(value, str) and value in found
    if operator in ("starts_with", "ends_with", "regex"):
        if not isinstance(found, str):
            return False
        checks: dict[str, bool] = {
            "starts_with": found[: len(value)] == value,
            "ends_with": found[len(found) - len(value) :] == value and len(value) <= len(found),
            "regex": value in found,
        }
        return checks[operator]
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        return False
    if isinstance(found, str) != isinstance(value, str):
        return False
    return bool(
        {"gt": found > value, "gte": found >= value, "lt": found < value, "lte": found <= value}[operator]
    )


def canonical(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ",".join(canonical(entry) for entry in value) + "]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{type(value).__name__}:{value}"
