"""Transforms: what is sent instead of the body, and what is refused rather than sent half-made."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest

from entrepot.relay import transforms
from entrepot.relay.errors import TransformFailed, WrongValue
from entrepot.relay.views import EventView

BODY = {"id": 7, "customer": {"name": "Ada", "tags": ["x", "y"]}, "lines": [{"n": 1}, {"n": 2}]}


def view(body: bytes | None = None, content_type: str = "application/json") -> EventView:
    return EventView(
        method="PUT",
        headers={"X-Kind": "push"},
        query="q=1",
        body=msgspec.json.encode(BODY) if body is None else body,
        content_type=content_type,
    )


def made(transform: Any, seen: EventView | None = None) -> Any:
    output = transforms.checked(transform).apply(seen or view())
    assert output.content_type == "application/json"
    return msgspec.json.decode(output.body)


def test_passthrough_keeps_every_byte_and_the_type() -> None:
    raw = b"\xff\x00 not json"
    output = transforms.parse('{"type":"passthrough"}').apply(view(raw, "application/octet-stream"))
    assert (output.body, output.content_type) == (raw, "application/octet-stream")


def test_a_field_map_nests_by_dots_and_leaves_out_what_is_missing() -> None:
    rules = [
        {"from": "$.customer.name", "to": "who.name"},
        {"from": "$.lines[1].n", "to": "who.second"},
        {"from": "$.nothing", "to": "gone"},
        {"from": "$headers.x-kind", "to": "kind"},
        {"from": "$method", "to": "method"},
    ]
    assert made({"type": "field_map", "rules": rules}) == {
        "who": {"name": "Ada", "second": 2},
        "kind": "push",
        "method": "PUT",
    }


def test_a_jmespath_reshapes_the_body() -> None:
    assert made({"type": "jmespath", "expression": "{id: id, all: lines[].n}"}) == {"id": 7, "all": [1, 2]}


def test_a_template_takes_paths_and_keeps_the_rest() -> None:
    template = {
        "text": "$.customer.name",
        "plain": "hello",
        "price": "$$5",
        "gone": "$.no",
        "list": ["$query.q", "$.no", 1],
    }
    assert made({"type": "template", "template": template}) == {
        "text": "Ada",
        "plain": "hello",
        "price": "$5",
        "list": ["1", None, 1],
    }


def test_a_form_has_fields() -> None:
    seen = view(b"From=%2B1&Body=hi&Body=ho", "application/x-www-form-urlencoded")
    assert made({"type": "template", "template": {"from": "$.From", "body": "$.Body"}}, seen) == {
        "from": "+1",
        "body": ["hi", "ho"],
    }


@pytest.mark.parametrize(
    ("transform", "field"),
    [
        ({"type": "xslt"}, "transform.type"),
        ({"type": "field_map"}, "transform.rules"),
        ({"type": "field_map", "rules": [{"from": "x", "to": "a"}]}, "transform.rules[0].from"),
        ({"type": "field_map", "rules": [{"from": "$.x", "to": "a..b"}]}, "transform.rules[0].to"),
        (
            {"type": "field_map", "rules": [{"from": "$.x", "to": "a"}, {"from": "$.y", "to": "a.b"}]},
            "transform.rules[1].to",
        ),
        ({"type": "jmespath", "expression": "a["}, "transform.expression"),
        ({"type": "jmespath", "expression": ""}, "transform.expression"),
        ({"type": "jmespath", "expression": "[" * 1500}, "transform.expression"),
        ({"type": "template", "template": {"a": "$.a["}}, "transform.template.a"),
        ({"type": "passthrough", "rules": []}, "transform.rules"),
    ],
)
def test_a_transform_that_could_not_work_is_refused_with_its_place(transform: Any, field: str) -> None:
    with pytest.raises(WrongValue) as refused:
        transforms.checked(transform)
    assert refused.value.field == field


@pytest.mark.parametrize(
    "expression",
    [
        "|".join(["[@,@][]"] * 200),
        "|".join(["[@,@]"] * 200) + "|to_string(@)",
        "|".join(["{a:@,b:@}"] * 200),
        "abs(customer)",
    ],
)
def test_an_expression_that_grows_or_fails_is_stopped_and_says_why(expression: str) -> None:
    transform = transforms.checked({"type": "jmespath", "expression": expression})
    began = time.perf_counter()
    with pytest.raises(TransformFailed) as failed:
        transform.apply(view())
    assert time.perf_counter() - began < 2
    assert failed.value.message


def test_an_output_that_is_too_large_is_not_sent() -> None:
    large = msgspec.json.encode({"x": "a" * 200_000})
    template = {"type": "template", "template": ["$.x", "$.x", "$.x"]}
    with pytest.raises(TransformFailed, match="bytes"):
        transforms.checked(template).apply(view(large))
