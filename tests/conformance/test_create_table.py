"""CreateTable and DescribeTable: what they tell of a new table."""

from __future__ import annotations

import time
from typing import Any

from .dynamo import Dynamo
from .shapes import SHAPES, index, keys, table

Json = dict[str, Any]


def test_a_table_is_described_as_it_was_made(dynamo: Dynamo) -> None:
    name = dynamo.unique("made")
    before = time.time()
    made = dynamo.call(
        "CreateTable", {**table("a", "b", a="S", b="N"), "TableName": name, "BillingMode": "PAY_PER_REQUEST"}
    )
    description = made["TableDescription"]
    assert description["TableStatus"] in {"CREATING", "ACTIVE"}
    described = dynamo.wait_active(name)
    assert described["TableName"] == name
    assert described["KeySchema"] == keys("a", "b")
    assert sorted(described["AttributeDefinitions"], key=lambda d: str(d["AttributeName"])) == [
        {"AttributeName": "a", "AttributeType": "S"},
        {"AttributeName": "b", "AttributeType": "N"},
    ]
    assert described["TableArn"].split(":")[:3] == ["arn", "aws", "dynamodb"]
    assert described["TableArn"].endswith(f":table/{name}")
    assert (described["ItemCount"], described["TableSizeBytes"]) == (0, 0)
    assert abs(described["CreationDateTime"] - before) < 60
    assert len(described["TableId"]) == 36
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    throughput = described["ProvisionedThroughput"]
    assert (throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]) == (0, 0)
    assert throughput["NumberOfDecreasesToday"] == 0


def test_provisioned_throughput(dynamo: Dynamo) -> None:
    request = {**table("a", a="S"), "BillingMode": "PROVISIONED"}
    request["ProvisionedThroughput"] = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 2}
    described = dynamo.wait_active(dynamo.create(request))
    throughput = described["ProvisionedThroughput"]
    assert (throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]) == (3, 2)
    assert described.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED") == "PROVISIONED"


def test_indexes_are_described(dynamo: Dynamo) -> None:
    described = dynamo.wait_active(dynamo.table("indexed"))
    local = {i["IndexName"]: i for i in described["LocalSecondaryIndexes"]}
    assert local.keys() == {"lsi_all", "lsi_keys", "lsi_some"}
    assert local["lsi_some"]["KeySchema"] == keys("a", "d")
    assert local["lsi_some"]["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["e"]}
    assert local["lsi_all"]["IndexArn"] == f"{described['TableArn']}/index/lsi_all"
    assert "IndexStatus" not in local["lsi_all"]
    everywhere = {i["IndexName"]: i for i in described["GlobalSecondaryIndexes"]}
    assert everywhere.keys() == {"gsi_all", "gsi_keys", "gsi_some"}
    assert everywhere["gsi_all"]["IndexStatus"] == "ACTIVE"
    assert everywhere["gsi_all"]["Projection"] == {"ProjectionType": "ALL"}
    assert everywhere["gsi_keys"]["KeySchema"] == keys("c", "d")


def test_deletion_protection_and_class_are_kept(dynamo: Dynamo) -> None:
    request = {
        **SHAPES["hash"],
        "DeletionProtectionEnabled": True,
        "TableClass": "STANDARD_INFREQUENT_ACCESS",
    }
    name = dynamo.create(request)
    described = dynamo.wait_active(name)
    assert described["DeletionProtectionEnabled"] is True
    assert described["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    dynamo.call("UpdateTable", {"TableName": name, "DeletionProtectionEnabled": False})


def test_a_stream_is_described(dynamo: Dynamo) -> None:
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    described = dynamo.wait_active(dynamo.create({**SHAPES["hash"], "StreamSpecification": stream}))
    assert described["StreamSpecification"] == stream
    assert described["LatestStreamArn"] == f"{described['TableArn']}/stream/{described['LatestStreamLabel']}"


def test_tags_come_with_the_table(dynamo: Dynamo) -> None:
    tags = [{"Key": "team", "Value": "red"}]
    arn = dynamo.wait_active(dynamo.create({**SHAPES["hash"], "Tags": tags}))["TableArn"]
    assert dynamo.call("ListTagsOfResource", {"ResourceArn": arn}) == {"Tags": tags}


def test_a_name_is_taken_once(dynamo: Dynamo) -> None:
    name = dynamo.table("hash")
    request = {**SHAPES["hash"], "TableName": name, "BillingMode": "PAY_PER_REQUEST"}
    dynamo.refuses("CreateTable", request, "ResourceInUseException", f"Table already exists: {name}")


def test_an_absent_table_is_named(dynamo: Dynamo) -> None:
    message = "Requested resource not found: Table: no-such-table not found"
    dynamo.refuses("DescribeTable", {"TableName": "no-such-table"}, "ResourceNotFoundException", message)


def test_counts_and_sizes_follow_the_items_in_time(dynamo: Dynamo) -> None:
    described = dynamo.wait_active(dynamo.table("hash"))
    assert described["ItemCount"] >= 0
    assert described["TableSizeBytes"] >= 0


def test_an_index_on_the_tables_own_key(dynamo: Dynamo) -> None:
    request = {
        **table("a", "b", a="S", b="S"),
        "GlobalSecondaryIndexes": [index("by_b", "b", "a", "KEYS_ONLY")],
    }
    name = dynamo.create(request)
    item = dynamo.put(name, a={"S": "1"}, b={"S": "2"}, c={"S": "3"})
    query = {
        "TableName": name,
        "IndexName": "by_b",
        "KeyConditionExpression": "b = :b",
        "ExpressionAttributeValues": {":b": item["b"]},
    }
    assert dynamo.call("Query", query)["Items"] == [{"a": {"S": "1"}, "b": {"S": "2"}}]
