"""HTTP as DynamoDB speaks it, down to the bytes: what the conformance suite does not ask of every server."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator

import httpx
import pytest

from entrepot.engine import Engine
from entrepot.engine.wire import BODY_BYTES_MAX
from tests.engine.served import served

pytestmark = pytest.mark.anyio

AUTHORIZATION = "AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=host, Signature=s"
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Target": "DynamoDB_20120810.ListTables",
    "X-Amz-Date": "20300101T000000Z",
    "Authorization": AUTHORIZATION,
    "Accept-Encoding": "identity",
}
SERIALIZATION = {"__type": "com.amazon.coral.service#SerializationException"}


@pytest.fixture
async def client(dynamo: Engine) -> AsyncIterator[httpx.AsyncClient]:
    async with served(dynamo) as url, httpx.AsyncClient(base_url=url) as opened:
        yield opened


async def raw(client: httpx.AsyncClient, request: bytes) -> bytes:
    """Sends bytes as they are, and gives all that comes back until the server closes."""
    reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
    writer.write(request)
    await writer.drain()
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    await writer.wait_closed()
    return answer


async def test_an_answer_on_the_socket(client: httpx.AsyncClient) -> None:
    lines = [f"{name}: {value}" for name, value in HEADERS.items()]
    request = "\r\n".join(
        ["POST / HTTP/1.1", "Host: x", "Connection: close", "Content-Length: 2", *lines, "", "{}"]
    )
    answer = await raw(client, request.encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert body == b'{"TableNames":[]}'
    fields = {
        name.lower(): value for name, _, value in (line.partition(b": ") for line in head.split(b"\r\n")[1:])
    }
    assert fields[b"content-type"] == b"application/x-amz-json-1.0"
    assert fields[b"content-length"] == b"17"
    assert fields[b"x-amz-crc32"] == str(zlib.crc32(body)).encode()
    assert len(fields[b"x-amzn-requestid"]) == 52


async def test_a_connection_is_kept(client: httpx.AsyncClient) -> None:
    lines = [f"{name}: {value}" for name, value in HEADERS.items()]
    first = "\r\n".join(["POST / HTTP/1.1", "Host: x", "Content-Length: 2", *lines, "", "{}"])
    last = first.replace("Host: x", "Host: x\r\nConnection: close")
    answer = await raw(client, (first + last).encode())
    assert answer.count(b"HTTP/1.1 200 ") == 2


async def test_a_compressed_request_is_understood(client: httpx.AsyncClient) -> None:
    headers = {**HEADERS, "Content-Encoding": "gzip"}
    answer = await client.post("/", content=gzip.compress(b'{"Limit": 5}'), headers=headers)
    assert (answer.status_code, answer.json()) == (200, {"TableNames": []})
    answer = await client.post("/", content=gzip.compress(b'{"Limit": 500}'), headers=headers)
    assert answer.json()["__type"] == "com.amazon.coral.validate#ValidationException"


@pytest.mark.parametrize(
    "body",
    [b"not gzip", gzip.compress(b"{}")[:-9], gzip.compress(b" " * (BODY_BYTES_MAX + 1) + b"{}")],
    ids=["other", "cut off", "a bomb"],
)
async def test_a_request_that_cannot_be_unpacked(client: httpx.AsyncClient, body: bytes) -> None:
    answer = await client.post("/", content=body, headers={**HEADERS, "Content-Encoding": "gzip"})
    assert (answer.status_code, answer.json()) == (400, SERIALIZATION)


async def test_long_answers_are_compressed_for_who_takes_it(
    dynamo: Engine, client: httpx.AsyncClient
) -> None:
    for n in range(40):
        request = {
            "TableName": f"table-with-a-long-name-{n:03}",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        await dynamo.call("CreateTable", request)
    plain = await client.post("/", content=b"{}", headers=HEADERS)
    assert "content-encoding" not in plain.headers
    headers = {**HEADERS, "Accept-Encoding": "gzip"}
    async with client.stream("POST", "/", content=b"{}", headers=headers) as answer:
        packed = b"".join([part async for part in answer.aiter_raw()])
    assert answer.headers["content-encoding"] == "gzip"
    # The checksum is of what is sent, as the service's is: SDKs check it before they unpack.
    assert answer.headers["x-amz-crc32"] == str(zlib.crc32(packed))
    assert gzip.decompress(packed) == plain.content


async def test_chunks_are_put_together(client: httpx.AsyncClient) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for part in (b'{"Li', b'mit"', b": 5}"):
            yield part

    answer = await client.post("/", content=parts(), headers=HEADERS)
    assert answer.json() == {"TableNames": []}


async def test_an_empty_body_is_told_after_the_signature(client: httpx.AsyncClient) -> None:
    answer = await client.post("/", headers=HEADERS)
    assert (answer.status_code, answer.json()) == (400, SERIALIZATION)
    unsigned = {name: value for name, value in HEADERS.items() if name != "Authorization"}
    answer = await client.post("/", headers=unsigned)
    assert answer.json()["__type"].endswith("#MissingAuthenticationTokenException")


@pytest.mark.parametrize("body", [b"null", b"[]", b'"x"', b"5", b"true"])
async def test_a_body_that_is_no_structure(client: httpx.AsyncClient, body: bytes) -> None:
    answer = await client.post("/", content=body, headers=HEADERS)
    assert answer.status_code == 400
    assert answer.json()["__type"] == SERIALIZATION["__type"]


async def test_endpoints_lead_back_here(client: httpx.AsyncClient) -> None:
    headers = {**HEADERS, "X-Amz-Target": "DynamoDB_20120810.DescribeEndpoints"}
    answer = await client.post("/", content=b"{}", headers=headers)
    assert answer.json()["Endpoints"][0]["Address"] == f"127.0.0.1:{client.base_url.port}"


async def test_any_origin_may_ask(client: httpx.AsyncClient) -> None:
    origin = {"Origin": "https://example.com"}
    for answer in (
        await client.get("/", headers=origin),
        await client.post("/", content=b"{}", headers=HEADERS | origin),
        await client.post("/", content=b"{}", headers=origin),
        await client.options("/", headers=origin | {"Access-Control-Request-Method": "POST"}),
    ):
        assert answer.headers["access-control-allow-origin"] == "*"
    assert (await client.options("/")).status_code == 404


async def test_a_head_is_answered_without_a_body(client: httpx.AsyncClient) -> None:
    answer = await client.head("/")
    assert (answer.status_code, answer.content) == (200, b"")


async def test_a_sender_that_leaves_in_the_middle_is_no_harm(client: httpx.AsyncClient) -> None:
    lines = [f"{name}: {value}" for name, value in HEADERS.items()]
    head = "\r\n".join(["POST / HTTP/1.1", "Host: x", "Content-Length: 1000", *lines, "", ""])
    _, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
    writer.write(head.encode() + b'{"Limit')
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    answer = await client.post("/", content=b"{}", headers=HEADERS)
    assert answer.status_code == 200


async def test_errors_that_carry_more_than_a_message(dynamo: Engine, client: httpx.AsyncClient) -> None:
    await dynamo.call(
        "CreateTable",
        {
            "TableName": "table",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    await dynamo.call("PutItem", {"TableName": "table", "Item": {"pk": "a", "n": 1}})
    put = {
        "TableName": "table",
        "Item": {"pk": {"S": "a"}},
        "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    headers = {**HEADERS, "X-Amz-Target": "DynamoDB_20120810.PutItem"}
    answer = await client.post("/", content=json.dumps(put).encode(), headers=headers)
    assert answer.json() == {
        "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        "message": "The conditional request failed",
        "Item": {"pk": {"S": "a"}, "n": {"N": "1"}},
    }
