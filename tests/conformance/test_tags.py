"""TagResource, UntagResource, ListTagsOfResource."""

from __future__ import annotations

from typing import Any

import pytest

from .dynamo import NOT_NULL, Dynamo, member
from .shapes import SHAPES

Json = dict[str, Any]


@pytest.fixture
def arn(dynamo: Dynamo) -> str:
    return str(dynamo.wait_active(dynamo.create(SHAPES["hash"]))["TableArn"])


def listed(dynamo: Dynamo, arn: str) -> dict[str, str]:
    return {
        tag["Key"]: tag["Value"] for tag in dynamo.call("ListTagsOfResource", {"ResourceArn": arn})["Tags"]
    }


def tags(**pairs: str) -> list[Json]:
    return [{"Key": key, "Value": value} for key, value in pairs.items()]


def test_tags_come_and_go(dynamo: Dynamo, arn: str) -> None:
    assert dynamo.call("ListTagsOfResource", {"ResourceArn": arn}) == {"Tags": []}
    assert dynamo.call("TagResource", {"ResourceArn": arn, "Tags": tags(one="1", two="2")}) == {}
    assert listed(dynamo, arn) == {"one": "1", "two": "2"}
    dynamo.call("TagResource", {"ResourceArn": arn, "Tags": tags(two="22", three="")})
    assert listed(dynamo, arn) == {"one": "1", "two": "22", "three": ""}
    assert dynamo.call("UntagResource", {"ResourceArn": arn, "TagKeys": ["one", "nothing"]}) == {}
    assert listed(dynamo, arn) == {"two": "22", "three": ""}


@pytest.mark.parametrize("operation", ["TagResource", "UntagResource", "ListTagsOfResource"])
def test_an_arn_is_needed(dynamo: Dynamo, operation: str) -> None:
    dynamo.invalid(operation, {}, "Invalid TableArn")


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("TagResource", {"Tags": tags(k="v")}),
        ("UntagResource", {"TagKeys": ["k"]}),
        ("ListTagsOfResource", {}),
    ],
)
def test_an_arn_of_a_table(dynamo: Dynamo, operation: str, members: Json) -> None:
    arn = "arn:aws:dynamodb:us-east-1:123456789012:table/ab"
    message = f"Invalid TableArn: Invalid ResourceArn provided as input {arn}"
    dynamo.invalid(operation, {"ResourceArn": arn, **members}, message)


def test_some_tags_are_needed(dynamo: Dynamo, arn: str) -> None:
    dynamo.invalid(
        "TagResource", {"ResourceArn": arn, "Tags": []}, "Atleast one Tag needs to be provided as Input."
    )
    message = "Atleast one Tag Key needs to be provided as Input."
    dynamo.invalid("UntagResource", {"ResourceArn": arn, "TagKeys": []}, message)
    dynamo.violates("TagResource", {"ResourceArn": arn}, [member("tags", None, NOT_NULL)])
    dynamo.violates("UntagResource", {"ResourceArn": arn}, [member("tagKeys", None, NOT_NULL)])


def test_an_absent_table(dynamo: Dynamo, arn: str) -> None:
    absent = f"{arn}-absent"
    kind = "ResourceNotFoundException"
    # The service misspelt the member, and said less to UntagResource, until it did not.
    misspelt = f"Requested resource not found: ResourcArn: {absent} not found"
    message = f"Requested resource not found: ResourceArn: {absent} not found"
    dynamo.refuses("TagResource", {"ResourceArn": absent, "Tags": tags(k="v")}, kind, misspelt, message)
    request = {"ResourceArn": absent, "TagKeys": ["k"]}
    dynamo.refuses("UntagResource", request, kind, "Requested resource not found", message)
