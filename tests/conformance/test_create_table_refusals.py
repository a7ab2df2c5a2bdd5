"""Tables that are refused: constraints first, then throughput, keys, and indexes in turn."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import NOT_NULL, Dynamo, member
from .shapes import attributes, index, keys, table

Json = dict[str, Any]
INVALID = "One or more parameter values were invalid: "
ON_DEMAND = {"BillingMode": "PAY_PER_REQUEST"}
HASH = table("a", a="S")
RANGE = table("a", "b", a="S", b="S")


def creating(dynamo: Dynamo, definition: Json) -> Json:
    return {"TableName": dynamo.unique("refused"), **definition}


def test_what_must_be_there(dynamo: Dynamo) -> None:
    parts = [member("attributeDefinitions", None, NOT_NULL), member("keySchema", None, NOT_NULL)]
    dynamo.violates("CreateTable", creating(dynamo, ON_DEMAND), parts)


@pytest.mark.parametrize(
    ("definition", "parts"),
    [
        ({**HASH, "BillingMode": "hi"}, [member("billingMode", "hi", "Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]")]),
        ({**ON_DEMAND, **HASH, "KeySchema": []}, [member("keySchema", "[]", "Member must have length greater than or equal to 1")]),
        ({**ON_DEMAND, **HASH, "KeySchema": [{}]}, [member("keySchema.1.member.attributeName", None, NOT_NULL), member("keySchema.1.member.keyType", None, NOT_NULL)]),
        ({**ON_DEMAND, **HASH, "KeySchema": [{"AttributeName": "a", "KeyType": "hash"}]}, [member("keySchema.1.member.keyType", "hash", "Member must satisfy enum value set: [HASH, RANGE]")]),
        ({**ON_DEMAND, **HASH, "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "SS"}]}, [member("attributeDefinitions.1.member.attributeType", "SS", "Member must satisfy enum value set: [B, N, S]")]),
        ({**ON_DEMAND, **HASH, "AttributeDefinitions": [{}]}, [member("attributeDefinitions.1.member.attributeName", None, NOT_NULL), member("attributeDefinitions.1.member.attributeType", None, NOT_NULL)]),
        ({**HASH, "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}}, [member("provisionedThroughput.writeCapacityUnits", "0", "Member must have value greater than or equal to 1"), member("provisionedThroughput.readCapacityUnits", "0", "Member must have value greater than or equal to 1")]),
        ({**HASH, "ProvisionedThroughput": {}}, [member("provisionedThroughput.writeCapacityUnits", None, NOT_NULL), member("provisionedThroughput.readCapacityUnits", None, NOT_NULL)]),
        ({**ON_DEMAND, **RANGE, "LocalSecondaryIndexes": [{}]}, [member("localSecondaryIndexes.1.member.projection", None, NOT_NULL), member("localSecondaryIndexes.1.member.indexName", None, NOT_NULL), member("localSecondaryIndexes.1.member.keySchema", None, NOT_NULL)]),
        ({**ON_DEMAND, **HASH, "GlobalSecondaryIndexes": [{}]}, [member("globalSecondaryIndexes.1.member.projection", None, NOT_NULL), member("globalSecondaryIndexes.1.member.indexName", None, NOT_NULL), member("globalSecondaryIndexes.1.member.keySchema", None, NOT_NULL)]),
        ({**ON_DEMAND, **HASH, "GlobalSecondaryIndexes": [{**index("gsi", "a", None, "hi")}]}, [member("globalSecondaryIndexes.1.member.projection.projectionType", "hi", "Member must satisfy enum value set: [ALL, INCLUDE, KEYS_ONLY]")]),
        ({**ON_DEMAND, **HASH, "GlobalSecondaryIndexes": [{**index("g;", "a", None, "ALL")}]}, [member("globalSecondaryIndexes.1.member.indexName", "g;", "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"), member("globalSecondaryIndexes.1.member.indexName", "g;", "Member must have length greater than or equal to 3")]),
    ],
)  # fmt: skip
def test_constraints(dynamo: Dynamo, definition: Json, parts: list[str]) -> None:
    dynamo.violates("CreateTable", creating(dynamo, definition), parts)


SAME = "Both the Hash Key and the Range Key element in the KeySchema have the same name"
FIRST = "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
SECOND = "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"


def schema(*elements: tuple[str, str]) -> list[Json]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in elements]


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (HASH, INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"),
        ({**HASH, "BillingMode": "PROVISIONED"}, INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"),
        ({**ON_DEMAND, **HASH, "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}, INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"),
        ({**HASH, "ProvisionedThroughput": {"ReadCapacityUnits": 1000000000001, "WriteCapacityUnits": 1}}, "Given value 1000000000001 for ReadCapacityUnits is out of bounds"),
        ({**HASH, "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1000000000001}}, "Given value 1000000000001 for WriteCapacityUnits is out of bounds"),
        ({**ON_DEMAND, "KeySchema": keys("a", "b"), "AttributeDefinitions": attributes(a="S")}, "Invalid KeySchema: Some index key attribute have no definition"),
        ({**ON_DEMAND, "KeySchema": keys("a"), "AttributeDefinitions": attributes(b="S")}, INVALID + "Some index key attributes are not defined in AttributeDefinitions. Keys: [a], AttributeDefinitions: [b]"),
        ({**ON_DEMAND, "KeySchema": keys("a", "a"), "AttributeDefinitions": attributes(a="S", b="S")}, SAME),
        ({**ON_DEMAND, **HASH, "KeySchema": schema(("a", "RANGE"))}, FIRST),
        ({**ON_DEMAND, **RANGE, "KeySchema": schema(("a", "HASH"), ("b", "HASH"))}, SECOND),
        ({**ON_DEMAND, **HASH, "AttributeDefinitions": attributes(a="S", b="S")}, INVALID + "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"),
        ({**ON_DEMAND, **RANGE, "LocalSecondaryIndexes": []}, INVALID + "List of LocalSecondaryIndexes is empty"),
        ({**ON_DEMAND, **HASH, "GlobalSecondaryIndexes": []}, INVALID + "List of GlobalSecondaryIndexes is empty"),
        ({**ON_DEMAND, **HASH, "LocalSecondaryIndexes": [index("lsi", "a", "a", "ALL")]}, INVALID + "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"),
        ({**ON_DEMAND, **RANGE, "LocalSecondaryIndexes": [index("lsi", "a", None, "ALL")]}, INVALID + "Index KeySchema does not have a range key for index: lsi"),
        ({**ON_DEMAND, **RANGE, "LocalSecondaryIndexes": [index("lsi", "b", "a", "ALL")]}, INVALID + "Index KeySchema does not have the same leading hash key as table KeySchema for index: lsi. index hash key: b, table hash key: a"),
        ({**ON_DEMAND, **RANGE, "LocalSecondaryIndexes": [{**index("lsi", "a", "b", "ALL"), "Projection": {}}]}, INVALID + "Unknown ProjectionType: null"),
        ({**ON_DEMAND, **RANGE, "LocalSecondaryIndexes": [index("lsi", "a", "b", "ALL", "c")]}, INVALID + "ProjectionType is ALL, but NonKeyAttributes is specified"),
        ({**ON_DEMAND, **HASH, "GlobalSecondaryIndexes": [index("gsi", "a", None, "KEYS_ONLY", "c")]}, INVALID + "ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified"),
        ({**ON_DEMAND, **RANGE, "LocalSecondaryIndexes": [index("lsi", "a", "b", "ALL"), index("lsi", "a", "b", "ALL")]}, INVALID + "Duplicate index name: lsi"),
        ({**ON_DEMAND, **RANGE, "LocalSecondaryIndexes": [index("abc", "a", "b", "ALL")], "GlobalSecondaryIndexes": [index("abc", "a", None, "ALL")]}, INVALID + "Duplicate index name: abc"),
        ({**ON_DEMAND, **RANGE, "LocalSecondaryIndexes": [index(f"lsi{n}", "a", "b", "ALL") for n in range(6)]}, INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5"),
        ({**ON_DEMAND, **HASH, "GlobalSecondaryIndexes": [index(f"gsi{n}", "a", None, "ALL") for n in range(21)]}, INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20"),
        ({**ON_DEMAND, **HASH, "GlobalSecondaryIndexes": [{**index("gsi", "a", None, "ALL"), "KeySchema": schema(("a", "RANGE"))}]}, FIRST),
        ({**ON_DEMAND, **RANGE, "GlobalSecondaryIndexes": [{**index("gsi", "a", "a", "ALL")}]}, SAME),
        ({**ON_DEMAND, **HASH, "GlobalSecondaryIndexes": [{**index("gsi", "a", None, "ALL"), "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}]}, INVALID + "ProvisionedThroughput should not be specified for index: gsi when BillingMode is PAY_PER_REQUEST"),
    ],
)  # fmt: skip
def test_refused(dynamo: Dynamo, definition: Json, message: str) -> None:
    dynamo.invalid("CreateTable", creating(dynamo, definition), message)


def test_a_key_without_definition_in_an_index(dynamo: Dynamo) -> None:
    definition = {**ON_DEMAND, **HASH, "GlobalSecondaryIndexes": [index("gsi", "x", None, "ALL")]}
    message = (
        INVALID
        + "Some index key attributes are not defined in AttributeDefinitions. Keys: [x], AttributeDefinitions: [a]"
    )
    dynamo.invalid("CreateTable", creating(dynamo, definition), message)


def test_a_definition_that_no_key_uses(dynamo: Dynamo) -> None:
    definition = {**ON_DEMAND, **table("a", a="S", c="S", z="S")}
    definition["GlobalSecondaryIndexes"] = [index("gsi", "c", None, "ALL")]
    refusal = dynamo.refuses("CreateTable", creating(dynamo, definition), "ValidationException")
    # Attributes are listed in the order of the service's own hash table.
    assert refusal.message.startswith(
        INVALID + "Some AttributeDefinitions are not used. AttributeDefinitions: ["
    )


def test_a_view_type_without_a_stream(dynamo: Dynamo) -> None:
    stream = {"StreamEnabled": False, "StreamViewType": "NEW_IMAGE"}
    definition = {**ON_DEMAND, **HASH, "StreamSpecification": stream}
    dynamo.refuses("CreateTable", creating(dynamo, definition), "ValidationException")


def test_a_stream_without_a_view_type(dynamo: Dynamo) -> None:
    definition = {**ON_DEMAND, **HASH, "StreamSpecification": {"StreamEnabled": True}}
    dynamo.refuses("CreateTable", creating(dynamo, definition), "ValidationException")


def test_a_refused_table_is_not_there(dynamo: Dynamo) -> None:
    name = dynamo.unique("refused")
    dynamo.refused("CreateTable", {**HASH, "TableName": name})
    dynamo.refuses("DescribeTable", {"TableName": name}, "ResourceNotFoundException")
