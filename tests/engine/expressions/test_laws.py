"""Laws of expressions: random ones mean what a naive evaluator says, and nothing breaks the reader."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from entrepot.engine.errors import Validation
from entrepot.engine.expressions import Placeholders
from entrepot.engine.expressions.grammar import parse_condition, parse_projection, parse_update
from entrepot.engine.expressions.plans import forget_plans
from entrepot.engine.values import equal, item_from_wire, item_to_wire

from . import naive
from .printing import print_condition, print_projection, print_update
from .sentences import items, values, written_conditions, written_projections, written_updates

FAILURE = (
    "An operand in the update expression has an incorrect data type"
    "|The provided expression refers to an attribute that does not exist in the item"
    "|The document path provided in the update expression is invalid for update"
)

many = settings(max_examples=300, deadline=None)


def placeholders(names: dict[str, str], wire: dict[str, naive.Wire]) -> Placeholders:
    return Placeholders(names or None, item_from_wire(wire) or None)


def same(one: dict[str, naive.Wire], two: dict[str, naive.Wire]) -> bool:
    return bool(naive.comparable({"M": one}) == naive.comparable({"M": two}))


@many
@given(written_conditions(), items)
def test_a_condition_holds_where_the_naive_evaluator_says_so(written: Any, item: Any) -> None:
    tree, text, names, wire = written
    context = placeholders(names, wire)
    condition = context.condition(text, "ConditionExpression")
    context.finish()
    assert condition(item_from_wire(item)) is naive.holds(item, tree)


@many
@given(written_updates(), items)
def test_an_update_does_what_the_naive_model_does(written: Any, item: Any) -> None:
    tree, text, names, wire = written
    native = item_from_wire(item)
    before = copy.deepcopy(native)
    context = placeholders(names, wire)
    update = read_update(context, text)
    assume(update is not None)
    context.finish()
    try:
        expected = naive.updated(item, tree)
    except naive.Failure:
        with pytest.raises(Validation, match=FAILURE):
            update.apply(native)
    else:
        assert same(item_to_wire(update.apply(native)), expected)
    assert equal(native, before)


def read_update(context: Placeholders, text: str) -> Any:
    """The update, or None where a literal has a type that is refused: the model has no rules on those."""
    try:
        return context.update(text)
    except Validation as refused:
        if "Incorrect operand type" not in refused.message:
            raise
        return None


@many
@given(written_updates(), items)
def test_what_an_update_changed_is_what_stands_at_its_paths(written: Any, item: Any) -> None:
    tree, text, names, wire = written
    update = read_update(placeholders(names, wire), text)
    assume(update is not None)
    shown = naive.projected(item, [action[1] for action in tree])
    assert same(item_to_wire(update.changed(item_from_wire(item))), shown)


@many
@given(written_projections(), items)
def test_a_projection_is_what_the_naive_model_selects(written: Any, item: Any) -> None:
    tree, text, names = written
    context = Placeholders(names or None)
    projection = context.projection(text)
    context.finish()
    assert same(item_to_wire(projection(item_from_wire(item))), naive.projected(item, tree))


@given(written_conditions(), written_updates(), written_projections())
@settings(max_examples=150, deadline=None)
def test_what_is_read_and_printed_reads_the_same(condition: Any, update: Any, projection: Any) -> None:
    tree = parse_condition(condition[1], "FilterExpression")
    assert parse_condition(print_condition(tree), "FilterExpression") == tree
    actions = parse_update(update[1])
    assert set(parse_update(print_update(actions))) == set(actions)
    paths = parse_projection(projection[1])
    assert parse_projection(print_projection(paths)) == paths


@given(written_conditions(), st.data())
@settings(max_examples=200, deadline=None)
def test_a_remembered_condition_refuses_values_as_a_new_one_does(written: Any, data: Any) -> None:
    _, text, names, wire = written
    others = {key: data.draw(values) for key in wire if data.draw(st.integers(0, 8))}
    placeholders(names, wire).condition(text, "FilterExpression")
    warm = outcome(text, names, others)
    forget_plans()
    assert warm == outcome(text, names, others)


def outcome(text: str, names: dict[str, str], wire: dict[str, naive.Wire]) -> str | None:
    try:
        placeholders(names, wire).condition(text, "FilterExpression")
    except Validation as refused:
        return refused.message
    return None


PIECES = """
a b.c #n :v :w ( ) [ ] [1] . , = <> < >= + - AND or NOT BETWEEN IN SET REMOVE add DELETE size contains(a,:v)
attribute_exists( begins_with if_not_exists(a,:v) list_append( data _ ! 9
"""
pieces = st.lists(st.sampled_from(PIECES.split()), max_size=14).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(st.one_of(pieces, st.text(max_size=40)), st.one_of(st.none(), values), items)
def test_any_text_is_read_or_refused(text: str, value: Any, item: Any) -> None:
    wire = {} if value is None else {":v": value, ":w": value}
    native = item_from_wire(item)
    uses: list[Callable[[Placeholders], object]] = [
        lambda context: context.condition(text, "ConditionExpression")(native),
        lambda context: context.condition(text, "FilterExpression")({}),
        lambda context: context.update(text).apply(native),
        lambda context: context.projection(text)(native),
        lambda context: context.key_condition(text, "a", "b"),
        lambda context: context.key_condition(text, "a", None, {"a": "S"}),
    ]
    for use in uses:
        context = placeholders({"#n": "a"}, wire)
        with contextlib.suppress(Validation):
            use(context)
            context.finish()
