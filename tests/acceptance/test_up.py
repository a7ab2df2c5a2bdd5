"""`entrepot up` as a newcomer meets it: a real process, over HTTP."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.acceptance.process import START_SECONDS_MAX, entrepot, environment, started


def test_up_says_where_it_is_and_every_line_is_true(tmp_path: Path) -> None:
    with started("up", "--port", "0", directory=tmp_path) as up:
        assert up.banner[0] == "store ./data"
        opened, tried = up.banner[1].split()[1], up.banner[-2].split()[-1]
        assert "/accounts/first?token=" in opened
        assert httpx.get(opened).status_code == 200
        ready = httpx.get(tried).json()
        assert ready["status"] == "ready"
        assert ready["parts"]["store"] == ready["parts"]["accounts"] == "ok"
        assert (tmp_path / "data" / "dynamo.db").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_0(number: int, tmp_path: Path) -> None:
    with started("up", "--port", "0", directory=tmp_path) as up:
        httpx.get(f"{up.url}/healthz")

        assert up.stop(number) == 0
        assert "Traceback" not in up.rest()


def test_a_second_up_on_the_same_data_is_refused_in_one_line(tmp_path: Path) -> None:
    with started("up", "--port", "0", directory=tmp_path) as up:
        second = entrepot("up", "--port", "0", directory=tmp_path)

        assert second.returncode == 1
        assert second.stderr.count("\n") == 1
        assert f"runs on this data already (process {up.process.pid})" in second.stderr
        assert httpx.get(f"{up.url}/readyz").status_code == 200


def test_serve_joins_an_up(tmp_path: Path) -> None:
    with (
        started("up", "--port", "0", directory=tmp_path) as up,
        started("serve", "--port", "0", directory=tmp_path, last_line="Serving") as joined,
    ):
        assert up.url != joined.url
        for url in (up.url, joined.url):
            assert httpx.get(f"{url}/readyz").status_code == 200
        assert joined.stop() == 0


def test_up_starts_again_after_it_was_killed(tmp_path: Path) -> None:
    with started("up", "--port", "0", directory=tmp_path) as up:
        up.stop(signal.SIGKILL)

    with started("up", "--port", "0", directory=tmp_path) as up:
        assert httpx.get(f"{up.url}/readyz").status_code == 200


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        found = entrepot("up", "--port", port, directory=tmp_path)

    assert (found.returncode, found.stderr.count("\n")) == (1, 1)
    assert f"port {port} of 127.0.0.1 is in use" in found.stderr


def test_a_data_directory_that_can_not_be_used_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    found = entrepot("up", "--port", "0", "--data-dir", "file/data", directory=tmp_path)

    assert (found.returncode, found.stderr.count("\n")) == (1, 1)
    assert "file/data: the data directory can't be used" in found.stderr


def test_a_store_that_can_not_be_opened_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "dynamo.db").write_bytes(b"this is no database" * 1000)

    found = entrepot("up", "--port", "0", directory=tmp_path)

    assert (found.returncode, found.stderr.count("\n")) == (1, 1)
    assert "dynamo.db" in found.stderr


def test_data_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "version").write_text("99\n")

    found = entrepot("up", "--port", "0", directory=tmp_path)

    assert (found.returncode, found.stderr.count("\n")) == (1, 1)
    assert "version '99'" in found.stderr


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"prot": "80"}, "ENTREPOT_PROT"),
        ({"port": "x"}, "ENTREPOT_PORT"),
        ({"chaos": "throttle=1"}, "ENTREPOT_CHAOS"),
        ({"chaos": "kindness=1", "testing": "1"}, "ENTREPOT_CHAOS"),
        ({"store": "dynamodb://eu-west-1"}, "ENTREPOT_SECRET_KEY"),
    ],
)
def test_a_wrong_setting_stops_the_start_with_its_name(
    settings: dict[str, str], name: str, tmp_path: Path
) -> None:
    found = entrepot("up", directory=tmp_path, **settings)

    assert (found.returncode, found.stderr.count("\n")) == (2, 1)
    assert name in found.stderr


def test_the_secret_key_is_made_once_and_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "secret.key"
    with started("up", "--port", "0", directory=tmp_path) as up:
        first = path.read_bytes()
        up.stop()
    with started("up", "--port", "0", directory=tmp_path):
        assert path.read_bytes() == first

    assert len(first) >= 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_settings_come_from_the_file_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "entrepot.toml").write_text(
        'port = 0\ndata_dir = "elsewhere"\nadmin_token = "a-long-admin-token"\n'
    )

    with started("up", directory=tmp_path) as up:
        outside = {"x-forwarded-for": "203.0.113.9"}
        assert httpx.get(f"{up.url}/metrics", headers=outside).status_code == 401
        token = {"authorization": "Bearer a-long-admin-token"}
        assert httpx.get(f"{up.url}/metrics", headers={**outside, **token}).status_code == 200
        wrong = {"authorization": "Bearer another-admin-token"}
        assert httpx.get(f"{up.url}/metrics", headers={**outside, **wrong}).status_code == 401
    assert (tmp_path / "elsewhere" / "dynamo.db").exists()


def test_logs_are_json_when_nobody_watches(tmp_path: Path) -> None:
    with started("up", "--port", "0", directory=tmp_path) as up:
        httpx.get(f"{up.url}/healthz", headers={"x-request-id": "seen", "authorization": "Bearer s3cr3t"})
        up.stop()
        lines = [json.loads(line) for line in up.rest().splitlines()]

    (line,) = [line for line in lines if line.get("request_id") == "seen"]
    assert (line["message"], line["status"], line["level"]) == ("GET /healthz 200", 200, "info")
    assert "s3cr3t" not in str(lines)


def test_logs_are_readable_on_a_terminal(tmp_path: Path) -> None:
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "entrepot", "up", "--port", "0"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
    )
    os.close(terminal)
    try:
        assert process.stdout is not None
        banner = [process.stdout.readline() for _ in range(5)]
        address = banner[-2].split()[-1].removesuffix("/readyz")
        httpx.get(f"{address}/nothing")
        seen = b""
        while b"\n" not in seen:
            seen += os.read(master, 4096)
    finally:
        process.kill()
        process.communicate(timeout=START_SECONDS_MAX)
        os.close(master)

    assert "GET /nothing 404" in seen.decode()
    assert not seen.startswith(b"{")


def test_lan_listens_to_the_network_under_this_machines_address(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    with started("up", "--lan", "--port", str(port), directory=tmp_path) as up:
        opened = next(line.split()[1] for line in up.banner if line.startswith("Open"))
        public = opened.partition("/accounts")[0]
        assert "127.0.0.1" not in public
        assert any("everyone on this network" in line for line in up.banner)
        assert httpx.get(f"{public}/readyz", trust_env=False).status_code == 200
        assert httpx.get(f"{public}/metrics", trust_env=False).status_code == 401

        with httpx.Client(base_url=public, trust_env=False) as phone:
            person = {"email": "a@example.com", "name": "A", "password": "correct horse battery"}
            made = phone.post("/accounts/signup", json={**person, "invite": opened.partition("token=")[2]})
            assert made.status_code == 201
            assert phone.get("/accounts/me").status_code == 200  # Its cookie came back, over http.
            source = phone.post("/hooks/sources", json={"name": "s", "provider": "custom"}).json()["sourceId"]
            at_home = {"name": "at home", "destinationUrl": f"{public}/hook"}
            elsewhere = {"name": "elsewhere", "destinationUrl": "http://169.254.169.254/hook"}
            made = phone.post(f"/hooks/sources/{source}/connections", json=at_home)
            assert made.status_code == 201, made.text
            assert phone.post(f"/hooks/sources/{source}/connections", json=elsewhere).status_code == 400


def test_a_clock_offset_is_allowed_when_testing(tmp_path: Path) -> None:
    with started("up", "--port", "0", directory=tmp_path, testing="1", clock_offset_seconds="60") as up:
        assert httpx.get(f"{up.url}/readyz").status_code == 200


def test_up_is_as_unkind_as_it_is_asked_to_be(tmp_path: Path) -> None:
    with started("up", "--port", "0", directory=tmp_path, testing="1", chaos="slow_ms=1,seed=7") as up:
        assert httpx.get(f"{up.url}/readyz").status_code == 200


def test_up_runs_on_a_remote_store_and_says_when_it_is_down(tmp_path: Path) -> None:
    dynamo = started(
        "dynamo",
        "--port",
        "0",
        "--data",
        ":memory:",
        directory=tmp_path,
        last_line="AWS_ENDPOINT_URL_DYNAMODB",
    )
    with dynamo as remote:
        settings = {
            "store": f"dynamodb://eu-west-1?endpoint={remote.url}&prefix=test-",
            "secret_key": "a key that every process is given",
        }
        credentials = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}
        with started("up", "--port", "0", directory=tmp_path, more=credentials, **settings) as up:
            assert httpx.get(f"{up.url}/readyz").json()["parts"]["store"] == "ok"

            remote.stop(signal.SIGKILL)
            answer = httpx.get(f"{up.url}/readyz", timeout=20)

            assert answer.status_code == 503
            assert answer.json()["message"].startswith("store: ")
