"""Transactions that are refused as requests, before any of their actions is tried."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo, member
from .test_transact_write import check, delete, put, transact, update

Json = dict[str, Any]
X = {"a": {"S": "x"}}
T = "no-such-table"


def test_at_least_one_action(dynamo: Dynamo) -> None:
    constraint = "Member must have length greater than or equal to 1"
    for operation in ("TransactWriteItems", "TransactGetItems"):
        dynamo.violates(operation, {"TransactItems": []}, [member("transactItems", "[]", constraint)])


@pytest.mark.parametrize("operation", ["TransactWriteItems", "TransactGetItems"])
def test_at_most_a_hundred_actions(dynamo: Dynamo, operation: str) -> None:
    table = dynamo.table("hash")
    keys = [{"a": {"S": str(n)}} for n in range(101)]
    actions = [
        put(table, k) if "Write" in operation else {"Get": {"TableName": table, "Key": k}} for k in keys
    ]
    refusal = dynamo.refused(operation, transact(*actions))
    # The message repeats all the actions in the service's own notation.
    assert refusal.type == "ValidationException"
    assert refusal.message.startswith("1 validation error detected: Value '[")
    assert refusal.message.endswith(
        "at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to 100"
    )


@pytest.mark.parametrize(
    ("second", "same"),
    [
        (lambda t: delete(t, X), True),
        (lambda t: check(t, X, "attribute_exists(a)"), True),
        (lambda t: update(t, X, "REMOVE b"), True),
        (lambda t: put(t, {"a": {"S": "y"}}), False),
    ],
)
def test_one_action_per_item(dynamo: Dynamo, second: Any, same: bool) -> None:
    table = dynamo.table("hash")
    request = transact(put(table, X), second(table))
    if not same:
        assert dynamo.call("TransactWriteItems", request) == {}
        return
    message = "Transaction request cannot include multiple operations on one item"
    dynamo.invalid("TransactWriteItems", request, message)


def test_exactly_one_kind_of_action(dynamo: Dynamo) -> None:
    both = {**put(T, X), **delete(T, X)}
    message = "TransactItems can only contain one of Check, Put, Update or Delete"
    dynamo.invalid("TransactWriteItems", transact(both), message)


def test_an_action_of_some_kind(dynamo: Dynamo) -> None:
    message = "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
    dynamo.invalid("TransactWriteItems", transact({}), message)


@pytest.mark.parametrize(
    ("action", "violations"),
    [
        ({"Put": {}}, [("put.item", None), ("put.tableName", None)]),
        ({"Delete": {}}, [("delete.key", None), ("delete.tableName", None)]),
        ({"Update": {}}, [("update.key", None), ("update.updateExpression", None), ("update.tableName", None)]),
        ({"ConditionCheck": {}}, [("conditionCheck.key", None), ("conditionCheck.conditionExpression", None), ("conditionCheck.tableName", None)]),
    ],
)  # fmt: skip
def test_members_that_must_be_there(dynamo: Dynamo, action: Json, violations: list[tuple[str, None]]) -> None:
    parts = [
        member(f"transactItems.1.member.{path}", None, "Member must not be null") for path, _ in violations
    ]
    dynamo.violates("TransactWriteItems", transact(action), parts)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (put(T, X, ConditionExpression="a = "), 'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "="'),
        (put(T, X, ConditionExpression="abort = a"), "Invalid ConditionExpression: Attribute name is a reserved keyword; reserved keyword: abort"),
        (put(T, X, ConditionExpression="b = :v"), "Invalid ConditionExpression: An expression attribute value used in expression is not defined; attribute value: :v"),
        (check(T, X, ""), "Invalid ConditionExpression: The expression can not be empty;"),
        (update(T, X, ""), "Invalid UpdateExpression: The expression can not be empty;"),
        (update(T, X, "SET"), 'Invalid UpdateExpression: Syntax error; token: "<EOF>", near: "SET"'),
        (update(T, X, "REMOVE b", ExpressionAttributeNames={"#c": "c"}), "Value provided in ExpressionAttributeNames unused in expressions: keys: {#c}"),
        (update(T, X, "REMOVE b", ExpressionAttributeValues={":c": {"S": "c"}}), "Value provided in ExpressionAttributeValues unused in expressions: keys: {:c}"),
        (put(T, {**X, "v": {"S": "x" * 409600}}), "Item size has exceeded the maximum allowed size"),
        (put(T, {**X, "v": {"SS": []}}), "One or more parameter values were invalid: An string set  may not be empty"),
    ],
)  # fmt: skip
def test_refused_as_read(dynamo: Dynamo, action: Json, message: str) -> None:
    dynamo.invalid("TransactWriteItems", transact(action), message)


def test_an_absent_table(dynamo: Dynamo) -> None:
    kind, message = "ResourceNotFoundException", "Requested resource not found"
    dynamo.refuses("TransactWriteItems", transact(put(T, X)), kind, message)
    dynamo.refuses("TransactGetItems", transact({"Get": {"TableName": T, "Key": X}}), kind, message)


def test_tokens_have_at_most_36_letters(dynamo: Dynamo) -> None:
    token = "t" * 37
    constraint = "Member must have length less than or equal to 36"
    request = transact(put(dynamo.table("hash"), X), ClientRequestToken=token)
    dynamo.violates("TransactWriteItems", request, [member("clientRequestToken", token, constraint)])


def test_four_megabytes_at_most(dynamo: Dynamo) -> None:
    large = "x" * 400_000
    actions = [put(dynamo.table("hash"), {"a": {"S": dynamo.unique()}, "v": {"S": large}}) for _ in range(11)]
    dynamo.refuses("TransactWriteItems", transact(*actions), "ValidationException")
