"""The protocol below the operations: targets, types, bodies, headers, signatures."""

from __future__ import annotations

import gzip
import json
import re
import zlib

import pytest

from .transports import Http

SERVICE = "com.amazon.coral.service#"
LIST = b"{}"


def headers(
    http: Http, operation: str = "ListTables", body: bytes = LIST, **changed: str | None
) -> dict[str, str]:
    """What an SDK sends, with some headers changed or, as None, left out; underscores stand for hyphens."""
    sent = {name.lower(): value for name, value in http.signed(operation, body).items()}
    for name, value in changed.items():
        key = name.replace("_", "-")
        if value is None:
            sent.pop(key, None)
        else:
            sent[key] = value
    return sent


def test_an_answer_has_its_headers(http: Http) -> None:
    status, told, body = http.post(LIST, headers(http))
    assert (status, told["content-type"]) == (200, "application/x-amz-json-1.0")
    assert re.fullmatch("[0-9A-Z]{52}", told["x-amzn-requestid"])
    assert int(told["x-amz-crc32"]) == zlib.crc32(body)
    assert int(told["content-length"]) == len(body)
    assert "TableNames" in json.loads(body)


def test_request_ids_differ(http: Http) -> None:
    ids = {http.post(LIST, headers(http))[1]["x-amzn-requestid"] for _ in range(3)}
    assert len(ids) == 3


def test_a_refusal_has_them_too(http: Http) -> None:
    body = b'{"TableName": "no-such-table"}'
    status, told, answer = http.post(body, headers(http, "DescribeTable", body))
    assert (status, told["content-type"]) == (400, "application/x-amz-json-1.0")
    assert int(told["x-amz-crc32"]) == zlib.crc32(answer)
    assert json.loads(answer) == {
        "__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
        "message": "Requested resource not found: Table: no-such-table not found",
    }


@pytest.mark.parametrize(
    ("operation", "body", "kind"),
    [
        ("GetItem", b"{}", "com.amazon.coral.validate#ValidationException"),
        (
            "GetItem",
            b'{"TableName": "abc", "Key": {}}',
            "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
        ),
    ],
)
def test_errors_carry_their_namespace(http: Http, operation: str, body: bytes, kind: str) -> None:
    status, _, answer = http.post(body, headers(http, operation, body))
    assert (status, json.loads(answer)["__type"]) == (400, kind)


def test_a_serialization_error_spells_message_its_own_way(http: Http) -> None:
    body = b'{"TableName": 23}'
    status, _, answer = http.post(body, headers(http, "GetItem", body))
    told = json.loads(answer)
    assert (status, told["__type"]) == (400, SERVICE + "SerializationException")
    assert told["Message"] == "NUMBER_VALUE cannot be converted to String"


@pytest.mark.parametrize("body", [b"", b"{", b'{"a"}', b"hello", b"\xff"])
def test_a_body_is_json(http: Http, body: bytes) -> None:
    status, told, answer = http.post(body, headers(http, body=body))
    assert (status, json.loads(answer)["__type"]) == (400, SERVICE + "SerializationException")
    assert int(told["x-amz-crc32"]) == zlib.crc32(answer)


@pytest.mark.parametrize(
    "target",
    [None, "", "ListTables", "DynamoDB_20120810", "DynamoDB_20120810.", "DynamoDB_20120810.Nope", "DynamoDB_20130101.ListTables", "DynamoDB_20120810.listTables", "DynamoDB_20120810.ListTables.x"],
)  # fmt: skip
def test_a_target_is_an_operation(http: Http, target: str | None) -> None:
    status, told, answer = http.post(LIST, headers(http, x_amz_target=target))
    assert (status, json.loads(answer)) == (400, {"__type": SERVICE + "UnknownOperationException"})
    assert int(told["x-amz-crc32"]) == zlib.crc32(answer)


def test_json_is_looked_at_before_the_target(http: Http) -> None:
    status, _, answer = http.post(b"{", headers(http, body=b"{", x_amz_target="Nope"))
    assert (status, json.loads(answer)["__type"]) == (400, SERVICE + "SerializationException")


@pytest.mark.parametrize("kind", [None, "text/plain", "application/xml", "application/x-amz-json-1.1"])
def test_a_content_type_of_json(http: Http, kind: str | None) -> None:
    status, told, answer = http.post(LIST, headers(http, content_type=kind))
    assert (status, answer) == (404, b"<UnknownOperationException/>\n")
    assert told["x-amz-crc32"] == str(zlib.crc32(answer))


def test_plain_json_is_answered_in_kind(http: Http) -> None:
    status, told, _ = http.post(LIST, headers(http, content_type="application/json; charset=utf-8"))
    assert (status, told["content-type"]) == (200, "application/json")


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_other_methods_are_unknown(http: Http, method: str) -> None:
    status, _, answer = http.post(LIST, headers(http), method=method)
    assert (status, answer) == (404, b"<UnknownOperationException/>\n")


def test_a_get_tells_that_all_is_well(http: Http) -> None:
    status, told, answer = http.post(b"", {}, method="GET")
    assert status == 200
    assert re.fullmatch(rb"healthy: dynamodb\.[a-z0-9-]+\.amazonaws\.com ", answer)
    assert told["x-amz-crc32"] == str(zlib.crc32(answer))


def test_a_request_without_a_signature(http: Http) -> None:
    status, _, answer = http.post(LIST, headers(http, authorization=None))
    assert (status, json.loads(answer)) == (
        400,
        {
            "__type": SERVICE + "MissingAuthenticationTokenException",
            "message": "Request is missing Authentication Token",
        },
    )


def test_a_signature_of_another_kind(http: Http) -> None:
    status, _, answer = http.post(LIST, headers(http, authorization="Basic dXNlcjpwYXNz"))
    assert (status, json.loads(answer)["__type"]) == (400, SERVICE + "MissingAuthenticationTokenException")


def test_an_incomplete_signature(http: Http) -> None:
    sent = headers(http, authorization="AWS4-HMAC-SHA256 Credential=a", x_amz_date=None)
    status, _, answer = http.post(LIST, sent)
    assert (status, json.loads(answer)) == (
        400,
        {
            "__type": SERVICE + "IncompleteSignatureException",
            "message": "Authorization header requires 'Signature' parameter. "
            "Authorization header requires 'SignedHeaders' parameter. "
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
            "Authorization=AWS4-HMAC-SHA256 Credential=a",
        },
    )


def test_two_signatures(http: Http) -> None:
    status, _, answer = http.post(LIST, headers(http), path="/?X-Amz-Algorithm=a")
    assert (status, json.loads(answer)) == (
        400,
        {
            "__type": SERVICE + "InvalidSignatureException",
            "message": "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
        },
    )


def test_answers_are_compressed_for_who_takes_it(http: Http) -> None:
    # Only an answer that is worth it is compressed, and the checksum is of what is sent.
    status, told, answer = http.post(LIST, headers(http, accept_encoding="gzip"))
    assert (status, int(told["x-amz-crc32"])) == (200, zlib.crc32(answer))
    plain = gzip.decompress(answer) if told.get("content-encoding") == "gzip" else answer
    assert "TableNames" in json.loads(plain)


def test_an_origin_is_allowed(http: Http) -> None:
    _, told, _ = http.post(LIST, headers(http, origin="http://example.com"))
    assert told["access-control-allow-origin"] == "*"


def test_a_preflight_is_answered(http: Http) -> None:
    asked = {
        "origin": "http://example.com",
        "access-control-request-headers": "x-amz-target, content-type",
        "access-control-request-method": "POST",
    }
    status, told, answer = http.post(b"", asked, method="OPTIONS")
    assert (status, answer) == (200, b"")
    assert told["access-control-allow-headers"] == asked["access-control-request-headers"]
    assert told["access-control-allow-methods"] == "POST"
    assert told["access-control-max-age"] == "172800"


def test_a_request_of_sixteen_megabytes_at_most(http: Http) -> None:
    body = b'{"TableName": "abc", "x": "' + b"x" * (16 * 1024 * 1024) + b'"}'
    status, _, _ = http.post(body, headers(http, "DescribeTable", body))
    assert status == 413
