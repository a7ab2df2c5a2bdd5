"""`entrepot worker` beside other processes, and `entrepot jobs` beside a server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.process import entrepot, started
from tests.work.test_over_http import Server, running

PATIENCE_SECONDS = 30
WHO = {"email": "ada@example.com", "name": "Ada", "password": "correct horse battery"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_ends_with_0_when_asked_to(number: int, tmp_path: Path) -> None:
    with started("worker", directory=tmp_path, last_line="Working") as worker:
        assert worker.stop(number) == 0
        assert "Traceback" not in worker.rest()


def test_what_keeps_a_worker_from_starting_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a directory")
    refused = entrepot("worker", directory=tmp_path)
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1


def test_a_worker_does_what_a_serving_process_was_asked_for(tmp_path: Path) -> None:
    with (
        started("serve", "--port", "0", directory=tmp_path, signup="open", last_line="Serving") as serving,
        httpx.Client(base_url=serving.url, timeout=20) as client,
    ):
        client.post("/accounts/signup", json=WHO).raise_for_status()
        begun = client.request("DELETE", "/accounts/me", json={"password": WHO["password"]})
        assert begun.status_code == 202, begun.text
        link = begun.json()["report"]
        # Nobody works yet.
        assert client.get(link).json()["status"] == "waiting"
        with started("worker", directory=tmp_path, last_line="Working") as worker:
            assert ended(client, link) == "done"
            assert worker.stop() == 0


def test_processes_may_start_at_the_same_time_on_an_empty_directory(tmp_path: Path) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "entrepot", "worker"],
            cwd=tmp_path,
            env={name: value for name, value in os.environ.items() if not name.startswith("ENTREPOT_")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    try:
        for worker in workers:
            assert worker.stdout is not None
            line = worker.stdout.readline()
            assert line.startswith("Working"), worker.communicate()[1]
        for worker in workers:
            worker.terminate()
        assert [worker.wait(PATIENCE_SECONDS) for worker in workers] == [0, 0, 0]
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with running(server) as client:
        yield client


def jobs(client: httpx.Client, *arguments: str, key: str = "ann") -> subprocess.CompletedProcess[str]:
    return entrepot("jobs", *arguments, "--url", str(client.base_url), "--key", key, directory=Path.cwd())


def test_the_command_line_follows_a_job_to_its_end(client: httpx.Client, server: Server) -> None:
    server.gate.set()
    job_id = client.post("/jobs-of-tests").json()["id"]
    followed = jobs(client, job_id)
    assert followed.returncode == 0, followed.stderr
    last = followed.stdout.splitlines()[-1]
    assert last == f"{job_id}  done       test.job  [{'=' * 30}]  3/3"
    assert job_id in jobs(client).stdout


def test_the_command_line_cancels_a_job(client: httpx.Client, server: Server) -> None:
    job_id = client.post("/jobs-of-tests").json()["id"]
    assert client.delete(f"/jobs/{job_id}").status_code == 204
    server.gate.set()
    cancelled = jobs(client, job_id, "--cancel")
    assert cancelled.returncode == 0
    assert cancelled.stdout.splitlines()[-1].split()[1] == "cancelled"


def test_the_command_line_says_in_one_line_what_is_wrong(client: httpx.Client) -> None:
    unknown = jobs(client, "job_of_nobody")
    assert (unknown.returncode, unknown.stderr) == (1, "entrepot: There is no job job_of_nobody of yours.\n")
    nobody = jobs(client, key="wrong")
    assert (nobody.returncode, nobody.stderr) == (1, "entrepot: Sign in, or send a key.\n")
    away = entrepot("jobs", "--url", "http://127.0.0.1:1", "--key", "k", directory=Path.cwd())
    assert away.returncode == 1
    assert away.stderr.startswith("entrepot: http://127.0.0.1:1 does not answer: ")


def ended(client: httpx.Client, link: str) -> str:
    until = time.monotonic() + PATIENCE_SECONDS
    status = ""
    while time.monotonic() < until:
        status = str(client.get(link).json()["status"])
        if status in ("done", "failed"):
            return status
    raise AssertionError(f"it is still {status}")
