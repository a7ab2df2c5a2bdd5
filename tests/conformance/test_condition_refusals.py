"""Conditions that are refused as they are read."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo
from .test_condition_expression import condition

V = {"v": {"N": "1"}}
S = {"v": {"S": "x"}}
WRONG = "Incorrect operand type for operator or function; operator or function: "
COUNT = "Incorrect number of operands for operator or function; operator or function: "
MISUSED = "The function is not allowed to be used this way in an expression; function: "
DISTINCT = (
    "The first operand must be distinct from the remaining operands for this operator or function; operator: "
)

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("", {}, "The expression can not be empty;"),
    ("n", {}, 'Syntax error; token: "<EOF>", near: "n"'),
    ("n =", {}, 'Syntax error; token: "<EOF>", near: "="'),
    ("n = :v AND", V, 'Syntax error; token: "<EOF>", near: "AND"'),
    ("n = :v n = :v", V, 'Syntax error; token: "n", near: ":v n ="'),
    ("n == :v", V, 'Syntax error; token: "=", near: "== :v"'),
    ("n != :v", V, 'Syntax error; token: "!", near: "n !="'),
    ("n = 1", {}, 'Syntax error; token: "1", near: "= 1"'),
    ("(n = :v", V, 'Syntax error; token: "<EOF>", near: ":v"'),
    ("n = :v)", V, 'Syntax error; token: ")", near: ":v)"'),
    ("attribute_exists(n", {}, 'Syntax error; token: "<EOF>", near: "n"'),
    ("attribute_exists()", {}, 'Syntax error; token: ")", near: "()"'),
    ("n IN ()", {}, 'Syntax error; token: ")", near: "()"'),
    ("n BETWEEN :v", V, 'Syntax error; token: "<EOF>", near: ":v"'),
    ("m. = :v", V, 'Syntax error; token: "=", near: ". = :v"'),
    ("((n = :v))", V, "The expression has redundant parentheses;"),
    ("n = :v AND ((n = :v))", V, "The expression has redundant parentheses;"),
    ("nope(n)", {}, "Invalid function name; function: nope"),
    ("Size(n) = :v", V, "Invalid function name; function: Size"),
    ("attribute_exists(abort)", {}, "Attribute name is a reserved keyword; reserved keyword: abort"),
    ("Data = :v", V, "Attribute name is a reserved keyword; reserved keyword: Data"),
    ("m.Data = :v", V, "Attribute name is a reserved keyword; reserved keyword: Data"),
    ("size(n)", {}, MISUSED + "size"),
    ("NOT size(n)", {}, MISUSED + "size"),
    ("attribute_exists(n) = :v", V, MISUSED + "attribute_exists"),
    ("contains(n, attribute_exists(s))", {}, MISUSED + "attribute_exists"),
    ("#n = :v", V, "An expression attribute name used in the document path is not defined; attribute name: #n"),
    ("n = :nope", {}, "An expression attribute value used in expression is not defined; attribute value: :nope"),
    ("attribute_exists(n, s)", {}, COUNT + "attribute_exists, number of operands: 2"),
    ("begins_with(n)", {}, COUNT + "begins_with, number of operands: 1"),
    ("contains(n)", {}, COUNT + "contains, number of operands: 1"),
    ("attribute_type(n)", {}, COUNT + "attribute_type, number of operands: 1"),
    ("size(n, s) = :v", V, COUNT + "size, number of operands: 2"),
    ("n = n", {}, DISTINCT + "=, first operand: [n]"),
    ("m.x < m.x", {}, DISTINCT + "<, first operand: [m, x]"),
    ("l[1] <> l[1]", {}, DISTINCT + "<>, first operand: [l, [1]]"),
    ("contains(n, n)", {}, DISTINCT + "contains, first operand: [n]"),
    ("attribute_exists(:v)", V, "Operator or function requires a document path; operator or function: attribute_exists"),
    ("attribute_not_exists(:v)", V, "Operator or function requires a document path; operator or function: attribute_not_exists"),
    ("begins_with(n, :v)", V, WRONG + "begins_with, operand type: N"),
    ("begins_with(:v, s)", {"v": {"BOOL": True}}, WRONG + "begins_with, operand type: BOOL"),
    ("size(:v) = :v", V, WRONG + "size, operand type: N"),
    ("size(:v) = size(s)", {"v": {"NULL": True}}, WRONG + "size, operand type: NULL"),
    ("attribute_type(n, :v)", V, WRONG + "attribute_type, operand type: N"),
    ("attribute_type(n, s)", {}, WRONG + "attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}"),
    ("attribute_type(n, :v)", S, "Invalid attribute type name found; type: x, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"),
    ("n BETWEEN :v AND :w", {"v": {"N": "1"}, "w": {"S": "2"}}, "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:2}"),
    ("n BETWEEN :v AND :w", {"v": {"N": "2"}, "w": {"N": "1"}}, "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "values", "reason"), REFUSED)
def test_refused_as_read(dynamo: Dynamo, expression: str, values: dict[str, Any], reason: str) -> None:
    request = {**condition(dynamo, {"a": {"S": "x"}}, expression, values), "TableName": "no-such-table"}
    dynamo.invalid("DeleteItem", request, f"Invalid ConditionExpression: {reason}")


@pytest.mark.parametrize(
    ("expression", "values", "reason"),
    [REFUSED[0], REFUSED[4], REFUSED[20], REFUSED[26], REFUSED[27], REFUSED[28]],
)
def test_filters_are_refused_alike(
    dynamo: Dynamo, expression: str, values: dict[str, Any], reason: str
) -> None:
    request: dict[str, Any] = {"TableName": "no-such-table", "FilterExpression": expression}
    if values:
        request["ExpressionAttributeValues"] = {f":{k}": v for k, v in values.items()}
    dynamo.invalid("Scan", request, f"Invalid FilterExpression: {reason}")


ORDER = [
    # Each mistake is told before the ones after it, wherever in the expression it stands.
    ("n = n AND #n = :v AND abort = :v AND size(n) AND nope(n) AND ((n = :v))", "The expression has redundant parentheses;"),
    ("n = n AND #n = :v AND abort = :v AND size(n) AND nope(n)", "Invalid function name; function: nope"),
    ("n = n AND #n = :v AND abort = :v AND size(n)", MISUSED + "size"),
    ("n = n AND #n = :v AND abort = :v", "Attribute name is a reserved keyword; reserved keyword: abort"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "reason"), ORDER)
def test_the_order_of_mistakes(dynamo: Dynamo, expression: str, reason: str) -> None:
    request = condition(dynamo, {"a": {"S": "x"}}, expression, V)
    dynamo.invalid("DeleteItem", request, f"Invalid ConditionExpression: {reason}")
