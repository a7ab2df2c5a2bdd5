"""Tags of tables: what may be one, how many, and whose."""

from __future__ import annotations

from typing import Any

import pytest

from entrepot.engine import Engine
from entrepot.engine.errors import DynamoError, Refused, Validation
from entrepot.engine.operations import list_tags_of_resource

pytestmark = pytest.mark.anyio

TABLE = {
    "TableName": "tagged",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def tags(pairs: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in pairs.items()]


@pytest.fixture
async def arn(dynamo: Engine) -> str:
    answer = await dynamo.call("CreateTable", TABLE)
    created: str = answer["TableDescription"]["TableArn"]
    return created


async def listed(engine: Engine, arn: str) -> dict[str, str]:
    answer = await engine.call("ListTagsOfResource", {"ResourceArn": arn})
    return {tag["Key"]: tag["Value"] for tag in answer["Tags"]}


async def test_tags_replace_those_of_the_same_key(dynamo: Engine, arn: str) -> None:
    await dynamo.call("TagResource", {"ResourceArn": arn, "Tags": tags({"a": "1", "b": "2"})})
    await dynamo.call("TagResource", {"ResourceArn": arn, "Tags": tags({"b": "3", "ключ": "ä +-=._:/@"})})
    assert await listed(dynamo, arn) == {"a": "1", "b": "3", "ключ": "ä +-=._:/@"}
    await dynamo.call("UntagResource", {"ResourceArn": arn, "TagKeys": ["a", "nothing"]})
    assert await listed(dynamo, arn) == {"b": "3", "ключ": "ä +-=._:/@"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([{"Key": "k" * 129, "Value": ""}], "The Tag Key provided is invalid, Key: " + "k" * 129),
        ([{"Key": "", "Value": ""}], "The Tag Key provided is invalid, Key: "),
        ([{"Value": "x"}], "The Tag Key provided is invalid, Key: null"),
        ([{"Key": "k", "Value": "v" * 257}], "The Tag Value provided is invalid, Value: " + "v" * 257),
        ([{"Key": "k"}], "The Tag Value provided is invalid, Value: null"),
        ([{"Key": "k", "Value": "a,b"}], "The Tag Value provided is invalid, Value: a,b"),
        ([{"Key": "aws:k", "Value": "v"}], "Tag Key cannot be prefixed with aws:, Key: aws:k"),
        (
            tags({"k": "1"}) + tags({"k": "2"}),
            "Duplicate Tag Keys provided as input: Duplicate Tag Key found k",
        ),
        ([], "Atleast one Tag needs to be provided as Input."),
    ],
)
async def test_tags_that_are_refused_change_nothing(
    dynamo: Engine, arn: str, given: list[dict[str, str]], message: str
) -> None:
    with pytest.raises(Validation) as told:
        await dynamo.call("TagResource", {"ResourceArn": arn, "Tags": given and tags({"good": "1"}) + given})
    assert told.value.message == message
    assert await listed(dynamo, arn) == {}


async def test_a_new_table_has_the_same_rules(dynamo: Engine) -> None:
    with pytest.raises(Validation, match="Tag Key cannot be prefixed with aws:, Key: AWS:k"):
        await dynamo.call("CreateTable", {**TABLE, "Tags": tags({"AWS:k": "v"})})
    many = tags({f"k{n}": "v" for n in range(51)})
    with pytest.raises(Validation, match="Number of Tags exceed the current limit"):
        await dynamo.call("CreateTable", {**TABLE, "Tags": many})
    assert (await dynamo.call("ListTables", {}))["TableNames"] == []


async def test_fifty_tags_are_all(dynamo: Engine, arn: str) -> None:
    await dynamo.call("TagResource", {"ResourceArn": arn, "Tags": tags({f"k{n}": "v" for n in range(50)})})
    with pytest.raises(
        Validation, match="Number of Tags exceed the current limit for the provided ResourceArn"
    ):
        await dynamo.call("TagResource", {"ResourceArn": arn, "Tags": tags({"more": "v"})})
    await dynamo.call("TagResource", {"ResourceArn": arn, "Tags": tags({"k1": "again"})})
    with pytest.raises(Validation, match="Number of Tags exceed"):
        await dynamo.call("UntagResource", {"ResourceArn": arn, "TagKeys": [f"k{n}" for n in range(51)]})
    assert len(await listed(dynamo, arn)) == 50


async def test_pages_follow_one_another(dynamo: Engine, arn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_tags_of_resource, "PAGE_TAGS", 3)
    await dynamo.call("TagResource", {"ResourceArn": arn, "Tags": tags({f"k{n}": "v" for n in range(7)})})
    seen: list[str] = []
    request: dict[str, Any] = {"ResourceArn": arn}
    for _ in range(3):
        answer = await dynamo.call("ListTagsOfResource", request)
        seen += [tag["Key"] for tag in answer["Tags"]]
        request["NextToken"] = answer.get("NextToken")
    assert seen == [f"k{n}" for n in range(7)]
    assert request["NextToken"] is None
    with pytest.raises(Validation, match="Invalid NextToken"):
        await dynamo.call("ListTagsOfResource", {"ResourceArn": arn, "NextToken": "ä"})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("tagged", "One or more parameter values were invalid: ARNs must start with 'arn:': tagged"),
        (
            "arn:aws:s3:::bucket",
            "One or more parameter values were invalid: Provided Arn is not a DynamoDB resource arn: "
            "arn:aws:s3:::bucket",
        ),
        (
            "arn:aws:dynamodb:us-east-1:000000000000:table/tagged/index/x",
            "One or more parameter values were invalid: Invalid resource arn provided, only table or stream is "
            "accepted. Provided resource arn: arn:aws:dynamodb:us-east-1:000000000000:table/tagged/index/x",
        ),
        (
            "arn:aws:dynamodb:eu-west-9:000000000000:table/tagged",
            "Invalid TableArn: Invalid ResourceArn provided as input "
            "arn:aws:dynamodb:eu-west-9:000000000000:table/tagged",
        ),
    ],
)
@pytest.mark.parametrize("operation", ["TagResource", "UntagResource", "ListTagsOfResource"])
async def test_arns_of_other_things(dynamo: Engine, operation: str, wrong: str, message: str) -> None:
    request = {"ResourceArn": wrong, "Tags": tags({"k": "v"}), "TagKeys": ["k"]}
    with pytest.raises(DynamoError) as told:
        await dynamo.call(operation, request)
    assert (told.value.type, told.value.message) == ("ValidationException", message)


@pytest.mark.parametrize("operation", ["TagResource", "UntagResource", "ListTagsOfResource"])
async def test_a_table_that_is_not_there(dynamo: Engine, arn: str, operation: str) -> None:
    request = {"ResourceArn": f"{arn}x", "Tags": tags({"k": "v"}), "TagKeys": ["k"]}
    with pytest.raises(Refused, match=f"Requested resource not found: ResourceArn: {arn}x not found"):
        await dynamo.call(operation, request)


async def test_tags_go_with_their_table(dynamo: Engine, arn: str) -> None:
    await dynamo.call("TagResource", {"ResourceArn": arn, "Tags": tags({"k": "v"})})
    await dynamo.call("DeleteTable", {"TableName": "tagged"})
    await dynamo.call("CreateTable", TABLE)
    assert await listed(dynamo, arn) == {}
