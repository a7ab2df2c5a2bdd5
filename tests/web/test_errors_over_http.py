"""Every error is a problem document, whoever raised it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

WANTED = {"type", "title", "status", "detail", "instance", "error", "message", "request_id"}


def problem_of(response: httpx.Response) -> dict[str, Any]:
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert set(body) >= WANTED
    assert body["status"] == response.status_code
    assert body["request_id"] == response.headers["x-request-id"]
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in response.headers["content-security-policy"]
    return body


ERRORS: list[tuple[Callable[[httpx.Client], httpx.Response], int, str]] = [
    (lambda c: c.get("/nowhere"), 404, "NOT_FOUND"),
    (lambda c: c.get("/lane/other"), 404, "NOT_FOUND"),
    (lambda c: c.delete("/things"), 405, "METHOD_NOT_ALLOWED"),
    (lambda c: c.get("/lane/exact"), 405, "METHOD_NOT_ALLOWED"),
    (lambda c: c.request("PROPFIND", "/things"), 405, "METHOD_NOT_ALLOWED"),
    (
        lambda c: c.post("/things", content=b"{", headers={"content-type": "application/json"}),
        400,
        "MALFORMED_JSON",
    ),
    (
        lambda c: c.post("/things", content=b"\xff", headers={"content-type": "application/json"}),
        400,
        "MALFORMED_JSON",
    ),
    (lambda c: c.post("/things", json={"name": 1}), 400, "INVALID"),
    (lambda c: c.post("/things", json=[1]), 400, "INVALID"),
    (lambda c: c.post("/things"), 400, "BODY_MISSING"),
    (lambda c: c.get("/things?limit=many"), 400, "INVALID"),
    (lambda c: c.post("/things", content=b"name=x"), 415, "UNSUPPORTED_MEDIA_TYPE"),
    (lambda c: c.post("/things", data={"name": "x"}), 415, "UNSUPPORTED_MEDIA_TYPE"),
    (lambda c: c.get("/taken"), 409, "NAME_TAKEN"),
    (lambda c: c.get("/broken"), 500, "INTERNAL_ERROR"),
    (lambda c: c.get("/who/person"), 401, "UNAUTHENTICATED"),
    (lambda c: c.get("/things", headers={"x-large": "x" * 5000}), 431, "HEADERS_TOO_LARGE"),
]


@pytest.mark.parametrize(("call", "status", "code"), ERRORS)
def test_an_error_is_a_problem_with_a_code(
    client: httpx.Client, call: Callable[[httpx.Client], httpx.Response], status: int, code: str
) -> None:
    response = call(client)

    body = problem_of(response)
    assert response.status_code == status
    assert body["error"] == code


def test_a_wrong_verb_is_told_the_right_ones(client: httpx.Client) -> None:
    assert client.delete("/things").headers["allow"] == "GET, HEAD, OPTIONS, POST"
    assert client.post("/healthz").headers["allow"] == "GET, HEAD, OPTIONS"
    assert client.get("/lane/exact").headers["allow"] == "POST"


def test_all_wrong_fields_of_a_body_are_named(client: httpx.Client) -> None:
    body = problem_of(client.post("/things", json={"count": "two", "tags": ["a", 1], "colour": "red"}))

    assert {error["field"]: error["message"] for error in body["errors"]} == {
        "name": "is missing",
        "count": "expected int, got str",
        "tags[1]": "expected str, got int",
        "colour": "is not known here",
    }


def test_a_wrong_query_parameter_is_named(client: httpx.Client) -> None:
    body = problem_of(client.get("/things?limit=many"))

    assert [error["field"] for error in body["errors"]] == ["limit"]


def test_an_internal_error_tells_nothing_of_its_cause(client: httpx.Client) -> None:
    assert "hunter2" not in client.get("/broken").text


def test_an_answer_that_breaks_half_way_is_cut_off_and_not_ended(client: httpx.Client) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        client.get("/torn")


def test_a_problem_of_a_head_request_has_no_body(client: httpx.Client) -> None:
    response = client.head("/nowhere")

    assert response.status_code == 404
    assert response.content == b""
