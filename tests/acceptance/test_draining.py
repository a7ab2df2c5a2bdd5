"""A server that is asked to stop finishes what is under way."""

from __future__ import annotations

import json
import signal
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.acceptance.process import Running, started

PROGRAM = [sys.executable, str(Path(__file__).with_name("echo_server.py"))]

HEAD = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n"


def half_sent(server: Running) -> socket.socket:
    parts = urlsplit(server.url)
    peer = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=20)
    peer.sendall(HEAD + b"abc")
    # A second connection that was answered shows that the first one's bytes were taken.
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=20) as other:
        other.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert other.recv(100).startswith(b"HTTP/1.1 200")
    return peer


def everything(peer: socket.socket) -> bytes:
    received = b""
    while chunk := peer.recv(65536):
        received += chunk
    return received


def wait_until_closed(server: Running) -> None:
    """Until the server takes no new connection."""
    parts = urlsplit(server.url)
    for _ in range(10_000):
        try:
            socket.create_connection((parts.hostname or "", parts.port or 0), timeout=20).close()
        except OSError:
            return
    raise AssertionError("it still takes connections")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_request_under_way_is_answered_before_the_end(number: int, tmp_path: Path) -> None:
    with (
        started(program=PROGRAM, directory=tmp_path, last_line="Serving") as server,
        half_sent(server) as peer,
    ):
        server.process.send_signal(number)
        wait_until_closed(server)

        peer.sendall(b"def")
        answer = everything(peer)

        assert answer.startswith(b"HTTP/1.1 200")
        assert b"abcdef" in answer
        assert b"connection: close" in answer
        assert server.process.wait(10) == 0


def test_a_request_that_never_ends_is_told_and_the_process_ends_within_10_s(tmp_path: Path) -> None:
    with (
        started(program=PROGRAM, directory=tmp_path, last_line="Serving") as server,
        half_sent(server) as peer,
    ):
        assert server.stop() == 0

        head, _, body = everything(peer).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503")
        assert json.loads(body)["error"] == "STOPPING"
