"""What the service tells of itself: limits, endpoints, continuous backups."""

from __future__ import annotations

from .dynamo import NOT_NULL, Dynamo, member
from .shapes import SHAPES


def test_limits(dynamo: Dynamo) -> None:
    limits = dynamo.call("DescribeLimits", {})
    assert limits.keys() == {
        "AccountMaxReadCapacityUnits",
        "AccountMaxWriteCapacityUnits",
        "TableMaxReadCapacityUnits",
        "TableMaxWriteCapacityUnits",
    }
    assert all(value >= 10_000 for value in limits.values())


def test_endpoints(dynamo: Dynamo) -> None:
    endpoints = dynamo.call("DescribeEndpoints", {})["Endpoints"]
    assert len(endpoints) == 1
    assert endpoints[0]["Address"]
    assert endpoints[0]["CachePeriodInMinutes"] == 1440


def test_backups_are_on_and_recovery_off_at_first(dynamo: Dynamo) -> None:
    answer = dynamo.call("DescribeContinuousBackups", {"TableName": dynamo.table("hash")})
    described = answer["ContinuousBackupsDescription"]
    assert described["ContinuousBackupsStatus"] == "ENABLED"
    assert described["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "DISABLED"


def test_recovery_is_turned_on_and_off(dynamo: Dynamo) -> None:
    name = dynamo.create(SHAPES["hash"])
    request = {"TableName": name, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
    described = dynamo.call("UpdateContinuousBackups", request)["ContinuousBackupsDescription"]
    recovery = described["PointInTimeRecoveryDescription"]
    assert recovery["PointInTimeRecoveryStatus"] == "ENABLED"
    assert recovery["EarliestRestorableDateTime"] <= recovery["LatestRestorableDateTime"]
    described = dynamo.call("DescribeContinuousBackups", {"TableName": name})["ContinuousBackupsDescription"]
    assert described["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    request["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": False}
    described = dynamo.call("UpdateContinuousBackups", request)["ContinuousBackupsDescription"]
    assert described["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "DISABLED"


def test_an_absent_table(dynamo: Dynamo) -> None:
    kind, message = "TableNotFoundException", "Table not found: no-such-table"
    dynamo.refuses("DescribeContinuousBackups", {"TableName": "no-such-table"}, kind, message)
    request = {
        "TableName": "no-such-table",
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
    }
    dynamo.refuses("UpdateContinuousBackups", request, kind, message)


def test_constraints(dynamo: Dynamo) -> None:
    parts = [member("pointInTimeRecoverySpecification", None, NOT_NULL)]
    dynamo.violates("UpdateContinuousBackups", {"TableName": dynamo.table("hash")}, parts)
