"""TransactGetItems: several items as of one moment, in the order asked for."""

from __future__ import annotations

from typing import Any

from .dynamo import Dynamo

Json = dict[str, Any]


def get(table: str, key: Json, **rest: Any) -> Json:
    return {"Get": {"TableName": table, "Key": key, **rest}}


def test_items_come_in_the_order_asked(dynamo: Dynamo) -> None:
    items = [dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()}, n={"N": str(n)}) for n in range(3)]
    actions = [get(dynamo.table("hash"), {"a": item["a"]}) for item in reversed(items)]
    answer = dynamo.call("TransactGetItems", {"TransactItems": actions})
    assert answer == {"Responses": [{"Item": item} for item in reversed(items)]}


def test_an_absent_item_is_an_empty_answer(dynamo: Dynamo) -> None:
    item = dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()})
    actions = [get(dynamo.table("hash"), {"a": {"S": "nobody"}}), get(dynamo.table("hash"), item)]
    answer = dynamo.call("TransactGetItems", {"TransactItems": actions})
    assert answer == {"Responses": [{}, {"Item": item}]}


def test_projections_and_several_tables(dynamo: Dynamo) -> None:
    one = dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()}, size={"N": "1"})
    other = dynamo.put(
        dynamo.table("range"), a={"S": dynamo.unique()}, b={"S": "1"}, m={"M": {"x": {"S": "y"}}}
    )
    actions = [
        get(
            dynamo.table("hash"),
            {"a": one["a"]},
            ProjectionExpression="#s",
            ExpressionAttributeNames={"#s": "size"},
        ),
        get(dynamo.table("range"), {k: other[k] for k in "ab"}, ProjectionExpression="m.x"),
    ]
    answer = dynamo.call("TransactGetItems", {"TransactItems": actions})
    assert answer == {
        "Responses": [{"Item": {"size": {"N": "1"}}}, {"Item": {"m": {"M": {"x": {"S": "y"}}}}}]
    }


def test_one_action_per_item(dynamo: Dynamo) -> None:
    actions = [get(dynamo.table("hash"), {"a": {"S": "x"}})] * 2
    message = "Transaction request cannot include multiple operations on one item"
    dynamo.invalid("TransactGetItems", {"TransactItems": actions}, message)


def test_a_key_of_the_wrong_shape_cancels(dynamo: Dynamo) -> None:
    actions = [get(dynamo.table("hash"), {"a": {"S": "x"}}), get(dynamo.table("hash"), {"b": {"S": "x"}})]
    refusal = dynamo.refuses(
        "TransactGetItems",
        {"TransactItems": actions},
        "TransactionCanceledException",
        "Transaction cancelled, please refer cancellation reasons for specific reasons [None, ValidationError]",
    )
    message = "The provided key element does not match the schema"
    assert refusal.body["CancellationReasons"] == [
        {"Code": "None"},
        {"Code": "ValidationError", "Message": message},
    ]


def test_an_unused_name(dynamo: Dynamo) -> None:
    rest: Json = {"ProjectionExpression": "b", "ExpressionAttributeNames": {"#c": "c"}}
    actions = [get(dynamo.table("hash"), {"a": {"S": "x"}}, **rest)]
    message = "Value provided in ExpressionAttributeNames unused in expressions: keys: {#c}"
    dynamo.invalid("TransactGetItems", {"TransactItems": actions}, message)
