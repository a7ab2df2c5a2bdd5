"""TransactWriteItems: all or nothing, with a reason for each action."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

Json = dict[str, Any]
CANCELED = "TransactionCanceledException"
NONE = {"Code": "None"}
FAILED = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}


def put(table: str, item: Json, **rest: Any) -> Json:
    return {"Put": {"TableName": table, "Item": item, **rest}}


def delete(table: str, key: Json, **rest: Any) -> Json:
    return {"Delete": {"TableName": table, "Key": key, **rest}}


def update(table: str, key: Json, expression: str, **rest: Any) -> Json:
    return {"Update": {"TableName": table, "Key": key, "UpdateExpression": expression, **rest}}


def check(table: str, key: Json, condition: str, **rest: Any) -> Json:
    return {"ConditionCheck": {"TableName": table, "Key": key, "ConditionExpression": condition, **rest}}


def transact(*actions: Json, **rest: Any) -> Json:
    return {"TransactItems": list(actions), **rest}


def canceled(dynamo: Dynamo, request: Json, *reasons: Json) -> None:
    codes = ", ".join(reason["Code"] for reason in reasons)
    message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    refusal = dynamo.refuses("TransactWriteItems", request, CANCELED, message)
    assert refusal.body["CancellationReasons"] == list(reasons)


def test_every_action_together(dynamo: Dynamo) -> None:
    table = dynamo.table("hash")
    one, two, three, four = ({"a": {"S": dynamo.unique()}} for _ in range(4))
    dynamo.put(table, **two, n={"N": "1"})
    dynamo.put(table, **three)
    dynamo.put(table, **four)
    request = transact(
        put(table, {**one, "v": {"S": "x"}}, ConditionExpression="attribute_not_exists(a)"),
        update(table, two, "SET n = n + :n", ExpressionAttributeValues={":n": {"N": "1"}}),
        delete(table, three),
        check(table, four, "attribute_exists(a)"),
    )
    assert dynamo.call("TransactWriteItems", request) == {}
    assert dynamo.get(table, **one) == {**one, "v": {"S": "x"}}
    assert dynamo.get(table, **two) == {**two, "n": {"N": "2"}}
    assert dynamo.get(table, **three) is None
    assert dynamo.get(table, **four) == four


def test_a_failed_condition_cancels_everything(dynamo: Dynamo) -> None:
    table = dynamo.table("hash")
    one, two = ({"a": {"S": dynamo.unique()}} for _ in range(2))
    request = transact(put(table, one), check(table, two, "attribute_exists(a)"))
    canceled(dynamo, request, NONE, FAILED)
    assert dynamo.get(table, **one) is None


def test_every_failed_condition_is_told(dynamo: Dynamo) -> None:
    table = dynamo.table("hash")
    keys = [{"a": {"S": dynamo.unique()}} for _ in range(4)]
    never = {"ConditionExpression": "attribute_exists(a)"}
    request = transact(
        put(table, keys[0], **never),
        delete(table, keys[1], **never),
        put(table, keys[2]),
        update(table, keys[3], "REMOVE b", **never),
    )
    canceled(dynamo, request, FAILED, FAILED, NONE, FAILED)


def test_the_old_item_comes_with_its_reason_when_asked(dynamo: Dynamo) -> None:
    item = dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()}, n={"N": "1"})
    never = {
        "ConditionExpression": "attribute_not_exists(a)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    request = transact(put(dynamo.table("hash"), {"a": item["a"]}, **never))
    canceled(dynamo, request, {**FAILED, "Item": item})
    request = transact(
        check(dynamo.table("hash"), {"a": item["a"]}, "n > :n", ExpressionAttributeValues={":n": {"N": "1"}})
    )
    canceled(dynamo, request, FAILED)


def test_an_update_that_the_item_does_not_bear_cancels(dynamo: Dynamo) -> None:
    item = dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()}, s={"S": "x"})
    values = {"ExpressionAttributeValues": {":n": {"N": "1"}}}
    request = transact(update(dynamo.table("hash"), {"a": item["a"]}, "SET s = s + :n", **values))
    message = "An operand in the update expression has an incorrect data type"
    canceled(dynamo, request, {"Code": "ValidationError", "Message": message})


def test_a_key_of_the_wrong_shape_cancels(dynamo: Dynamo) -> None:
    good = {"a": {"S": dynamo.unique()}}
    request = transact(put(dynamo.table("hash"), good), delete(dynamo.table("hash"), {"b": {"S": "x"}}))
    message = "The provided key element does not match the schema"
    canceled(dynamo, request, NONE, {"Code": "ValidationError", "Message": message})
    assert dynamo.get(dynamo.table("hash"), **good) is None


def test_indexes_follow(dynamo: Dynamo) -> None:
    c = {"S": dynamo.unique()}
    item = {"a": {"S": dynamo.unique()}, "b": {"S": "1"}, "c": c}
    dynamo.call("TransactWriteItems", transact(put(dynamo.table("indexed"), item)))
    request = {
        "TableName": dynamo.table("indexed"),
        "IndexName": "gsi_all",
        "KeyConditionExpression": "c = :c",
        "ExpressionAttributeValues": {":c": c},
    }
    assert dynamo.call("Query", request)["Items"] == [item]


def test_several_tables(dynamo: Dynamo) -> None:
    one = {"a": {"S": dynamo.unique()}}
    other = {"a": {"S": dynamo.unique()}, "b": {"S": "1"}}
    dynamo.call(
        "TransactWriteItems", transact(put(dynamo.table("hash"), one), put(dynamo.table("range"), other))
    )
    assert dynamo.get(dynamo.table("range"), **other) == other


def test_a_hundred_actions(dynamo: Dynamo) -> None:
    keys = [{"a": {"S": dynamo.unique()}} for _ in range(100)]
    assert dynamo.call("TransactWriteItems", transact(*(put(dynamo.table("hash"), k) for k in keys))) == {}


def test_a_token_makes_it_happen_once(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    action = update(dynamo.table("hash"), key, "ADD n :n", ExpressionAttributeValues={":n": {"N": "1"}})
    request = transact(action, ClientRequestToken=dynamo.unique("token"))
    assert dynamo.call("TransactWriteItems", request) == {}
    assert dynamo.call("TransactWriteItems", request) == {}
    assert dynamo.get(dynamo.table("hash"), **key) == {**key, "n": {"N": "1"}}


def test_a_token_belongs_to_its_request(dynamo: Dynamo) -> None:
    token = dynamo.unique("token")
    one, two = ({"a": {"S": dynamo.unique()}} for _ in range(2))
    dynamo.call("TransactWriteItems", transact(put(dynamo.table("hash"), one), ClientRequestToken=token))
    other = transact(put(dynamo.table("hash"), two), ClientRequestToken=token)
    refusal = dynamo.refuses("TransactWriteItems", other, "IdempotentParameterMismatchException")
    assert dynamo.get(dynamo.table("hash"), **two) is None
    assert refusal.message


def test_a_canceled_transaction_leaves_its_token_free(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    action = update(
        dynamo.table("hash"),
        key,
        "SET n = :n",
        ConditionExpression="attribute_exists(a)",
        ExpressionAttributeValues={":n": {"N": "1"}},
    )
    request = transact(action, ClientRequestToken=dynamo.unique("token"))
    canceled(dynamo, request, FAILED)
    dynamo.put(dynamo.table("hash"), **key)
    assert dynamo.call("TransactWriteItems", request) == {}
    assert dynamo.get(dynamo.table("hash"), **key) == {**key, "n": {"N": "1"}}


def test_conditions_see_the_items_of_before(dynamo: Dynamo) -> None:
    table = dynamo.table("hash")
    one, two = ({"a": {"S": dynamo.unique()}} for _ in range(2))
    request = transact(put(table, one), check(table, two, "attribute_not_exists(a)"))
    assert dynamo.call("TransactWriteItems", request) == {}


@pytest.mark.parametrize("kind", ["S", "B"])
def test_an_empty_key_is_refused_outright(dynamo: Dynamo, kind: str) -> None:
    table, word = (dynamo.table("hash"), "string") if kind == "S" else (dynamo.table("hash_b"), "binary")
    message = f"One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty {word} value. Key: a"
    dynamo.invalid("TransactWriteItems", transact(put(table, {"a": {kind: ""}})), message)
