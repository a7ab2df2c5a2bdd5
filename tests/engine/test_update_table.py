"""UpdateTable: what it changes, what it answers meanwhile, and the rules that it keeps."""

# A refusal stands on one line beside its request.
# ruff: noqa: E501

from __future__ import annotations

from typing import Any

import pytest

from entrepot.engine import Engine
from entrepot.engine.errors import DynamoError, Refused, Validation
from entrepot.engine.pytest_plugin import MakeEngine

pytestmark = pytest.mark.anyio

INVALID = "One or more parameter values were invalid: "
UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
STREAM = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}


def keys(*names: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)
    ]


def definitions(**kinds: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in kinds.items()]


def index(name: str, *key: str, **more: Any) -> dict[str, Any]:
    return {"IndexName": name, "KeySchema": keys(*key), "Projection": {"ProjectionType": "ALL"}, **more}


async def create(engine: Engine, **more: Any) -> None:
    request = {
        "TableName": "table",
        "KeySchema": keys("a", "b"),
        "AttributeDefinitions": definitions(a="S", b="S", g="S"),
        "LocalSecondaryIndexes": [index("local", "a", "g")],
        "GlobalSecondaryIndexes": [index("global", "g")],
        "BillingMode": "PAY_PER_REQUEST",
        **more,
    }
    await engine.call("CreateTable", request)


async def create_provisioned(engine: Engine) -> None:
    await create(
        engine,
        BillingMode="PROVISIONED",
        ProvisionedThroughput=UNITS,
        GlobalSecondaryIndexes=[index("global", "g", ProvisionedThroughput=UNITS)],
    )


async def update(engine: Engine, **changes: Any) -> dict[str, Any]:
    answer = await engine.call("UpdateTable", {"TableName": "table", **changes})
    described: dict[str, Any] = answer["TableDescription"]
    return described


async def described(engine: Engine) -> dict[str, Any]:
    answer = await engine.call("DescribeTable", {"TableName": "table"})
    table: dict[str, Any] = answer["Table"]
    assert table["TableStatus"] == "ACTIVE"
    return table


async def refused(engine: Engine, **changes: Any) -> DynamoError:
    with pytest.raises(DynamoError) as told:
        await update(engine, **changes)
    return told.value


async def test_units_change_after_the_answer(dynamo_factory: MakeEngine) -> None:
    now = 1_800_000_000.0
    engine = await dynamo_factory(clock=lambda: now)
    await create_provisioned(engine)
    answer = await update(engine, ProvisionedThroughput={"ReadCapacityUnits": 9, "WriteCapacityUnits": 1})
    assert answer["TableStatus"] == "UPDATING"
    assert answer["ProvisionedThroughput"] == {
        **UNITS,
        "NumberOfDecreasesToday": 0,
        "LastIncreaseDateTime": now,
        "LastDecreaseDateTime": now,
    }
    table = await described(engine)
    assert table["ProvisionedThroughput"] == {
        "ReadCapacityUnits": 9,
        "WriteCapacityUnits": 1,
        "NumberOfDecreasesToday": 1,
        "LastIncreaseDateTime": now,
        "LastDecreaseDateTime": now,
    }
    # What it could do once, it stays warm for.
    assert table["WarmThroughput"] == {"ReadUnitsPerSecond": 9, "WriteUnitsPerSecond": 5, "Status": "ACTIVE"}
    now += 24 * 3600
    assert (await described(engine))["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0


async def test_units_of_an_index_change(dynamo: Engine) -> None:
    await create_provisioned(dynamo)
    more = {"ReadCapacityUnits": 6, "WriteCapacityUnits": 7}
    change = [{"Update": {"IndexName": "global", "ProvisionedThroughput": more}}]
    answer = await update(dynamo, GlobalSecondaryIndexUpdates=change)
    assert answer["TableStatus"] == "ACTIVE"
    assert answer["GlobalSecondaryIndexes"][0]["IndexStatus"] == "UPDATING"
    assert answer["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    kept = (await described(dynamo))["GlobalSecondaryIndexes"][0]
    assert kept["IndexStatus"] == "ACTIVE"
    assert kept["ProvisionedThroughput"].items() >= more.items()
    error = await refused(dynamo, GlobalSecondaryIndexUpdates=change)
    assert error.message.startswith("The provisioned throughput for the index global will not change.")
    assert "Current ReadCapacityUnits provisioned for index global: 6." in error.message


async def test_billing_goes_both_ways(dynamo: Engine) -> None:
    await create_provisioned(dynamo)
    answer = await update(dynamo, BillingMode="PAY_PER_REQUEST")
    assert (answer["TableStatus"], answer["GlobalSecondaryIndexes"][0]["IndexStatus"]) == (
        "UPDATING",
        "UPDATING",
    )
    table = await described(dynamo)
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    error = await refused(dynamo, BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    assert error.message == f"{INVALID}ProvisionedThroughput must be specified for index: global"
    await update(
        dynamo,
        BillingMode="PROVISIONED",
        ProvisionedThroughput=UNITS,
        GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "global", "ProvisionedThroughput": UNITS}}],
    )
    table = await described(dynamo)
    assert table["ProvisionedThroughput"]["WriteCapacityUnits"] == 5
    assert table["BillingModeSummary"]["BillingMode"] == "PROVISIONED"
    assert table["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] > 0


async def test_limits_of_an_on_demand_table(dynamo: Engine) -> None:
    await create(dynamo)
    limits = {"MaxReadRequestUnits": 10, "MaxWriteRequestUnits": 20}
    assert (await update(dynamo, OnDemandThroughput=limits))["TableStatus"] == "ACTIVE"
    assert (await described(dynamo))["OnDemandThroughput"] == limits
    await update(dynamo, OnDemandThroughput={"MaxReadRequestUnits": -1})
    assert (await described(dynamo))["OnDemandThroughput"] == {"MaxWriteRequestUnits": 20}
    change = {"IndexName": "global", "OnDemandThroughput": {"MaxReadRequestUnits": 3}}
    await update(dynamo, GlobalSecondaryIndexUpdates=[{"Update": change}])
    kept = (await described(dynamo))["GlobalSecondaryIndexes"][0]
    assert kept["OnDemandThroughput"] == {"MaxReadRequestUnits": 3}
    error = await refused(dynamo, OnDemandThroughput={"MaxReadRequestUnits": 0})
    assert error.message == (
        f"{INVALID}Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range"
    )


async def test_warmth_only_grows(dynamo: Engine) -> None:
    await create(dynamo)
    await update(dynamo, WarmThroughput={"ReadUnitsPerSecond": 13_000})
    warm = (await described(dynamo))["WarmThroughput"]
    assert (warm["ReadUnitsPerSecond"], warm["WriteUnitsPerSecond"]) == (13_000, 4_000)
    error = await refused(dynamo, WarmThroughput={"ReadUnitsPerSecond": 12_000})
    assert error.message.endswith(
        "is lower than current WarmThroughput, decreasing WarmThroughput is not supported"
    )


async def test_a_stream_is_opened_closed_and_opened_anew(dynamo_factory: MakeEngine) -> None:
    now = 1_800_000_000.0
    engine = await dynamo_factory(clock=lambda: now)
    await create(engine)
    answer = await update(engine, StreamSpecification=STREAM)
    assert (answer["TableStatus"], answer["StreamSpecification"]) == ("UPDATING", STREAM)
    first = (await described(engine))["LatestStreamArn"]
    error = await refused(engine, StreamSpecification=STREAM)
    assert error.message == "Table already has an enabled stream: TableName: table"
    await update(engine, StreamSpecification={"StreamEnabled": False})
    table = await described(engine)
    assert "StreamSpecification" not in table
    assert table["LatestStreamArn"] == first
    error = await refused(engine, StreamSpecification={"StreamEnabled": False})
    assert error.message == "Table has no stream to disable: TableName: table"
    now += 1
    await update(engine, StreamSpecification=STREAM)
    assert (await described(engine))["LatestStreamArn"] != first


async def test_encryption_is_described_while_it_is_on(dynamo: Engine) -> None:
    await create(dynamo)
    assert "SSEDescription" not in await described(dynamo)
    error = await refused(dynamo, SSESpecification={"Enabled": False})
    assert error.message == f"{INVALID}Table is already encrypted by default"
    key = "arn:aws:kms:us-east-1:000000000000:key/1234"
    wanted = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": key}
    answer = await update(dynamo, SSESpecification=wanted)
    assert (answer["TableStatus"], answer["SSEDescription"]["Status"]) == ("ACTIVE", "UPDATING")
    assert (await described(dynamo))["SSEDescription"] == {
        "Status": "ENABLED",
        "SSEType": "KMS",
        "KMSMasterKeyArn": key,
    }
    assert (
        "already encrypted with given KMSMasterKeyId"
        in (await refused(dynamo, SSESpecification=wanted)).message
    )
    await update(dynamo, SSESpecification={"Enabled": False})
    assert "SSEDescription" not in await described(dynamo)


async def test_class_and_protection(dynamo: Engine) -> None:
    await create(dynamo)
    answer = await update(dynamo, TableClass="STANDARD_INFREQUENT_ACCESS")
    assert (answer["TableStatus"], "TableClassSummary" in answer) == ("UPDATING", False)
    assert (await described(dynamo))["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    answer = await update(dynamo, DeletionProtectionEnabled=True)
    assert (answer["TableStatus"], answer["DeletionProtectionEnabled"]) == ("ACTIVE", True)
    with pytest.raises(Validation, match=r"currently protected against deletion\. Disable"):
        await dynamo.call("DeleteTable", {"TableName": "table"})
    await update(dynamo, DeletionProtectionEnabled=False)
    await dynamo.call("DeleteTable", {"TableName": "table"})


ADD = {"Create": index("added", "c")}
TABLE_CLASS = (
    "Invalid table-class parameter provided. Please try again with a valid table-class value: [STANDARD, "
    "STANDARD_INFREQUENT_ACCESS]."
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"TableClass": "COLD"}, TABLE_CLASS),
        ({"SSESpecification": {"Enabled": True}, "DeletionProtectionEnabled": True}, INVALID + "Server-Side Encryption modification must be the only operation in the request"),
        ({"TableClass": "STANDARD", "DeletionProtectionEnabled": True}, INVALID + "TableClass modification must be the only operation in the request"),
        ({"DeletionProtectionEnabled": True, "BillingMode": "PAY_PER_REQUEST"}, INVALID + "DeletionProtection modification must be the only operation in the request"),
        ({"WarmThroughput": {"ReadUnitsPerSecond": 20_000}, "BillingMode": "PAY_PER_REQUEST"}, INVALID + "WarmThroughput must be the only operation in the request"),
        ({"OnDemandThroughput": {"MaxReadRequestUnits": 1}, "StreamSpecification": STREAM}, INVALID + "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request"),
        ({"ProvisionedThroughput": UNITS, "StreamSpecification": STREAM}, INVALID + "You cannot modify stream status while updating table IOPS"),
        ({"ProvisionedThroughput": UNITS, "GlobalSecondaryIndexUpdates": [ADD]}, INVALID + "You cannot create or delete index while updating table IOPS"),
        ({"StreamSpecification": STREAM, "GlobalSecondaryIndexUpdates": [ADD]}, INVALID + "You cannot create or delete index while changing stream status"),
        ({"BillingMode": "PAY_PER_REQUEST", "GlobalSecondaryIndexUpdates": []}, INVALID + "List of GlobalSecondaryIndexUpdates is empty"),
        ({"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "global"}, **ADD}]}, INVALID + "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object"),
        ({"StreamSpecification": {"StreamEnabled": True}}, INVALID + "If stream is being enabled then UpdateViewType is required"),
        ({"StreamSpecification": {**STREAM, "StreamEnabled": False}}, INVALID + "If stream is being disabled, then UpdateViewType must not be specified"),
        ({"SSESpecification": {"Enabled": False, "SSEType": "KMS"}}, INVALID + "SSEType can not be specified if Enabled is false"),
        ({"SSESpecification": {"Enabled": True, "SSEType": "AES256"}}, INVALID + "SSEType AES256 is not supported"),
        ({"SSESpecification": {"Enabled": True, "KMSMasterKeyId": "x"}}, INVALID + "SSEType KMS is required if KMSMasterKeyId is specified"),
        ({"GlobalSecondaryIndexUpdates": [ADD]}, INVALID + "AttributeDefinitions is not specified for index: added"),
        ({"GlobalSecondaryIndexUpdates": [ADD], "AttributeDefinitions": []}, "Invalid KeySchema: Some index key attribute have no definition"),
        ({"GlobalSecondaryIndexUpdates": [ADD], "AttributeDefinitions": definitions(x="S")}, INVALID + "Some index key attributes are not defined in AttributeDefinitions. Keys: [c], AttributeDefinitions: [x]"),
        ({"GlobalSecondaryIndexUpdates": [{"Create": index("global", "x")}]}, "Attempting to create an index which already exists"),
        ({"GlobalSecondaryIndexUpdates": [{"Create": index("local", "x")}]}, "Attempting to create an index which already exists"),
        ({"GlobalSecondaryIndexUpdates": [{"Create": index("added", "b", ProvisionedThroughput=UNITS)}], "AttributeDefinitions": definitions(b="S")}, INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: added when BillingMode is PAY_PER_REQUEST"),
        ({"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "local"}}]}, "Cannot delete an index that is not a GlobalSecondaryIndex: local"),
        ({"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "local"}}]}, "Cannot update an index that is not a GlobalSecondaryIndex: local"),
        ({"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "global", "ProvisionedThroughput": UNITS}}]}, INVALID + "The only Updates for index: global when TableThroughputMode is PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput"),
    ],
)  # fmt: skip
async def test_what_is_refused(dynamo: Engine, changes: dict[str, Any], message: str) -> None:
    await create(dynamo)
    before = await described(dynamo)
    error = await refused(dynamo, **changes)
    assert (error.type, error.message) == ("ValidationException", message)
    assert await described(dynamo) == before


async def test_an_attribute_has_one_type_in_all_keys(dynamo: Engine) -> None:
    await create(dynamo)
    change = [{"Create": index("added", "g")}]
    error = await refused(dynamo, GlobalSecondaryIndexUpdates=change, AttributeDefinitions=definitions(g="N"))
    assert error.type == "ValidationException"
    # Definitions that no new key needs are not looked at.
    await update(
        dynamo,
        GlobalSecondaryIndexUpdates=[{"Create": index("added", "c")}],
        AttributeDefinitions=definitions(a="N", c="S", unused="B"),
    )
    assert (await described(dynamo))["AttributeDefinitions"] == definitions(a="S", b="S", c="S", g="S")


async def test_an_index_of_a_provisioned_table_needs_units(dynamo: Engine) -> None:
    await create_provisioned(dynamo)
    change = {"GlobalSecondaryIndexUpdates": [ADD], "AttributeDefinitions": definitions(c="S")}
    error = await refused(dynamo, **change)
    assert (
        error.message
        == f"{INVALID}Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: added"
    )
    too_many = {"ReadCapacityUnits": 1_000_000_000_001, "WriteCapacityUnits": 1}
    change = {
        "GlobalSecondaryIndexUpdates": [
            {"Update": {"IndexName": "global", "ProvisionedThroughput": too_many}}
        ]
    }
    assert (await refused(dynamo, **change)).message.endswith("Action Blocked: IndexUpdate")


async def test_an_unknown_index_is_named(dynamo: Engine) -> None:
    await create(dynamo)
    for action in ("Delete", "Update"):
        error = await refused(dynamo, GlobalSecondaryIndexUpdates=[{action: {"IndexName": "nope"}}])
        assert isinstance(error, Refused)
        assert error.type == "ResourceNotFoundException"
        assert error.message == "Requested resource not found: Index nope for table table"


async def test_twenty_indexes_are_all(dynamo: Engine) -> None:
    await create(dynamo, GlobalSecondaryIndexes=[index(f"global{n}", "g") for n in range(20)])
    error = await refused(
        dynamo,
        GlobalSecondaryIndexUpdates=[{"Create": index("one-more", "g")}],
        AttributeDefinitions=definitions(g="S"),
    )
    assert (error.type, error.message) == (
        "LimitExceededException",
        "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of 20",
    )


async def test_a_table_is_named_by_its_arn_too(dynamo: Engine) -> None:
    await create(dynamo)
    arn = (await described(dynamo))["TableArn"]
    answer = await dynamo.call("UpdateTable", {"TableName": arn, "DeletionProtectionEnabled": True})
    assert answer["TableDescription"]["TableName"] == "table"
    assert (await dynamo.call("DescribeTable", {"TableName": arn}))["Table"]["DeletionProtectionEnabled"]
    with pytest.raises(Validation, match="failed to satisfy constraint"):
        await dynamo.call("DescribeTable", {"TableName": "arn:aws:s3:::bucket"})
