"""Boards of tests: registered over HTTP, heartbeating over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec

from tests.fleet.serving import Serving

STEP_SECONDS = 30.0


class Board(msgspec.Struct):
    """A registered board and its key."""

    id: str
    uuid: str
    key: str

    @property
    def headers(self) -> dict[str, str]:
        return {"x-composite-device-id": self.id, "x-device-key": self.key}


def project(client: httpx.Client, name: str = "Greenhouse") -> str:
    answer = client.post("/fleet/projects", json={"name": name})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["project_id"])


def register(client: httpx.Client, project_id: str, name: str = "Board", **more: Any) -> Board:
    answer = client.post(f"/fleet/projects/{project_id}/devices", json={"name": name, **more})
    assert answer.status_code == 201, answer.text
    device = answer.json()
    return Board(device["composite_device_id"], device["id"], device["device_key"])


def beat(fleet: Serving, board: Board, **body: Any) -> httpx.Response:
    return fleet.nobody.post("/fleet/device-heartbeat", headers=board.headers, json=body)


def status(fleet: Serving, board: Board) -> str:
    return str(fleet.alice.get(f"/fleet/devices/{board.id}").json()["status"])


def pass_time(fleet: Serving, seconds: float) -> None:
    """Let time go by, with somebody listening all the while."""
    while seconds > 0:
        step = min(seconds, STEP_SECONDS)
        fleet.clock.advance(step)
        fleet.run(fleet.part.work.listen())
        seconds -= step
