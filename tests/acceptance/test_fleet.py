"""The fleet as who runs an installation meets it: real processes, one PostgreSQL of their own."""

from __future__ import annotations

import signal
from pathlib import Path

import httpx

from tests.acceptance.process import started
from tests.fleet.waiting import until

WHO = {"email": "ada@example.com", "name": "Ada", "password": "correct horse battery"}


def told(url: str, cookies: dict[str, str]) -> str:
    """The events of the built-in source, whole."""
    with httpx.Client(base_url=url, cookies=cookies, timeout=20) as ada:
        sources = [one["sourceId"] for one in ada.get("/hooks/sources").json()["sources"]]
        lists = [ada.get(f"/hooks/sources/{source}/events").json()["events"] for source in sources]
        return "".join(ada.get(f"/hooks/events/{one['eventId']}").text for events in lists for one in events)


def test_boards_live_through_processes_that_share_a_server_and_through_a_restart(tmp_path: Path) -> None:
    pid_file = tmp_path / "data" / "postgres" / "18" / "postmaster.pid"
    with started("up", "--port", "0", directory=tmp_path, signup="open") as up:
        with httpx.Client(base_url=up.url, timeout=40) as ada:
            ada.post("/accounts/signup", json=WHO).raise_for_status()
            assert not pid_file.exists(), "PostgreSQL starts on first use"
            answer = ada.post("/fleet/projects", json={"name": "Tomatoes"})
            assert answer.status_code == 201, answer.text
            project = answer.json()["project_id"]
            keyed = {"Idempotency-Key": "one"}
            path = f"/fleet/projects/{project}/devices"
            made = ada.post(path, json={"name": "North"}, headers=keyed).json()
            again = ada.post(path, json={"name": "North"}, headers=keyed).json()
            assert again["composite_device_id"] == made["composite_device_id"]
            assert "device_key" not in again, "it is shown once"
            cookies = dict(ada.cookies)
            board = {"x-composite-device-id": made["composite_device_id"], "x-device-key": made["device_key"]}
        with started("serve", "--port", "0", directory=tmp_path, last_line="Serving") as joined:
            beat = httpx.post(
                f"{joined.url}/fleet/device-heartbeat", headers=board, json={"rssi": -50}, timeout=40
            )
            assert beat.status_code == 200, beat.text
            assert joined.stop(signal.SIGTERM) == 0
        assert pid_file.exists(), "up still uses it"
        shown = httpx.get(f"{up.url}/fleet/devices/{board['x-composite-device-id']}", cookies=cookies)
        assert (shown.json()["status"], shown.json()["rssi"]) == ("online", -50)
        until(lambda: "fleet.device.online" in told(up.url, cookies))
        assert up.stop(signal.SIGTERM) == 0
    assert not pid_file.exists(), "the last to leave stops it"

    with started("up", "--port", "0", directory=tmp_path) as up:
        beat = httpx.post(f"{up.url}/fleet/device-heartbeat", headers=board, json={}, timeout=40)
        assert beat.status_code == 200, beat.text
        assert httpx.get(f"{up.url}/readyz", timeout=20).json()["parts"]["fleet"] == "ok"
        assert up.stop(signal.SIGTERM) == 0
    assert not pid_file.exists()
