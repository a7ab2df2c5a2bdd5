"""Numbers: their normal form, their 38 digits, their range, and arithmetic that stays exact."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import Dynamo

NINES = "9" * 38


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("0.0", "0"),
        ("000", "0"),
        ("1", "1"),
        ("-1", "-1"),
        ("+1", "1"),
        ("007", "7"),
        ("1.0", "1"),
        ("1.50", "1.5"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("5.", "5"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("1e+3", "1000"),
        ("1.5e2", "150"),
        ("123e-2", "1.23"),
        ("1e-5", "0.00001"),
        ("100", "100"),
        ("12345678901234567890", "12345678901234567890"),
        ("0.1", "0.1"),
        ("3.14159265358979323846264338327950288", "3.14159265358979323846264338327950288"),
        (NINES, NINES),
        ("-" + NINES, "-" + NINES),
        ("0." + NINES, "0." + NINES),
        ("1" + "0" * 60, "1" + "0" * 60),
        ("1e125", "1" + "0" * 125),
        ("9." + "9" * 37 + "e125", "9" * 38 + "0" * 88),
        ("-9." + "9" * 37 + "e125", "-" + "9" * 38 + "0" * 88),
        ("1e-130", "0." + "0" * 129 + "1"),
        ("-1e-130", "-0." + "0" * 129 + "1"),
    ],
)
def test_normal_form(dynamo: Dynamo, sent: str, kept: str) -> None:
    assert dynamo.stored({"N": sent}) == {"N": kept}


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("x", "The parameter cannot be converted to a numeric value: x"),
        ("1x", "The parameter cannot be converted to a numeric value: 1x"),
        ("1,5", "The parameter cannot be converted to a numeric value: 1,5"),
        ("--1", "The parameter cannot be converted to a numeric value: --1"),
        ("1 2", "The parameter cannot be converted to a numeric value: 1 2"),
        ("0x10", "The parameter cannot be converted to a numeric value: 0x10"),
        ("NaN", "The parameter cannot be converted to a numeric value: NaN"),
        ("Infinity", "The parameter cannot be converted to a numeric value: Infinity"),
        ("e5", "The parameter cannot be converted to a numeric value: e5"),
        (".", "The parameter cannot be converted to a numeric value: ."),
        ("1e126", "Number overflow. Attempting to store a number with magnitude larger than supported range"),
        (
            "-1e126",
            "Number overflow. Attempting to store a number with magnitude larger than supported range",
        ),
        (
            "1e-131",
            "Number underflow. Attempting to store a number with magnitude smaller than supported range",
        ),
        (
            "-1e-131",
            "Number underflow. Attempting to store a number with magnitude smaller than supported range",
        ),
        ("1" * 39, "Attempting to store more than 38 significant digits in a Number"),
        ("0." + "1" * 39, "Attempting to store more than 38 significant digits in a Number"),
        ("1" + "0" * 37 + "1", "Attempting to store more than 38 significant digits in a Number"),
    ],
)
@pytest.mark.parametrize("kind", ["N", "NS"])
def test_refused_numbers(dynamo: Dynamo, kind: str, number: str, message: str) -> None:
    value: dict[str, Any] = {"N": number} if kind == "N" else {"NS": ["7", number]}
    dynamo.invalid("PutItem", {"TableName": "no-such-table", "Item": {"a": {"S": "x"}, "v": value}}, message)


@pytest.mark.parametrize("value", [{"N": ""}, {"NS": ["7", ""]}])
def test_an_empty_number(dynamo: Dynamo, value: dict[str, Any]) -> None:
    message = "The parameter cannot be converted to a numeric value"
    request = {"TableName": "no-such-table", "Item": {"a": {"S": "x"}, "v": value}}
    dynamo.invalid("PutItem", request, message, f"{message}: ")


def test_a_refused_number_among_placeholders(dynamo: Dynamo) -> None:
    request = {
        "TableName": "no-such-table",
        "Key": {"a": {"S": "x"}},
        "UpdateExpression": "SET b = :v",
        "ExpressionAttributeValues": {":v": {"N": "x"}},
    }
    reason = "The parameter cannot be converted to a numeric value: x"
    named = f"ExpressionAttributeValues contains invalid value: {reason} for key :v"
    dynamo.invalid("UpdateItem", request, named, reason)


@pytest.mark.parametrize(
    ("start", "step", "end"),
    [
        ("0.1", "0.2", "0.3"),
        ("1", "-1", "0"),
        ("9999999999999999999999999999999999999", "1", "10000000000000000000000000000000000000"),
        ("1e-100", "1e-100", "0." + "0" * 99 + "2"),
        ("12345678901234567890.5", "0.5", "12345678901234567891"),
        ("-5", "2.50", "-2.5"),
    ],
)
@pytest.mark.parametrize("how", ["ADD n :step", "SET n = n + :step"])
def test_arithmetic_is_exact(dynamo: Dynamo, how: str, start: str, step: str, end: str) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **key, n={"N": start})
    request = {
        "TableName": dynamo.table("hash"),
        "Key": key,
        "UpdateExpression": how,
        "ExpressionAttributeValues": {":step": {"N": step}},
        "ReturnValues": "UPDATED_NEW",
    }
    assert dynamo.call("UpdateItem", request)["Attributes"]["n"] == {"N": end}


def test_a_sum_leaves_the_range(dynamo: Dynamo) -> None:
    key = {"a": {"S": dynamo.unique()}}
    dynamo.put(dynamo.table("hash"), **key, n={"N": "9e125"})
    request = {
        "TableName": dynamo.table("hash"),
        "Key": key,
        "UpdateExpression": "ADD n :n",
        "ExpressionAttributeValues": {":n": {"N": "9e125"}},
    }
    message = "Number overflow. Attempting to store a number with magnitude larger than supported range"
    dynamo.invalid("UpdateItem", request, message)


ORDERED = [
    "-9e125",
    "-1000",
    "-10",
    "-9.5",
    "-1e-130",
    "0",
    "1e-130",
    "0.5",
    "0.51",
    "1",
    "9",
    "9.5",
    "10",
    "99",
    "1e20",
    "9e125",
]


def test_numbers_order_as_numbers(dynamo: Dynamo) -> None:
    key = {"S": dynamo.unique()}
    for number in sorted(ORDERED):
        dynamo.put(dynamo.table("range_n"), a=key, b={"N": number}, sent={"S": number})
    request: dict[str, Any] = {
        "TableName": dynamo.table("range_n"),
        "KeyConditionExpression": "a = :a",
        "ExpressionAttributeValues": {":a": key},
    }
    forward = [item["sent"]["S"] for item in dynamo.call("Query", request)["Items"]]
    assert forward == ORDERED
    backward = dynamo.call("Query", {**request, "ScanIndexForward": False})["Items"]
    assert [item["sent"]["S"] for item in backward] == ORDERED[::-1]
    request |= {"KeyConditionExpression": "a = :a AND b BETWEEN :lo AND :hi"}
    request["ExpressionAttributeValues"] = {":a": key, ":lo": {"N": "-10.0"}, ":hi": {"N": "0.5"}}
    between = [item["sent"]["S"] for item in dynamo.call("Query", request)["Items"]]
    assert between == ["-10", "-9.5", "-1e-130", "0", "1e-130", "0.5"]
