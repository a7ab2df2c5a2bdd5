"""Update expressions that are refused as they are read, whatever the item holds."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo
from .test_update_item import update

V = {"v_v": {"N": "1"}}
S = {"v_v": {"S": "x"}}
WRONG = "Incorrect operand type for operator or function; "
COUNT = "Incorrect number of operands for operator or function; "


@pytest.mark.parametrize(
    ("expression", "rest", "reason"),
    [
        ("", {}, "The expression can not be empty;"),
        ("SET", {}, 'Syntax error; token: "<EOF>", near: "SET"'),
        ("SET x", {}, 'Syntax error; token: "<EOF>", near: "x"'),
        ("SET x =", {}, 'Syntax error; token: "<EOF>", near: "="'),
        ("SET x = :v,", V, 'Syntax error; token: "<EOF>", near: ","'),
        ("SET x = :v y = :v", V, 'Syntax error; token: "y", near: ":v y ="'),
        ("SET x == :v", V, 'Syntax error; token: "=", near: "== :v"'),
        ("x = :v", V, 'Syntax error; token: "x", near: "x ="'),
        ("CHANGE x = :v", V, 'Syntax error; token: "CHANGE", near: "CHANGE x"'),
        ("SET x = :v !", V, 'Syntax error; token: "!", near: ":v !"'),
        ("SET x = :v + :v + :v", V, 'Syntax error; token: "+", near: ":v + :v"'),
        ("SET x = 5", {}, 'Syntax error; token: "5", near: "= 5"'),
        ('SET x = "5"', {}, 'Syntax error; token: """, near: "= "5"'),
        ("REMOVE x y", {}, 'Syntax error; token: "y", near: "x y"'),
        ("ADD x = :v", V, 'Syntax error; token: "=", near: "x = :v"'),
        ("SET l[a] = :v", V, 'Syntax error; token: "a", near: "[a]"'),
        ("SET x = :v SET y = :v", V, 'The "SET" section can only be used once in an update expression;'),
        ("REMOVE x REMOVE y", {}, 'The "REMOVE" section can only be used once in an update expression;'),
        ("ADD x :v ADD y :v", V, 'The "ADD" section can only be used once in an update expression;'),
        ("SET abort = :v", V, "Attribute name is a reserved keyword; reserved keyword: abort"),
        ("SET x = Name", {}, "Attribute name is a reserved keyword; reserved keyword: Name"),
        ("REMOVE size", {}, "Attribute name is a reserved keyword; reserved keyword: size"),
        ("SET x = nope(:v)", V, "Invalid function name; function: nope"),
        ("SET x = If_Not_Exists(x, :v)", V, "Invalid function name; function: If_Not_Exists"),
        ("SET x = size(x)", {}, "Invalid function name; function: size"),
        ("SET #n = :v", V, "An expression attribute name used in the document path is not defined; attribute name: #n"),
        ("SET x = :nope", {}, "An expression attribute value used in expression is not defined; attribute value: :nope"),
        ("SET x = :v, x = :v", V, "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [x], path two: [x]"),
        ("SET x = :v REMOVE x", V, "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [x], path two: [x]"),
        ("SET x.y = :v, x = :v", V, "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [x, y], path two: [x]"),
        ("SET x[1] = :v, x[1].y = :v", V, "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [x, [1]], path two: [x, [1], y]"),
        ("SET x.y = :v, x[1] = :v", V, "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [x, y], path two: [x, [1]]"),
        ("SET x = if_not_exists(x)", {}, COUNT + "operator or function: if_not_exists, number of operands: 1"),
        ("SET x = list_append(x, y, z)", {}, COUNT + "operator or function: list_append, number of operands: 3"),
        ("SET x = if_not_exists(:v, y)", V, "Operator or function requires a document path; operator or function: if_not_exists"),
        ("SET x = list_append(x, :v)", V, WRONG + "operator or function: list_append, operand type: N"),
        ("SET x = y + :v", S, WRONG + "operator or function: +, operand type: S"),
        ("SET x = :v - y", S, WRONG + "operator or function: -, operand type: S"),
    ],
)  # fmt: skip
def test_refused_as_read(dynamo: Dynamo, expression: str, rest: dict[str, Any], reason: str) -> None:
    # A table that is not there: nothing of this needs one.
    request = {**update(dynamo, {"a": {"S": "x"}}, expression, **rest), "TableName": "no-such-table"}
    dynamo.invalid("UpdateItem", request, f"Invalid UpdateExpression: {reason}")


@pytest.mark.parametrize("section", ["ADD", "DELETE"])
@pytest.mark.parametrize(
    ("value", "older", "newer"),
    [
        ({"S": "x"}, "STRING", "STRING"),
        ({"B": "AA=="}, "BINARY", "Binary"),
        ({"NULL": True}, "NULL", "NULL"),
        ({"BOOL": True}, "BOOLEAN", "BOOL"),
        ({"L": []}, "LIST", "LIST"),
        ({"M": {}}, "MAP", "MAP"),
    ],
)
def test_add_and_delete_take_few_types(
    dynamo: Dynamo, section: str, value: dict[str, Any], older: str, newer: str
) -> None:
    request = update(dynamo, {"a": {"S": "x"}}, f"{section} x :v", v_v=value)
    reason = f"Invalid UpdateExpression: {WRONG}operator: {section}, operand type: "
    dynamo.invalid(
        "UpdateItem",
        request,
        reason + older,
        f"{reason}{newer}, typeSet: ALLOWED_FOR_{section}_OPERAND",
        f"{reason}{newer}, typeSet: ALLOWED_FOR_ADD_OPERAND",
    )


def test_delete_takes_no_number(dynamo: Dynamo) -> None:
    reason = f"Invalid UpdateExpression: {WRONG}operator: DELETE, operand type: NUMBER"
    request = update(dynamo, {"a": {"S": "x"}}, "DELETE x :v", **V)
    dynamo.invalid(
        "UpdateItem",
        request,
        reason,
        f"{reason}, typeSet: ALLOWED_FOR_DELETE_OPERAND",
        f"{reason}, typeSet: ALLOWED_FOR_ADD_OPERAND",
    )


def test_unused_names_and_values(dynamo: Dynamo) -> None:
    key = {"a": {"S": "x"}}
    dynamo.invalid(
        "UpdateItem",
        update(dynamo, key, "SET x = :v", **V, n_b="b"),
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}",
    )
    dynamo.invalid(
        "UpdateItem",
        update(dynamo, key, "SET x = :v", **V, v_w={"N": "1"}),
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}",
    )
