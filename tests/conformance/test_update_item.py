"""UpdateItem: it makes or changes an item, and returns as much of it as asked."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

INVALID = "One or more parameter values were invalid: "


def update(dynamo: Dynamo, key: dict[str, Any], expression: str, **rest: Any) -> dict[str, Any]:
    """A request on the shared table: values are given as `v_x`, names as `n_x`."""
    request: dict[str, Any] = {"TableName": dynamo.table("hash"), "Key": key, "UpdateExpression": expression}
    values = {f":{k[2:]}": v for k, v in rest.items() if k.startswith("v_")}
    names = {f"#{k[2:]}": v for k, v in rest.items() if k.startswith("n_")}
    if values:
        request["ExpressionAttributeValues"] = values
    if names:
        request["ExpressionAttributeNames"] = names
    return request | {k: v for k, v in rest.items() if k[:2] not in {"v_", "n_"}}


def test_without_an_expression_it_makes_the_bare_item(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    assert dynamo.call("UpdateItem", {"TableName": dynamo.table("hash"), "Key": key}) == {}
    assert dynamo.get(dynamo.table("hash"), **key) == key


def test_an_update_makes_the_item_it_does_not_find(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    request = update(dynamo, key, "SET b = :b", v_b={"S": "x"}, ReturnValues="ALL_NEW")
    assert dynamo.call("UpdateItem", request) == {"Attributes": {**key, "b": {"S": "x"}}}


def test_an_update_that_only_removes_still_makes_the_item(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    assert dynamo.call("UpdateItem", update(dynamo, key, "REMOVE b", ReturnValues="ALL_NEW")) == {
        "Attributes": key
    }
    assert dynamo.get(dynamo.table("hash"), **key) == key


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("NONE", None),
        ("ALL_OLD", {"b": {"N": "1"}, "c": {"N": "2"}, "e": {"S": "e"}}),
        ("ALL_NEW", {"b": {"N": "10"}, "d": {"N": "3"}, "e": {"S": "e"}}),
        ("UPDATED_OLD", {"b": {"N": "1"}, "c": {"N": "2"}}),
        ("UPDATED_NEW", {"b": {"N": "10"}, "d": {"N": "3"}}),
    ],
)
def test_return_values(dynamo: Dynamo, values: str, expected: dict[str, Any] | None) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **key, b={"N": "1"}, c={"N": "2"}, e={"S": "e"})
    request = update(
        dynamo, key, "SET b = :b, d = :d REMOVE c", v_b={"N": "10"}, v_d={"N": "3"}, ReturnValues=values
    )
    answer = dynamo.call("UpdateItem", request)
    if expected is None:
        assert answer == {}
    elif values.startswith("ALL"):
        assert answer["Attributes"] == {**key, **expected}
    else:
        assert answer["Attributes"] == expected


@pytest.mark.parametrize("values", ["ALL_OLD", "UPDATED_OLD"])
def test_old_values_of_a_new_item_are_none(dynamo: Dynamo, values: str) -> None:
    request = update(dynamo, {"a": {"S": dynamo.unique()}}, "SET b = :b", v_b={"S": "x"}, ReturnValues=values)
    assert "Attributes" not in dynamo.call("UpdateItem", request)


def test_updated_values_of_nested_paths_come_in_their_place(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(
        dynamo.table("hash"),
        **key,
        m={"M": {"x": {"N": "1"}, "y": {"N": "2"}}},
        l={"L": [{"N": "1"}, {"N": "2"}]},
    )
    request = update(dynamo, key, "SET m.x = :n, l[1] = :n", v_n={"N": "9"}, ReturnValues="UPDATED_NEW")
    assert dynamo.call("UpdateItem", request)["Attributes"] == {
        "m": {"M": {"x": {"N": "9"}}},
        "l": {"L": [{"N": "9"}]},
    }


@pytest.mark.parametrize("expression", ["SET a = :v", "REMOVE a", "ADD a :v", "DELETE a :v"])
def test_key_attributes_cannot_be_updated(dynamo: Dynamo, expression: str) -> None:
    values: dict[str, Any] = {"v_v": {"SS": ["x"]} if expression[0] in "AD" else {"S": "x"}}
    if expression.startswith("REMOVE"):
        values = {}
    dynamo.invalid(
        "UpdateItem",
        update(dynamo, {"a": {"S": "x"}}, expression, **values),
        INVALID + "Cannot update attribute a. This attribute is part of the key",
    )


def test_key_attributes_have_no_parts(dynamo: Dynamo) -> None:
    for path in ("b[0]", "b.c"):
        request = {
            "TableName": dynamo.table("range"),
            "Key": {"a": {"S": "x"}, "b": {"S": "x"}},
            "UpdateExpression": f"SET {path} = :v",
            "ExpressionAttributeValues": {":v": {"S": "x"}},
        }
        dynamo.invalid(
            "UpdateItem",
            request,
            INVALID + "Cannot update attribute b. This attribute is part of the key",
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: b",
        )


def test_index_keys_have_no_parts(dynamo: Dynamo) -> None:
    request = {
        "TableName": dynamo.table("indexed"),
        "Key": {"a": {"S": "x"}, "b": {"S": "x"}},
        "UpdateExpression": "SET c.x = :v",
        "ExpressionAttributeValues": {":v": {"S": "x"}},
    }
    dynamo.invalid(
        "UpdateItem",
        request,
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: c",
    )


def test_index_keys_keep_their_type(dynamo: Dynamo) -> None:
    request = {
        "TableName": dynamo.table("indexed"),
        "Key": {"a": {"S": "x"}, "b": {"S": "x"}},
        "UpdateExpression": "SET c = :v",
        "ExpressionAttributeValues": {":v": {"N": "1"}},
    }
    dynamo.invalid(
        "UpdateItem",
        request,
        INVALID + "Type mismatch for Index Key c Expected: S Actual: N IndexName: gsi_all",
        "The update expression attempted to update the secondary index key to unsupported type",
    )


def test_index_keys_are_not_emptied(dynamo: Dynamo) -> None:
    request = {
        "TableName": dynamo.table("indexed"),
        "Key": {"a": {"S": "x"}, "b": {"S": "x"}},
        "UpdateExpression": "SET c = :v",
        "ExpressionAttributeValues": {":v": {"S": ""}},
    }
    dynamo.invalid(
        "UpdateItem",
        request,
        "One or more parameter values are not valid. The update expression attempted to update a secondary index key "
        "to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty string value.",
    )


def test_a_failed_condition_changes_nothing(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    request = update(dynamo, key, "SET b = :b", v_b={"S": "x"}, ConditionExpression="attribute_exists(a)")
    dynamo.refuses("UpdateItem", request, "ConditionalCheckFailedException", "The conditional request failed")
    assert dynamo.get(dynamo.table("hash"), **key) is None


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem"])
def test_the_old_item_comes_with_a_failed_condition_when_asked(dynamo: Dynamo, operation: str) -> None:
    item = dynamo.put(dynamo.table("hash"), a={"S": dynamo.unique()}, n={"N": "1"})
    member = {"Item": item} if operation == "PutItem" else {"Key": {"a": item["a"]}}
    request = {"TableName": dynamo.table("hash"), "ConditionExpression": "attribute_not_exists(a)", **member}
    kind = "ConditionalCheckFailedException"
    assert "Item" not in dynamo.refuses(operation, request, kind).body
    asked = {**request, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    assert dynamo.refuses(operation, asked, kind).body["Item"] == item


def test_no_old_item_comes_where_there_was_none(dynamo: Dynamo) -> None:
    request = {
        "TableName": dynamo.table("hash"),
        "Key": {"a": {"S": dynamo.unique()}},
        "ConditionExpression": "attribute_exists(a)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    assert "Item" not in dynamo.refuses("UpdateItem", request, "ConditionalCheckFailedException").body


def test_updates_and_expressions_do_not_mix(dynamo: Dynamo) -> None:
    request = {
        "TableName": "abc",
        "Key": {"a": {"S": "x"}},
        "AttributeUpdates": {"b": {"Value": {"S": "x"}}},
        "Expected": {"b": {"Exists": False}},
        "UpdateExpression": "REMOVE c",
        "ConditionExpression": "attribute_exists(c)",
    }
    dynamo.invalid(
        "UpdateItem",
        request,
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributeUpdates, Expected} "
        "Expression parameters: {UpdateExpression, ConditionExpression}",
    )


def test_values_need_an_expression(dynamo: Dynamo) -> None:
    request = {"TableName": "abc", "Key": {"a": {"S": "x"}}, "ExpressionAttributeValues": {":v": {"S": "x"}}}
    dynamo.invalid(
        "UpdateItem",
        request,
        "ExpressionAttributeValues can only be specified when using expressions: "
        "UpdateExpression and ConditionExpression are null",
        "ExpressionAttributeValues can only be specified when using expressions",
    )
