"""What every request and every answer carries."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

Serve = Callable[..., httpx.Client]

CALLER_TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def lines_of(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [
        record.__dict__["fields"]
        for record in caplog.records
        if record.name == "entrepot.request" and "fields" in record.__dict__
    ]


@pytest.mark.parametrize("path", ["/healthz", "/nowhere", "/broken", "/who/person", "/docs", "/openapi.json"])
def test_security_headers_are_on_every_answer(client: httpx.Client, path: str) -> None:
    headers = client.get(path).headers

    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers.get_list("content-security-policy") == [headers["content-security-policy"]]
    assert "server" not in headers


def test_a_caller_gets_its_own_request_id_back(client: httpx.Client) -> None:
    assert (
        client.get("/healthz", headers={"x-request-id": "order-7.a_B"}).headers["x-request-id"]
        == "order-7.a_B"
    )


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "<script>", "ä"])
def test_a_request_id_that_could_do_harm_is_replaced(client: httpx.Client, given: str) -> None:
    found = client.get("/healthz", headers={b"x-request-id": given.encode()}).headers["x-request-id"]

    assert found != given
    assert re.fullmatch(r"[A-Za-z0-9_-]{21}", found)


def test_a_trace_is_continued_with_a_span_of_our_own(client: httpx.Client) -> None:
    found = client.get("/healthz", headers={"traceparent": CALLER_TRACE}).headers["traceparent"]

    assert re.fullmatch(r"00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01", found)
    assert "b7ad6b7169203331" not in found


def test_a_trace_begins_here_when_the_caller_has_none(client: httpx.Client) -> None:
    first, second = (client.get("/healthz").headers["traceparent"] for _ in range(2))

    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-00", first)
    assert first[:35] != second[:35]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/openapi.json", "/docs", "/things"])
def test_head_works_where_get_does(client: httpx.Client, path: str) -> None:
    got, head = client.get(path), client.head(path)

    assert head.status_code == got.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == str(len(got.content))


def test_strict_transport_is_asked_for_only_behind_tls(serve: Serve) -> None:
    client = serve(trusted=["127.0.0.1"])

    assert "strict-transport-security" not in client.get("/healthz").headers
    behind = client.get("/healthz", headers={"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9"})
    assert behind.headers["strict-transport-security"] == "max-age=31536000"


def test_a_request_is_one_log_line(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "entrepot.request"):
        client.post("/lane/exact", content=b"12345", headers={"authorization": "Bearer abc"})
        client.get("/healthz")

    first = next(line for line in lines_of(caplog) if line["path"] == "/lane/exact")
    assert {name: first[name] for name in ("method", "status", "bytes_in", "bytes_out", "route")} == {
        "method": "POST", "status": 202, "bytes_in": 5, "bytes_out": 1, "route": "/lane/exact",
    }  # fmt: skip
    assert len(lines_of(caplog)) == 2


def test_a_tag_id_is_logged_only_as_a_hash(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "entrepot.request"):
        client.post("/t/Sec-ret_Tag123")
        client.post("/t/Sec-ret_Tag123/undo?token=oops")
        client.get("/healthz")

    assert "Sec-ret_Tag123" not in caplog.text
    assert "oops" not in caplog.text
    paths = [line["path"] for line in lines_of(caplog)][:2]
    assert re.fullmatch(r"/t/#[0-9a-f]{10}", paths[0])
    assert paths[1] == paths[0] + "/undo"


def test_a_forwarded_address_counts_only_from_a_trusted_proxy(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    forwarded = {"x-forwarded-for": "198.51.100.1, 203.0.113.9, 127.0.0.1"}
    with caplog.at_level(logging.INFO):
        untrusting = serve()
        untrusting.get("/healthz", headers=forwarded)
        untrusting.get("/healthz", headers=forwarded)
        trusting = serve(trusted=["127.0.0.0/8"])
        trusting.get("/healthz", headers=forwarded)
        trusting.get("/healthz")

    assert [line["peer"] for line in lines_of(caplog)] == [
        "127.0.0.1",
        "127.0.0.1",
        "203.0.113.9",
        "127.0.0.1",
    ]
    assert caplog.text.count("forwarded headers from") == 1
