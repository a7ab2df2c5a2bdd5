"""UpdateTimeToLive and DescribeTimeToLive."""

from __future__ import annotations

from typing import Any

from .dynamo import NOT_NULL, Dynamo, member
from .shapes import SHAPES


def setting(name: str, enabled: bool, attribute: str) -> dict[str, Any]:
    return {"TableName": name, "TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": attribute}}


def test_a_table_begins_without(dynamo: Dynamo) -> None:
    answer = dynamo.call("DescribeTimeToLive", {"TableName": dynamo.table("range")})
    assert answer == {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}


def test_it_is_turned_on_and_off(dynamo: Dynamo) -> None:
    name = dynamo.create(SHAPES["hash"])
    on = {"Enabled": True, "AttributeName": "expires"}
    assert dynamo.call("UpdateTimeToLive", setting(name, True, "expires")) == {"TimeToLiveSpecification": on}
    described = dynamo.call("DescribeTimeToLive", {"TableName": name})["TimeToLiveDescription"]
    assert described["AttributeName"] == "expires"
    assert described["TimeToLiveStatus"] in {"ENABLING", "ENABLED"}
    off = {"Enabled": False, "AttributeName": "expires"}
    assert dynamo.call("UpdateTimeToLive", setting(name, False, "expires")) == {
        "TimeToLiveSpecification": off
    }
    described = dynamo.call("DescribeTimeToLive", {"TableName": name})["TimeToLiveDescription"]
    assert described["TimeToLiveStatus"] in {"DISABLING", "DISABLED"}


def test_on_is_on_already(dynamo: Dynamo) -> None:
    name = dynamo.create(SHAPES["hash"])
    dynamo.call("UpdateTimeToLive", setting(name, True, "expires"))
    dynamo.invalid("UpdateTimeToLive", setting(name, True, "expires"), "TimeToLive is already enabled")
    dynamo.refuses("UpdateTimeToLive", setting(name, True, "other"), "ValidationException")


def test_off_is_off_already(dynamo: Dynamo) -> None:
    dynamo.invalid(
        "UpdateTimeToLive", setting(dynamo.table("hash"), False, "x"), "TimeToLive is already disabled"
    )


def test_constraints(dynamo: Dynamo) -> None:
    path = "timeToLiveSpecification"
    request: dict[str, Any] = {"TableName": dynamo.table("hash"), "TimeToLiveSpecification": {}}
    parts = [member(f"{path}.attributeName", None, NOT_NULL), member(f"{path}.enabled", None, NOT_NULL)]
    dynamo.violates("UpdateTimeToLive", request, parts)
    request["TimeToLiveSpecification"] = {"Enabled": True, "AttributeName": ""}
    length = "Member must have length greater than or equal to 1"
    dynamo.violates("UpdateTimeToLive", request, [member(f"{path}.attributeName", "", length)])


def test_an_absent_table_is_named(dynamo: Dynamo) -> None:
    message = "Requested resource not found: Table: no-such-table not found"
    dynamo.refuses("DescribeTimeToLive", {"TableName": "no-such-table"}, "ResourceNotFoundException", message)
    dynamo.refuses(
        "UpdateTimeToLive", setting("no-such-table", True, "x"), "ResourceNotFoundException", message
    )


def test_what_has_not_expired_stays(dynamo: Dynamo) -> None:
    name = dynamo.create(SHAPES["hash"])
    dynamo.call("UpdateTimeToLive", setting(name, True, "expires"))
    later = dynamo.put(name, a={"S": "later"}, expires={"N": "99999999999"})
    text = dynamo.put(name, a={"S": "text"}, expires={"S": "1"})
    assert dynamo.get(name, a=later["a"]) == later
    assert dynamo.get(name, a=text["a"]) == text
