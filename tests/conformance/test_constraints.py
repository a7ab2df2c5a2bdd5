"""The constraints on a request's members: checked together, before anything else is looked at."""

from __future__ import annotations

import pytest

from .dynamo import NOT_NULL, Dynamo, member

PATTERN = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
AT_LEAST_3 = "Member must have length greater than or equal to 3"
AT_MOST_255 = "Member must have length less than or equal to 255"
CAPACITY = "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
METRICS = "Member must satisfy enum value set: [SIZE, NONE]"
SELECT = "Member must satisfy enum value set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]"
RETURN_VALUES = "Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"
# The newer layer names neither value nor member here, and misspells the last but one.
RETURN_VALUES_NEWER = "Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
EMPTY_NAME_NEWER = (
    "Value at 'TableName' failed to satisfy constraint: Member must have length greater than or equal to 1"
)

REQUIRED = {"GetItem": "key", "PutItem": "item", "DeleteItem": "key", "UpdateItem": "key"}
SINGLE = [*REQUIRED, "Query", "Scan"]
KEYED = {
    "GetItem": {"Key": {"a": {"S": "x"}}},
    "PutItem": {"Item": {"a": {"S": "x"}}},
    "DeleteItem": {"Key": {"a": {"S": "x"}}},
    "UpdateItem": {"Key": {"a": {"S": "x"}}},
    "Query": {},
    "Scan": {},
}


@pytest.mark.parametrize(("operation", "required"), REQUIRED.items())
def test_table_name_and_key_must_be_there(dynamo: Dynamo, operation: str, required: str) -> None:
    dynamo.violates(operation, {}, [member("tableName", None, NOT_NULL), member(required, None, NOT_NULL)])


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_reads_of_many_need_a_table_name(dynamo: Dynamo, operation: str) -> None:
    dynamo.violates(operation, {}, [member("tableName", None, NOT_NULL)])


@pytest.mark.parametrize("operation", ["BatchGetItem", "BatchWriteItem"])
def test_batches_need_request_items(anyhow: Dynamo, operation: str) -> None:
    # botocore itself reads the names of the tables.
    anyhow.violates(operation, {}, [member("requestItems", None, NOT_NULL)])


@pytest.mark.parametrize("operation", ["TransactGetItems", "TransactWriteItems"])
def test_transactions_need_actions(dynamo: Dynamo, operation: str) -> None:
    dynamo.violates(operation, {}, [member("transactItems", None, NOT_NULL)])


@pytest.mark.parametrize(("operation", "keyed"), KEYED.items())
def test_table_names_have_three_letters_or_more(
    dynamo: Dynamo, operation: str, keyed: dict[str, object]
) -> None:
    dynamo.violates(operation, {"TableName": "ab", **keyed}, [member("tableName", "ab", AT_LEAST_3)])


@pytest.mark.parametrize(("operation", "keyed"), KEYED.items())
def test_table_names_have_at_most_255_letters(
    dynamo: Dynamo, operation: str, keyed: dict[str, object]
) -> None:
    name = "n" * 256
    dynamo.violates(operation, {"TableName": name, **keyed}, [member("tableName", name, AT_MOST_255)])


@pytest.mark.parametrize(("operation", "keyed"), KEYED.items())
def test_table_names_are_of_few_characters(dynamo: Dynamo, operation: str, keyed: dict[str, object]) -> None:
    dynamo.violates(operation, {"TableName": "abc;", **keyed}, [member("tableName", "abc;", PATTERN)])


@pytest.mark.parametrize(("operation", "keyed"), KEYED.items())
def test_empty_table_name(dynamo: Dynamo, operation: str, keyed: dict[str, object]) -> None:
    older = [member("tableName", "", PATTERN), member("tableName", "", AT_LEAST_3)]
    dynamo.violates(operation, {"TableName": "", **keyed}, older, [EMPTY_NAME_NEWER])


@pytest.mark.parametrize(("operation", "keyed"), KEYED.items())
def test_short_and_malformed_table_name(dynamo: Dynamo, operation: str, keyed: dict[str, object]) -> None:
    both = [member("tableName", "a;", PATTERN), member("tableName", "a;", AT_LEAST_3)]
    dynamo.violates(operation, {"TableName": "a;", **keyed}, both, both[1:])


@pytest.mark.parametrize(("operation", "keyed"), KEYED.items())
def test_return_consumed_capacity_is_an_enum(
    dynamo: Dynamo, operation: str, keyed: dict[str, object]
) -> None:
    payload = {"TableName": "abc", "ReturnConsumedCapacity": "hi", **keyed}
    violation = member("returnConsumedCapacity", "hi", CAPACITY)
    # UpdateItem's newer layer gives this one without the list's head.
    if operation == "UpdateItem":
        dynamo.invalid(operation, payload, f"1 validation error detected: {violation}", violation)
    else:
        dynamo.violates(operation, payload, [violation])


@pytest.mark.parametrize("operation", ["PutItem", "DeleteItem", "UpdateItem"])
def test_return_values_is_an_enum(dynamo: Dynamo, operation: str) -> None:
    payload = {"TableName": "abc", "ReturnValues": "hi", **KEYED[operation]}
    dynamo.violates(operation, payload, [member("returnValues", "hi", RETURN_VALUES)], [RETURN_VALUES_NEWER])


@pytest.mark.parametrize("operation", ["PutItem", "DeleteItem", "UpdateItem"])
def test_return_item_collection_metrics_is_an_enum(dynamo: Dynamo, operation: str) -> None:
    payload = {"TableName": "abc", "ReturnItemCollectionMetrics": "hi", **KEYED[operation]}
    dynamo.violates(operation, payload, [member("returnItemCollectionMetrics", "hi", METRICS)])


@pytest.mark.parametrize("operation", ["PutItem", "DeleteItem", "UpdateItem"])
def test_return_values_on_failure_is_an_enum(dynamo: Dynamo, operation: str) -> None:
    payload = {"TableName": "abc", "ReturnValuesOnConditionCheckFailure": "hi", **KEYED[operation]}
    violation = member(
        "returnValuesOnConditionCheckFailure", "hi", "Member must satisfy enum value set: [ALL_OLD, NONE]"
    )
    dynamo.invalid(operation, payload, f"1 validation error detected: {violation}", violation)


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_select_is_an_enum(dynamo: Dynamo, operation: str) -> None:
    dynamo.violates(operation, {"TableName": "abc", "Select": "hi"}, [member("select", "hi", SELECT)])


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_limit_is_at_least_one(dynamo: Dynamo, operation: str) -> None:
    constraint = "Member must have value greater than or equal to 1"
    dynamo.violates(
        operation,
        {"TableName": "abc", "Limit": 0},
        [member("limit", "0", constraint)],
        [f"Value at 'Limit' failed to satisfy constraint: {constraint}"],
    )


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_index_names_are_like_table_names(dynamo: Dynamo, operation: str) -> None:
    payload = {"TableName": "abc", "IndexName": "a;"}
    both = [member("indexName", "a;", PATTERN), member("indexName", "a;", AT_LEAST_3)]
    dynamo.violates(operation, payload, both, both[1:])


@pytest.mark.parametrize("operation", ["GetItem", "Query", "Scan"])
def test_attributes_to_get_is_not_empty(dynamo: Dynamo, operation: str) -> None:
    payload = {"TableName": "abc", "AttributesToGet": [], **KEYED[operation]}
    constraint = "Member must have length greater than or equal to 1"
    dynamo.violates(operation, payload, [member("attributesToGet", "[]", constraint)])


def test_several_violations_are_told_together(dynamo: Dynamo) -> None:
    payload = {"TableName": "abc;", "ReturnConsumedCapacity": "hi", "ReturnItemCollectionMetrics": "ho"}
    dynamo.violates(
        "PutItem",
        payload,
        [
            member("returnConsumedCapacity", "hi", CAPACITY),
            member("tableName", "abc;", PATTERN),
            member("item", None, NOT_NULL),
            member("returnItemCollectionMetrics", "ho", METRICS),
        ],
    )


@pytest.mark.parametrize(
    "operation", ["DescribeTable", "DeleteTable", "UpdateTable", "CreateTable", "DescribeTimeToLive"]
)
def test_control_operations_name_the_missing_parameter(dynamo: Dynamo, operation: str) -> None:
    dynamo.invalid(operation, {}, "The parameter 'TableName' is required but was not present in the request")


@pytest.mark.parametrize("operation", ["DescribeTable", "DeleteTable", "UpdateTable", "DescribeTimeToLive"])
@pytest.mark.parametrize("name", ["", "ab", "n" * 256], ids=["empty", "short", "long"])
def test_control_operations_have_words_of_their_own_for_lengths(
    dynamo: Dynamo, operation: str, name: str
) -> None:
    message = "TableName must be at least 3 characters long and at most 255 characters long"
    dynamo.invalid(operation, {"TableName": name}, message)


@pytest.mark.parametrize("operation", ["DescribeTable", "DeleteTable", "UpdateTable", "DescribeTimeToLive"])
def test_control_operations_check_the_pattern(dynamo: Dynamo, operation: str) -> None:
    dynamo.violates(operation, {"TableName": "abc;"}, [member("tableName", "abc;", PATTERN)])


@pytest.mark.parametrize("operation", SINGLE)
def test_unknown_members_are_ignored(anyhow: Dynamo, operation: str) -> None:
    payload = {"TableName": anyhow.table("hash"), "NoSuchMember": {"x": [1]}, **KEYED[operation]}
    if operation == "Query":
        payload |= {"KeyConditionExpression": "a = :a", "ExpressionAttributeValues": {":a": {"S": "x"}}}
    anyhow.call(operation, payload)
