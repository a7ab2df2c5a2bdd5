"""Signatures over real HTTP, made by botocore: the right one passes, and each wrong one is told apart."""

# A refusal stands on one line beside its request.
# ruff: noqa: E501

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import boto3
import httpx
import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from entrepot.engine import Engine
from tests.engine.served import served

pytestmark = pytest.mark.anyio

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
BODY = b"{}"


@pytest.fixture
async def url(dynamo: Engine) -> AsyncIterator[str]:
    async with served(dynamo, {KEY: SECRET, "another": "secret"}) as address:
        yield address


def signed(
    url: str, *, key: str = KEY, secret: str = SECRET, body: bytes = BODY, **options: Any
) -> dict[str, str]:
    """The headers that botocore sends with a body."""
    headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.ListTables"}
    request = AWSRequest("POST", url, headers=headers, data=body)
    token, service, region = (
        options.get("token"),
        options.get("service", "dynamodb"),
        options.get("region", "eu-west-1"),
    )
    SigV4Auth(Credentials(key, secret, token), service, region).add_auth(request)
    return dict(request.headers.items())


async def sent(url: str, headers: dict[str, str], body: bytes = BODY) -> tuple[int, dict[str, Any]]:
    async with httpx.AsyncClient() as client:
        answer = await client.post(url, content=body, headers=headers)
    told: dict[str, Any] = answer.json()
    told["__type"] = told.get("__type", "").rpartition("#")[2]
    return answer.status_code, told


def error(kind: str, message: str) -> tuple[int, dict[str, Any]]:
    return 400, {"__type": kind, "message": message}


MISMATCH = error(
    "InvalidSignatureException",
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access "
    "Key and signing method. Consult the service documentation for details.",
)
UNKNOWN = error("UnrecognizedClientException", "The security token included in the request is invalid.")


async def test_the_right_secret_passes(url: str) -> None:
    assert await sent(url, signed(url)) == (200, {"__type": "", "TableNames": []})
    assert (await sent(url, signed(url, key="another", secret="secret")))[0] == 200


async def test_boto_works_with_the_secret_and_fails_without(url: str) -> None:
    def ask(secret: str) -> list[str]:
        client = boto3.client(
            "dynamodb",
            endpoint_url=url,
            region_name="ap-south-1",
            aws_access_key_id=KEY,
            aws_secret_access_key=secret,
            config=Config(retries={"total_max_attempts": 1}),
        )
        client.create_table(
            TableName="signed",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        client.put_item(TableName="signed", Item={"pk": {"S": "ünïcode"}})
        return client.list_tables()["TableNames"]

    assert await asyncio.to_thread(ask, SECRET) == ["signed"]
    with pytest.raises(ClientError, match="InvalidSignatureException"):
        await asyncio.to_thread(ask, "wrong")


async def test_a_wrong_secret(url: str) -> None:
    assert await sent(url, signed(url, secret="wrong")) == MISMATCH


async def test_an_unknown_key(url: str) -> None:
    assert await sent(url, signed(url, key="nobody")) == UNKNOWN


async def test_a_body_that_was_tampered_with(url: str) -> None:
    assert await sent(url, signed(url), b'{"Limit": 1}') == MISMATCH


async def test_a_header_that_was_tampered_with(url: str) -> None:
    changed = {**signed(url), "X-Amz-Target": "DynamoDB_20120810.DescribeLimits"}
    assert await sent(url, changed) == MISMATCH


async def test_a_session_token_is_never_right(url: str) -> None:
    status, told = await sent(url, signed(url, token="session"))
    assert (status, told["message"]) == (400, "The security token included in the request is invalid")
    assert told["__type"] == "UnrecognizedClientException"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"service": "s3"}, "Credential should be scoped to correct service: 'dynamodb'."),
        ({"region": "!"}, "Credential should be scoped to a valid region, not '!'."),
    ],
)
async def test_a_scope_of_something_else(url: str, options: dict[str, Any], message: str) -> None:
    assert await sent(url, signed(url, **options)) == error("InvalidSignatureException", message)


async def test_dates_that_are_too_far_away(url: str, dynamo: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = signed(url)
    date = datetime.strptime(headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    for away, allowed in ((14, True), (16, False), (-14, True), (-16, False)):
        now = date + timedelta(minutes=away)
        async with served_at(dynamo, now.timestamp()) as other:
            # The address is signed too, so each server needs headers of its own, with the same date.
            mine = await at_date(other, date, monkeypatch)
            status, told = await sent(other, mine)
        assert (status == 200) is allowed
        if away == 16:
            assert told["message"] == (
                f"Signature expired: {date:%Y%m%dT%H%M%SZ} is now earlier than "
                f"{now - timedelta(minutes=15):%Y%m%dT%H%M%SZ} ({now:%Y%m%dT%H%M%SZ} - 15 min.)"
            )
        if away == -16:
            assert told["message"] == (
                f"Signature not yet current: {date:%Y%m%dT%H%M%SZ} is still later than "
                f"{now + timedelta(minutes=15):%Y%m%dT%H%M%SZ} ({now:%Y%m%dT%H%M%SZ} + 15 min.)"
            )


def served_at(engine: Engine, now: float) -> Any:
    engine.clock = lambda: now
    return served(engine, {KEY: SECRET})


async def at_date(url: str, date: datetime, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Headers signed as of a date."""
    with monkeypatch.context() as patch:
        patch.setattr("botocore.auth.get_current_datetime", lambda *_: date.replace(tzinfo=None))
        return signed(url)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"X-Amz-Date": "201"}, "IncompleteSignatureException", "Date must be in ISO-8601 'basic format'. Got '201'. See http://en.wikipedia.org/wiki/ISO_8601"),
        ({"Authorization": "AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=x-amz-date, Signature=s"}, "InvalidSignatureException", "'Host' must be a 'SignedHeader' in the AWS Authorization."),
        ({"Authorization": "AWS4-HMAC-SHA25 Credential=a/b/c/d/e, SignedHeaders=host, Signature=s"}, "IncompleteSignatureException", "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA25' (only AWS4-HMAC-SHA256 for now). "),
        ({"Authorization": "AWS4-HMAC-SHA256 Credential=a/b/c/d, SignedHeaders=host, Signature=s"}, "IncompleteSignatureException", "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got 'a/b/c/d'"),
        ({"Authorization": "AWS4-HMAC-SHA256 Signature=b, Credential, SignedHeaders"}, "IncompleteSignatureException", "'Credential' not a valid key=value pair (missing equal-sign) in Authorization header: 'AWS4-HMAC-SHA256 Signature=b, Credential, SignedHeaders'."),
        ({"Authorization": "AWS4-HMAC-SHA256 Credential=a"}, "IncompleteSignatureException", "Authorization header requires 'Signature' parameter. Authorization header requires 'SignedHeaders' parameter. Authorization=AWS4-HMAC-SHA256 Credential=a"),
    ],
)  # fmt: skip
async def test_signatures_that_make_no_sense(
    url: str, change: dict[str, str], kind: str, message: str
) -> None:
    assert await sent(url, {**signed(url), **change}) == error(kind, message)


async def test_a_credential_of_another_day_is_told_all_that_is_wrong(url: str) -> None:
    headers = signed(url)
    date = headers["X-Amz-Date"]
    headers["Authorization"] = "AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=host, Signature=s"
    assert await sent(url, headers) == error(
        "InvalidSignatureException",
        f"Credential should be scoped to a valid region, not 'c'. Credential should be scoped to correct service: "
        f"'dynamodb'. Credential should be scoped with a valid terminator: 'aws4_request', not 'e'. Date in "
        f"Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: 'b' != '{date[:8]}', "
        f"from '{date}'.",
    )


def presigned(url: str, *, secret: str = SECRET, expires: int = 60) -> tuple[str, dict[str, str]]:
    headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.ListTables"}
    # botocore would move a body into the query; given by its hash alone, it is signed and stays where it is.
    headers["X-Amz-Content-SHA256"] = hashlib.sha256(BODY).hexdigest()
    request = AWSRequest("POST", url + "/?b=2&a=%20x", headers=headers)
    SigV4QueryAuth(Credentials(KEY, secret), "dynamodb", "eu-west-1", expires=expires).add_auth(request)
    return str(request.url), headers


async def test_a_signature_in_the_query(url: str) -> None:
    address, headers = presigned(url)
    assert (await sent(address, headers))[0] == 200
    assert await sent(address, headers, b'{"Limit": 1}') == MISMATCH
    address, headers = presigned(url, secret="wrong")
    assert await sent(address, headers) == MISMATCH


async def test_a_query_that_lacks_parts_of_a_signature(url: str) -> None:
    address, headers = presigned(url)
    parts = dict(parse_qsl(urlsplit(address).query))
    del parts["X-Amz-Signature"], parts["X-Amz-Date"]
    assert await sent(f"{url}/?{urlencode(parts)}", headers) == error(
        "IncompleteSignatureException",
        "AWS query-string parameters must include 'X-Amz-Signature'. AWS query-string parameters must include "
        "'X-Amz-Date'. Re-examine the query-string parameters.",
    )


async def test_a_query_that_has_expired(dynamo: Engine) -> None:
    async with served_at(dynamo, datetime.now(UTC).timestamp() + 120) as other:
        expired, headers = presigned(other, expires=60)
        status, told = await sent(expired, headers)
        lasting, headers = presigned(other, expires=3600)
        assert (await sent(lasting, headers))[0] == 200
    assert status == 400
    assert told["message"].startswith("Signature expired: ")
    assert told["message"].endswith(" - 1 min.)")


async def test_without_keys_any_signature_passes(dynamo: Engine) -> None:
    async with served(dynamo) as url:
        assert (await sent(url, signed(url, key="any", secret="thing")))[0] == 200
        address, headers = presigned(url, secret="any")
        assert (await sent(address, headers))[0] == 200


def test_the_command_takes_a_key_from_the_environment(tmp_path: Path) -> None:
    keys = {"ENTREPOT_DYNAMO_ACCESS_KEY": KEY, "ENTREPOT_DYNAMO_SECRET_KEY": SECRET}
    command = [sys.executable, "-m", "entrepot", "dynamo", "--port", "0", "--data", str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **keys, "PYTHONUNBUFFERED": "1"}
    ) as server:
        assert server.stdout is not None
        try:
            url = next(line for line in server.stdout if "=" in line).partition("=")[2].strip()
            assert httpx.post(url, content=BODY, headers=signed(url)).status_code == 200
            assert httpx.post(url, content=BODY, headers=signed(url, secret="wrong")).status_code == 400
        finally:
            server.terminate()
            server.communicate(timeout=10)


def test_the_command_wants_both_halves_of_a_key() -> None:
    command = [sys.executable, "-m", "entrepot", "dynamo", "--data", ":memory:", "--access-key", "x"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert answer.returncode == 2
    assert "--access-key and --secret-key go together" in answer.stderr
