"""The calls that tell of the service and of backups, and the rules of new tables that few know."""

# A refusal stands on one line beside its request.
# ruff: noqa: E501

from __future__ import annotations

from typing import Any

import pytest

from entrepot.engine import Engine
from entrepot.engine.errors import Refused, Validation
from entrepot.engine.pytest_plugin import MakeEngine

pytestmark = pytest.mark.anyio

INVALID = "One or more parameter values were invalid: "
TABLE: dict[str, Any] = {
    "TableName": "table",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
INDEX: dict[str, Any] = {
    "IndexName": "index",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["z", "a"]},
}
UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}


async def test_limits_and_endpoints(dynamo: Engine) -> None:
    assert await dynamo.call("DescribeLimits", {}) == {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }
    assert await dynamo.call("DescribeEndpoints", {}) == {
        "Endpoints": [{"Address": "dynamodb.us-east-1.amazonaws.com", "CachePeriodInMinutes": 1440}]
    }


def recovery(enabled: bool, **more: int) -> dict[str, Any]:
    specification = {"PointInTimeRecoveryEnabled": enabled, **more}
    return {"TableName": "table", "PointInTimeRecoverySpecification": specification}


async def test_recovery_is_told_from_when_it_was_enabled(dynamo_factory: MakeEngine) -> None:
    now = 1_800_000_000.0
    engine = await dynamo_factory(clock=lambda: now)
    await engine.call("CreateTable", TABLE)

    async def told() -> dict[str, Any]:
        answer = await engine.call("DescribeContinuousBackups", {"TableName": "table"})
        described: dict[str, Any] = answer["ContinuousBackupsDescription"]
        assert described["ContinuousBackupsStatus"] == "ENABLED"
        point: dict[str, Any] = described["PointInTimeRecoveryDescription"]
        return point

    assert await told() == {"PointInTimeRecoveryStatus": "DISABLED"}
    await engine.call("UpdateContinuousBackups", recovery(True))
    enabled = {"PointInTimeRecoveryStatus": "ENABLED", "RecoveryPeriodInDays": 35}
    assert await told() == {**enabled, "EarliestRestorableDateTime": now, "LatestRestorableDateTime": now}
    now += 3600
    assert await told() == {
        **enabled,
        "EarliestRestorableDateTime": now - 3600,
        "LatestRestorableDateTime": now - 300,
    }
    await engine.call("UpdateContinuousBackups", recovery(True, RecoveryPeriodInDays=7))
    assert (await told())["RecoveryPeriodInDays"] == 7
    assert (await told())["EarliestRestorableDateTime"] == now - 3600
    now += 30 * 24 * 3600
    assert (await told())["EarliestRestorableDateTime"] == now - 7 * 24 * 3600
    await engine.call("UpdateContinuousBackups", recovery(False))
    assert await told() == {"PointInTimeRecoveryStatus": "DISABLED"}
    await engine.call("UpdateContinuousBackups", recovery(True))
    assert (await told())["RecoveryPeriodInDays"] == 35


async def test_recovery_has_its_refusals(dynamo: Engine) -> None:
    await dynamo.call("CreateTable", TABLE)
    with pytest.raises(Validation, match="Cannot specify RecoveryPeriodInDays when disabling"):
        await dynamo.call("UpdateContinuousBackups", recovery(False, RecoveryPeriodInDays=7))
    with pytest.raises(Validation, match="Member must have value less than or equal to 35"):
        await dynamo.call("UpdateContinuousBackups", recovery(True, RecoveryPeriodInDays=36))
    with pytest.raises(Refused) as told:
        await dynamo.call("DescribeContinuousBackups", {"TableName": "absent"})
    assert (told.value.type, told.value.message) == ("TableNotFoundException", "Table not found: absent")


async def test_a_new_table_is_described_without_what_is_measured_later(dynamo: Engine) -> None:
    answer = await dynamo.call("CreateTable", {**TABLE, "GlobalSecondaryIndexes": [INDEX]})
    created = answer["TableDescription"]
    assert (created["TableStatus"], created["BillingModeSummary"]) == (
        "CREATING",
        {"BillingMode": "PAY_PER_REQUEST"},
    )
    assert created["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    assert "Backfilling" not in created["GlobalSecondaryIndexes"][0]
    described = (await dynamo.call("DescribeTable", {"TableName": "table"}))["Table"]
    warm = {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000, "Status": "ACTIVE"}
    assert described["WarmThroughput"] == warm
    assert described["GlobalSecondaryIndexes"][0]["WarmThroughput"] == warm
    assert described["GlobalSecondaryIndexes"][0]["Projection"]["NonKeyAttributes"] == ["a", "z"]
    assert (
        described["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] == described["CreationDateTime"]
    )


async def test_attributes_are_described_in_their_order(dynamo: Engine) -> None:
    request = {
        **TABLE,
        "KeySchema": [
            {"AttributeName": "z", "KeyType": "HASH"},
            {"AttributeName": "a", "KeyType": "RANGE"},
        ],
        "AttributeDefinitions": [
            {"AttributeName": "z", "AttributeType": "S"},
            {"AttributeName": "a", "AttributeType": "N"},
        ],
    }
    created = (await dynamo.call("CreateTable", request))["TableDescription"]
    assert [part["AttributeName"] for part in created["AttributeDefinitions"]] == ["a", "z"]
    assert [part["AttributeName"] for part in created["KeySchema"]] == ["z", "a"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"AttributeDefinitions": TABLE["AttributeDefinitions"] * 2}, "Attribute Name is duplicated: pk"),
        ({"GlobalSecondaryIndexes": [{**INDEX, "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "a"]}}]}, INVALID + "Duplicate element in NonKeyAttributes: a"),
        ({"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS, "GlobalSecondaryIndexes": [INDEX]}, INVALID + "ProvisionedThroughput is not specified for index: index"),
        ({"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS, "OnDemandThroughput": {"MaxReadRequestUnits": 1}}, INVALID + "MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED"),
        ({"OnDemandThroughput": {"MaxReadRequestUnits": -1}}, INVALID + "Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range"),
        ({"WarmThroughput": {"ReadUnitsPerSecond": 10}}, INVALID + "Requested ReadUnitsPerSecond for WarmThroughput for table is lower than initial throughput for OnDemand"),
        ({"StreamSpecification": {"StreamEnabled": True}}, INVALID + "Table is being created with a stream enabled, UpdateViewType is required"),
        ({"StreamSpecification": {"StreamEnabled": False, "StreamViewType": "NEW_IMAGE"}}, INVALID + "Table is being created with a stream disabled, UpdateViewType should not be specified"),
        ({"SSESpecification": {"Enabled": False, "KMSMasterKeyId": "x"}}, INVALID + "KMSMasterKeyId can not be specified if Enabled is false"),
        ({"TableClass": "COLD"}, "Invalid table-class parameter provided. Please try again with a valid table-class value: [STANDARD, STANDARD_INFREQUENT_ACCESS]."),
        ({"KeySchema": [None]}, "1 validation error detected: Value null at 'keySchema.1.member' failed to satisfy constraint: Member must not be null"),
    ],
)  # fmt: skip
async def test_new_tables_that_are_refused(dynamo: Engine, more: dict[str, Any], message: str) -> None:
    with pytest.raises(Validation) as told:
        await dynamo.call("CreateTable", {**TABLE, **more})
    assert told.value.message == message


async def test_an_index_that_reuses_a_name_of_the_table_is_no_other_tables(dynamo: Engine) -> None:
    await dynamo.call("CreateTable", {**TABLE, "GlobalSecondaryIndexes": [{**INDEX, "IndexName": "table"}]})
    with pytest.raises(Refused) as told:
        await dynamo.call("CreateTable", TABLE)
    assert (told.value.type, told.value.message) == ("ResourceInUseException", "Table already exists: table")


async def test_expiry_by_another_attribute_needs_to_be_disabled_first(dynamo: Engine) -> None:
    await dynamo.call("CreateTable", TABLE)

    async def setting(enabled: bool, attribute: str) -> None:
        specification = {"Enabled": enabled, "AttributeName": attribute}
        await dynamo.call(
            "UpdateTimeToLive", {"TableName": "table", "TimeToLiveSpecification": specification}
        )

    await setting(True, "one")
    for enabled in (True, False):
        with pytest.raises(
            Validation, match="active on a different AttributeName: current AttributeName is one"
        ):
            await setting(enabled, "two")
    await setting(False, "one")
    with pytest.raises(Validation, match="TimeToLive is already disabled"):
        await setting(False, "one")
    await setting(True, "two")
