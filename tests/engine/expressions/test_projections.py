"""What projections select."""

from __future__ import annotations

from typing import Any

import pytest

from entrepot.engine.expressions import Placeholders

from .asking import project, refusal

ITEM: dict[str, Any] = {
    "a": 1,
    "m": {"x": 1, "y": {"z": 2}, "w": None},
    "l": [0, {"k": "v", "o": 1}, [1, 2, 3], 3],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", {"a": 1}),
        ("gone", {}),
        ("a, gone", {"a": 1}),
        ("m.x, a", {"m": {"x": 1}, "a": 1}),
        ("m.w", {"m": {"w": None}}),
        ("m.y.z, m.x", {"m": {"x": 1, "y": {"z": 2}}}),
        ("m.gone", {}),
        ("m.y.gone.more", {}),
        ("l[3], l[0]", {"l": [0, 3]}),
        ("l[9], l[1].k", {"l": [{"k": "v"}]}),
        ("l[2][2], l[2][0]", {"l": [[1, 3]]}),
        ("m[0]", {}),
        ("l.x", {}),
        ("a.b", {}),
    ],
)
def test_selection(text: str, expected: dict[str, Any]) -> None:
    assert project(text, ITEM) == expected


def test_names_may_hold_dots() -> None:
    assert project("#d", {"m.x": 1, "m": {"x": 2}}, {"#d": "m.x"}) == {"m.x": 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a, a", "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]"),
        ("a.b, a", "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a, b], path two: [a]"),
        ("a.b, a[0]", "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [a, b], path two: [a, [0]]"),
        ("#x", "An expression attribute name used in the document path is not defined; attribute name: #x"),
    ],
)  # fmt: skip
def test_projections_are_refused(text: str, reason: str) -> None:
    assert refusal(project, text, {}) == f"Invalid ProjectionExpression: {reason}"


def test_a_projection_tells_which_attributes_it_reads() -> None:
    projection = Placeholders({"#n": "name"}).projection("#n.x, a, l[0]")
    assert projection.attributes == {"name", "a", "l"}
    assert projection.nested == {"name", "l"}
