"""UpdateTable: billing, streams, protection, and indexes that come and go with their items."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import NOT_NULL, Dynamo, member
from .shapes import SHAPES, attributes, index, table

Json = dict[str, Any]
INVALID = "One or more parameter values were invalid: "
PROVISIONED = {**table("a", a="S"), "BillingMode": "PROVISIONED"}
UNITS = {"ReadCapacityUnits": 2, "WriteCapacityUnits": 2}


def change(dynamo: Dynamo, name: str, **changes: Any) -> Json:
    dynamo.call("UpdateTable", {"TableName": name, **changes})
    return dynamo.wait_active(name)


def indexed(dynamo: Dynamo, name: str, by: str, hash_value: Json) -> list[Json]:
    request = {
        "TableName": name,
        "IndexName": "added",
        "KeyConditionExpression": f"{by} = :v",
        "ExpressionAttributeValues": {":v": hash_value},
    }
    found: list[Json] = dynamo.call("Query", request)["Items"]
    return found


def test_an_added_index_holds_the_items_of_before(dynamo: Dynamo) -> None:
    name = dynamo.create(SHAPES["hash"])
    group = {"S": "g"}
    for place in range(5):
        dynamo.put(name, a={"S": str(place)}, g=group, n={"N": str(place)}, v={"S": "left out"})
    dynamo.put(name, a={"S": "without"}, n={"N": "9"})
    dynamo.put(name, a={"S": "wrong type"}, g={"N": "1"}, n={"N": "9"})
    described = change(
        dynamo,
        name,
        AttributeDefinitions=attributes(a="S", g="S", n="N"),
        GlobalSecondaryIndexUpdates=[{"Create": index("added", "g", "n", "KEYS_ONLY")}],
    )
    assert [i["IndexName"] for i in described["GlobalSecondaryIndexes"]] == ["added"]
    assert sorted(d["AttributeName"] for d in described["AttributeDefinitions"]) == ["a", "g", "n"]
    found = indexed(dynamo, name, "g", group)
    assert [item["n"]["N"] for item in found] == ["0", "1", "2", "3", "4"]
    assert found[0].keys() == {"a", "g", "n"}
    dynamo.put(name, a={"S": "later"}, g=group, n={"N": "7"})
    assert len(indexed(dynamo, name, "g", group)) == 6


def test_a_removed_index_is_gone(dynamo: Dynamo) -> None:
    definition = {**table("a", a="S", g="S"), "GlobalSecondaryIndexes": [index("added", "g", None, "ALL")]}
    name = dynamo.create(definition)
    dynamo.put(name, a={"S": "1"}, g={"S": "g"})
    described = change(dynamo, name, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "added"}}])
    assert "GlobalSecondaryIndexes" not in described
    request = {
        "TableName": name,
        "IndexName": "added",
        "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": "g"}},
    }
    dynamo.invalid("Query", request, "The table does not have the specified index: added")
    # What was its key is an attribute like any other now.
    dynamo.put(name, a={"S": "2"}, g={"N": "1"})


def test_billing_changes_both_ways(dynamo: Dynamo) -> None:
    name = dynamo.create({**PROVISIONED, "ProvisionedThroughput": UNITS})
    described = change(dynamo, name, BillingMode="PAY_PER_REQUEST")
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert described["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    described = change(dynamo, name, BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    assert described["BillingModeSummary"]["BillingMode"] == "PROVISIONED"
    assert described["ProvisionedThroughput"]["ReadCapacityUnits"] == 2


def test_throughput_changes(dynamo: Dynamo) -> None:
    name = dynamo.create({**PROVISIONED, "ProvisionedThroughput": UNITS})
    described = change(dynamo, name, ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 1})
    throughput = described["ProvisionedThroughput"]
    assert (throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]) == (5, 1)
    assert throughput["LastIncreaseDateTime"] > 0


def test_throughput_that_does_not_change_is_refused(dynamo: Dynamo) -> None:
    name = dynamo.create({**PROVISIONED, "ProvisionedThroughput": UNITS})
    dynamo.invalid(
        "UpdateTable",
        {"TableName": name, "ProvisionedThroughput": UNITS},
        "The provisioned throughput for the table will not change. The requested value equals the current value. "
        "Current ReadCapacityUnits provisioned for the table: 2. Requested ReadCapacityUnits: 2. "
        "Current WriteCapacityUnits provisioned for the table: 2. Requested WriteCapacityUnits: 2. "
        "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.",
    )


def test_a_stream_is_turned_on_and_off(dynamo: Dynamo) -> None:
    name = dynamo.create(SHAPES["hash"])
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    described = change(dynamo, name, StreamSpecification=stream)
    assert described["StreamSpecification"] == stream
    assert described["LatestStreamArn"].startswith(described["TableArn"] + "/stream/")
    dynamo.refuses("UpdateTable", {"TableName": name, "StreamSpecification": stream}, "ValidationException")
    described = change(dynamo, name, StreamSpecification={"StreamEnabled": False})
    assert not described.get("StreamSpecification", {}).get("StreamEnabled", False)


def test_deletion_protection(dynamo: Dynamo) -> None:
    name = dynamo.create(SHAPES["hash"])
    assert change(dynamo, name, DeletionProtectionEnabled=True)["DeletionProtectionEnabled"] is True
    dynamo.invalid(
        "DeleteTable",
        {"TableName": name},
        "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.",
    )
    change(dynamo, name, DeletionProtectionEnabled=False)
    dynamo.call("DeleteTable", {"TableName": name})
    dynamo.wait_gone(name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"BillingMode": "PROVISIONED"}, INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED"),
        ({"ProvisionedThroughput": {"ReadCapacityUnits": 1000000000001, "WriteCapacityUnits": 1}}, "Given value 1000000000001 for ReadCapacityUnits is out of bounds"),
        ({"ProvisionedThroughput": UNITS}, INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"),
        ({"GlobalSecondaryIndexUpdates": [{}]}, INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null"),
        ({"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "abc"}}, {"Delete": {"IndexName": "abc"}}]}, INVALID + "Only one global secondary index update per index is allowed simultaneously. Index: abc"),
    ],
)  # fmt: skip
def test_refused(dynamo: Dynamo, changes: Json, message: str) -> None:
    dynamo.invalid("UpdateTable", {"TableName": dynamo.table("hash"), **changes}, message)


NOTHING = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or "
    "SSESpecification or ReplicaUpdates is required"
)
# The list has grown with the service.
NOTHING_NEWER = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, "
    "SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, "
    "DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required"
)


@pytest.mark.parametrize("changes", [{}, {"GlobalSecondaryIndexUpdates": []}])
def test_something_must_change(dynamo: Dynamo, changes: Json) -> None:
    request = {"TableName": dynamo.table("hash"), **changes}
    dynamo.invalid("UpdateTable", request, NOTHING, NOTHING_NEWER)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"BillingMode": "hi"}, [member("billingMode", "hi", "Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]")]),
        ({"ProvisionedThroughput": {}}, [member("provisionedThroughput.writeCapacityUnits", None, NOT_NULL), member("provisionedThroughput.readCapacityUnits", None, NOT_NULL)]),
        ({"GlobalSecondaryIndexUpdates": [{"Delete": {}}]}, [member("globalSecondaryIndexUpdates.1.member.delete.indexName", None, NOT_NULL)]),
    ],
)  # fmt: skip
def test_constraints(dynamo: Dynamo, changes: Json, parts: list[str]) -> None:
    dynamo.violates("UpdateTable", {"TableName": dynamo.table("hash"), **changes}, parts)


def test_an_index_that_is_not_there_cannot_go(dynamo: Dynamo) -> None:
    request = {
        "TableName": dynamo.table("hash"),
        "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "nope"}}],
    }
    dynamo.refuses("UpdateTable", request, "ResourceNotFoundException")


def test_an_index_is_added_once(dynamo: Dynamo) -> None:
    create = {"Create": index("gsi_all", "c", None, "ALL")}
    request = {
        "TableName": dynamo.table("indexed"),
        "AttributeDefinitions": attributes(c="S"),
        "GlobalSecondaryIndexUpdates": [create],
    }
    dynamo.refuses("UpdateTable", request, "ValidationException")


def test_a_new_index_needs_its_definitions(dynamo: Dynamo) -> None:
    create = {"Create": index("added", "x", None, "ALL")}
    request = {"TableName": dynamo.table("hash"), "GlobalSecondaryIndexUpdates": [create]}
    dynamo.refuses("UpdateTable", request, "ValidationException")


def test_one_index_at_a_time(dynamo: Dynamo) -> None:
    creates = [{"Create": index(f"added{n}", "x", None, "ALL")} for n in range(2)]
    request = {
        "TableName": dynamo.table("hash"),
        "AttributeDefinitions": attributes(a="S", x="S"),
        "GlobalSecondaryIndexUpdates": creates,
    }
    message = (
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
    )
    dynamo.refuses("UpdateTable", request, "LimitExceededException", message)


def test_an_absent_table_is_named(dynamo: Dynamo) -> None:
    request = {"TableName": "no-such-table", "BillingMode": "PAY_PER_REQUEST"}
    message = "Requested resource not found: Table: no-such-table not found"
    dynamo.refuses("UpdateTable", request, "ResourceNotFoundException", message)
