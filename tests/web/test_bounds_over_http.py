"""Bodies, heads and time have bounds."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import httpx
import pytest

from entrepot.web import edge, protocol

Serve = Callable[..., httpx.Client]

BODY_BYTES_MAX = 100_000


def raw(client: httpx.Client, *pieces: bytes) -> tuple[int, dict[str, object]]:
    """Send bytes as they are, and read the answer's status and problem."""
    with closing(
        socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=20)
    ) as peer:
        for piece in pieces:
            peer.sendall(piece)
        received = b""
        while chunk := peer.recv(65536):
            received += chunk
            head, found, body = received.partition(b"\r\n\r\n")
            if found and len(body) >= int(
                head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0
            ):
                break
        status = int(head.split(b" ")[1])
        assert b"x-content-type-options: nosniff" in head
        return status, json.loads(body)


def pieces_of(total_bytes: int) -> Iterator[bytes]:
    for _ in range(total_bytes // 10_000):
        yield b"x" * 10_000


def test_a_body_up_to_the_bound_is_taken(client: httpx.Client) -> None:
    assert client.post("/lane/exact", content=b"x" * BODY_BYTES_MAX).text == str(BODY_BYTES_MAX)
    assert client.post("/lane/exact", content=pieces_of(BODY_BYTES_MAX)).text == str(BODY_BYTES_MAX)


def test_a_body_over_the_bound_is_refused_before_it_is_read(client: httpx.Client) -> None:
    response = client.post("/lane/exact", content=b"x" * (BODY_BYTES_MAX + 1))

    assert response.status_code == 413
    assert response.json()["error"] == "BODY_TOO_LARGE"


def test_a_chunked_body_over_the_bound_is_refused_as_it_arrives(client: httpx.Client) -> None:
    for path in ("/lane/exact", "/things"):
        response = client.post(path, content=pieces_of(20 * BODY_BYTES_MAX))

        assert response.status_code == 413
        assert response.json()["error"] == "BODY_TOO_LARGE"


def test_a_connection_can_be_used_again_after_a_refused_body(client: httpx.Client) -> None:
    with httpx.Client(base_url=client.base_url, limits=httpx.Limits(max_connections=1)) as one:
        assert one.post("/lane/exact", content=b"x" * (5 * BODY_BYTES_MAX)).status_code == 413
        assert one.post("/lane/exact", content=b"ok").status_code == 202


def test_a_route_can_have_a_bound_of_its_own(client: httpx.Client) -> None:
    name = "x" * (BODY_BYTES_MAX + 1)

    assert client.post("/large", json={"name": name, "count": 1}).text == str(len(name))
    assert client.post("/large", json={"name": name * 2, "count": 1}).status_code == 413


def test_a_caller_who_does_not_read_is_hung_up_on(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "UNREAD_SECONDS_MAX", 0.1)
    ended = threading.Event()
    monkeypatch.setattr(edge.Edge, "_write_line", lambda *_: ended.set())
    url = serve().base_url
    with closing(socket.create_connection((url.host, url.port or 80), timeout=20)) as peer:
        peer.sendall(b"GET /lane/endless HTTP/1.1\r\nHost: x\r\n\r\n")
        assert ended.wait(20)


def test_a_refused_body_without_end_is_cut_off(client: httpx.Client) -> None:
    head = b"POST /lane/exact HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n"
    with closing(
        socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=20)
    ) as peer:
        peer.sendall(head)
        assert b" 413 " in peer.recv(65536)
        sent = 0
        try:
            while sent < 4 * protocol.LINGER_BYTES_MAX:
                sent += peer.send(b"x" * 65536)
        except OSError:
            pass
        assert sent < 4 * protocol.LINGER_BYTES_MAX


def test_a_head_over_the_bound_is_refused_while_it_arrives(client: httpx.Client) -> None:
    status, problem = raw(client, b"GET / HTTP/1.1\r\nHost: x\r\nX-Endless: ", b"x" * 3000, b"y" * 3000)

    assert status == 431
    assert problem["error"] == "HEADERS_TOO_LARGE"


def test_a_request_that_is_not_http_is_a_problem_too(client: httpx.Client) -> None:
    status, problem = raw(client, b"HELO there\r\n\r\n")

    assert status == 400
    assert problem["error"] == "MALFORMED_REQUEST"


def test_an_answer_that_takes_too_long_is_a_504(serve: Serve) -> None:
    response = serve(timeout_seconds=0.2).get("/slow")

    assert response.status_code == 504
    assert response.json()["error"] == "TIMEOUT"


def test_a_body_that_takes_too_long_is_a_408(serve: Serve) -> None:
    client = serve(timeout_seconds=0.2)
    head = b"POST /lane/exact HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"

    status, problem = raw(client, head, b"half")

    assert status == 408
    assert problem["error"] == "REQUEST_TIMEOUT"


def test_a_head_that_takes_too_long_is_a_408(serve: Serve) -> None:
    status, problem = raw(serve(timeout_seconds=0.2), b"GET / HTTP/1.1\r\nHost:")

    assert status == 408
    assert problem["error"] == "REQUEST_TIMEOUT"
