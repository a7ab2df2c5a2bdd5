"""Which parts of an item a projection gives, and the projections that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

Json = dict[str, Any]

ITEM: Json = {
    "b": {"S": "b"},
    "l": {"L": [{"S": "0"}, {"S": "1"}, {"M": {"x": {"N": "1"}, "y": {"N": "2"}}}, {"L": [{"S": "3.0"}, {"S": "3.1"}]}]},
    "m": {"M": {"x": {"N": "1"}, "y": {"M": {"w": {"S": "w"}, "v": {"S": "v"}}}, "with.dot": {"S": "d"}}},
}  # fmt: skip


@pytest.fixture(scope="session")
def key(dynamo: Dynamo) -> Json:
    key = {"a": {"S": dynamo.unique("projection")}}
    dynamo.put(dynamo.table("hash"), **key, **ITEM)
    return key


@pytest.mark.parametrize(
    ("expression", "names", "expected"),
    [
        ("b", {}, {"b": {"S": "b"}}),
        ("b, nothing", {}, {"b": {"S": "b"}}),
        ("nothing", {}, {}),
        ("m.x", {}, {"m": {"M": {"x": {"N": "1"}}}}),
        ("m.y.w", {}, {"m": {"M": {"y": {"M": {"w": {"S": "w"}}}}}}),
        ("m.x, m.y.v", {}, {"m": {"M": {"x": {"N": "1"}, "y": {"M": {"v": {"S": "v"}}}}}}),
        ("m.nothing", {}, {}),
        ("m[0]", {}, {}),
        ("b.x", {}, {}),
        ("l[0]", {}, {"l": {"L": [{"S": "0"}]}}),
        ("l[1], l[0]", {}, {"l": {"L": [{"S": "0"}, {"S": "1"}]}}),
        ("l[1]", {}, {"l": {"L": [{"S": "1"}]}}),
        ("l[9]", {}, {}),
        ("l[2].y", {}, {"l": {"L": [{"M": {"y": {"N": "2"}}}]}}),
        ("l[3][1], l[0]", {}, {"l": {"L": [{"S": "0"}, {"L": [{"S": "3.1"}]}]}}),
        ("#m.#d", {"#m": "m", "#d": "with.dot"}, {"m": {"M": {"with.dot": {"S": "d"}}}}),
        (" b ,m . x ", {}, {"b": {"S": "b"}, "m": {"M": {"x": {"N": "1"}}}}),
    ],
)
def test_projections(dynamo: Dynamo, key: Json, expression: str, names: Json, expected: Json) -> None:
    request = {"TableName": dynamo.table("hash"), "Key": key, "ProjectionExpression": expression}
    if names:
        request["ExpressionAttributeNames"] = names
    assert dynamo.call("GetItem", request)["Item"] == expected


OVERLAP = "Two document paths overlap with each other; must remove or rewrite one of these paths; "


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "The expression can not be empty;"),
        ("b,", 'Syntax error; token: "<EOF>", near: ","'),
        ("b c", 'Syntax error; token: "c", near: "b c"'),
        ("l[", 'Syntax error; token: "<EOF>", near: "["'),
        ("m.", 'Syntax error; token: "<EOF>", near: "."'),
        ("m..x", 'Syntax error; token: ".", near: "..x"'),
        (":b", 'Syntax error; token: ":b", near: ":b"'),
        ("abort", "Attribute name is a reserved keyword; reserved keyword: abort"),
        ("b, m.Timestamp", "Attribute name is a reserved keyword; reserved keyword: Timestamp"),
        ("#b", "An expression attribute name used in the document path is not defined; attribute name: #b"),
        ("b, b", OVERLAP + "path one: [b], path two: [b]"),
        ("m, m.x", OVERLAP + "path one: [m], path two: [m, x]"),
        ("l[1].x, l[1]", OVERLAP + "path one: [l, [1], x], path two: [l, [1]]"),
        ("l[1], l.x", "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [l, [1]], path two: [l, x]"),
    ],
)  # fmt: skip
def test_refused_as_read(dynamo: Dynamo, expression: str, reason: str) -> None:
    request = {"TableName": "no-such-table", "Key": {"a": {"S": "x"}}, "ProjectionExpression": expression}
    dynamo.invalid("GetItem", request, f"Invalid ProjectionExpression: {reason}")


@pytest.mark.parametrize("path", ["a[0]", "a.b"])
def test_keys_have_no_parts(dynamo: Dynamo, path: str) -> None:
    request = {"TableName": dynamo.table("hash"), "Key": {"a": {"S": "x"}}, "ProjectionExpression": path}
    dynamo.invalid(
        "GetItem",
        request,
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: a",
    )
