"""The boards' own call: who may make it, what it answers, what is kept."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from entrepot.fleet.model import precise
from tests.fleet.boards import Board, beat, pass_time, project, register, status
from tests.fleet.serving import Serving

PATH = "/fleet/device-heartbeat"


@pytest.fixture
def board(fleet: Serving) -> Board:
    return register(fleet.alice, project(fleet.alice))


def test_a_heartbeat_is_answered_after_it_was_kept(fleet: Serving, board: Board, sql: Any) -> None:
    answer = beat(fleet, board, rssi=-61, ip_address="192.168.1.20", fw_version="3.1.0")
    assert answer.status_code == 200
    body = answer.json()
    assert (body["success"], body["device_id"], body["status"]) == (True, board.id, "online")
    assert body["timestamp"].endswith("Z")
    assert len(answer.content) <= 512
    assert answer.headers["content-length"] == str(len(answer.content))
    assert "transfer-encoding" not in answer.headers
    rows = sql("SELECT composite_device_id, rssi, ip_address, fw_version FROM device_heartbeats")
    assert rows == [(board.id, -61, "192.168.1.20", "3.1.0")]
    device = fleet.alice.get(f"/fleet/devices/{board.id}").json()
    assert (device["status"], device["rssi"], device["fw_version"]) == ("online", -61, "3.1.0")
    assert device["last_seen_at"] is not None


def test_a_board_may_say_nothing_and_keeps_what_it_said_before(fleet: Serving, board: Board) -> None:
    beat(fleet, board, rssi=-50)
    answer = fleet.nobody.post(PATH, headers=board.headers)
    assert answer.status_code == 200
    assert fleet.alice.get(f"/fleet/devices/{board.id}").json()["rssi"] == -50


def test_a_legacy_board_is_known_by_its_uuid(fleet: Serving, board: Board) -> None:
    answer = fleet.nobody.post(
        PATH, headers={"x-device-uuid": board.uuid, "x-device-key": board.key}, json={}
    )
    assert (answer.status_code, answer.json()["device_id"]) == (200, board.id)


@pytest.mark.parametrize(
    ("headers", "status_code"),
    [
        ({}, 400),
        ({"x-device-key": "k"}, 400),
        ({"x-composite-device-id": "PROJ007-ESP1", "x-device-key": "k"}, 400),
        ({"x-composite-device-id": "PROJ1-ESP21", "x-device-key": "k"}, 400),
        ({"x-composite-device-id": "PROJ1-ESP1 OR 1=1", "x-device-key": "k"}, 400),
        ({"x-device-uuid": "550e8400", "x-device-key": "k"}, 400),
        ({"x-composite-device-id": "PROJ1-ESP1"}, 401),
        ({"x-composite-device-id": "PROJ1-ESP1", "x-device-key": "0" * 64}, 401),
        ({"x-composite-device-id": "PROJ1-ESP1", "x-device-key": "0" * 9999}, 401),
        ({"x-composite-device-id": "PROJ999-ESP1", "x-device-key": "k"}, 404),
        ({"x-device-uuid": "550e8400-e29b-41d4-a716-446655440000", "x-device-key": "k"}, 404),
    ],
)
def test_a_refusal_is_short_and_says_why(
    fleet: Serving, board: Board, headers: dict[str, str], status_code: int
) -> None:
    answer = fleet.nobody.post(PATH, headers=headers, json={})
    assert answer.status_code == status_code, answer.text
    body = answer.json()
    assert set(body) == {"success", "error", "details"}
    assert body["success"] is False
    assert len(answer.content) <= 512
    assert status(fleet, board) == "waiting"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'{"rssi": "strong"}',
        b'{"rssi": 5000}',
        b'{"ip_address": "nowhere"}',
        b'{"fw_version": "a\\u0000b"}',
        b'{"fw_version": "' + b"x" * 65 + b'"}',
        b'{"ts": "yesterday"}',
        b'{"ts": "2026-01-01T00:00:00"}',
        b'{"ts": 99999999999999999999}',
        b"\xff\xfe",
    ],
)
def test_a_body_that_makes_no_sense_is_refused(fleet: Serving, board: Board, body: bytes) -> None:
    answer = fleet.nobody.post(PATH, headers=board.headers, content=body)
    assert (answer.status_code, answer.json()["success"]) == (400, False)
    assert len(answer.content) <= 512


def test_a_body_that_is_too_large_is_refused(fleet: Serving, board: Board) -> None:
    answer = fleet.nobody.post(PATH, headers=board.headers, content=b" " * 5000)
    assert (answer.status_code, answer.json()["success"]) == (413, False)
    assert fleet.nobody.get(PATH).status_code == 405


def test_a_boards_own_time_is_kept_within_a_day_and_never_ahead(
    fleet: Serving, board: Board, sql: Any
) -> None:
    now = fleet.clock.utc()
    hour_ago = now - timedelta(hours=1)
    for said in (hour_ago, now - timedelta(hours=25), now + timedelta(minutes=5)):
        assert beat(fleet, board, ts=precise(said)).status_code == 200
    assert beat(fleet, board, ts=0).status_code == 200
    kept = sorted(row[0] for row in sql("SELECT ts FROM device_heartbeats"))
    assert abs(kept[0] - hour_ago) < timedelta(seconds=1)
    for at in kept[1:]:
        assert now <= at <= fleet.clock.utc()
    [(seen,)] = sql("SELECT last_seen_at FROM devices")
    assert seen >= now


def test_heartbeats_at_once_are_all_kept_and_change_the_status_once(fleet: Serving, sql: Any) -> None:
    home = project(fleet.alice)
    boards = [register(fleet.alice, home) for _ in range(10)]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda n: beat(fleet, boards[n % 10], rssi=-n % 90), range(200)))
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["device_id"] for answer in answers} == {board.id for board in boards}
    assert sql("SELECT count(*) FROM device_heartbeats") == [(200,)]
    assert sql("SELECT count(*), count(DISTINCT device_id) FROM device_status_events") == [(10, 10)]


def test_right_and_wrong_boards_in_one_batch_get_each_their_answer(fleet: Serving, board: Board) -> None:
    wrong = Board(board.id, board.uuid, "0" * 64)
    unknown = Board("PROJ998-ESP3", board.uuid, board.key)
    asked = [board, wrong, unknown] * 20
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda one: beat(fleet, one).status_code, asked))
    assert answers == [200, 401, 404] * 20


def test_a_month_without_a_partition_gets_one_by_the_first_heartbeat(
    fleet: Serving, board: Board, sql: Any
) -> None:
    fleet.clock.advance(100 * 86400)
    assert beat(fleet, board).status_code == 200
    month = fleet.clock.utc().strftime("%Y_%m")
    assert sql(f"SELECT count(*) FROM device_heartbeats_{month}") == [(1,)]


def test_history_comes_newest_first_in_pages_between_times(fleet: Serving, board: Board) -> None:
    begin = fleet.clock.utc()
    for n in range(5):
        beat(fleet, board, rssi=-n)
        pass_time(fleet, 60)
    path = f"/fleet/devices/{board.id}/heartbeats"
    first = fleet.alice.get(path, params={"limit": 2}).json()
    rest = fleet.alice.get(path, params={"limit": 200, "cursor": first["next_cursor"]})
    assert rest.status_code == 200, rest.text
    assert [one["rssi"] for one in first["heartbeats"] + rest.json()["heartbeats"]] == [-4, -3, -2, -1, 0]
    assert "next_cursor" not in rest.json()
    between = {"from": precise(begin + timedelta(seconds=90)), "to": precise(begin + timedelta(seconds=200))}
    found = fleet.alice.get(path, params=between).json()["heartbeats"]
    assert [one["rssi"] for one in found] == [-3, -2]
    assert fleet.alice.get(path, params={"from": "nonsense"}).status_code == 400
    assert fleet.alice.get(path, params={"cursor": first["next_cursor"], **between}).status_code == 400


def test_a_heartbeat_that_breaks_off_is_none(fleet: Serving, board: Board, sql: Any) -> None:
    host, port = fleet.address.removeprefix("http://").split(":")
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nx-composite-device-id: {board.id}\r\nx-device-key: {board.key}\r\n"
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"{head}Content-Length: 20\r\n\r\n".encode())
    # One that is whole comes after it, and is the only one.
    assert beat(fleet, board).status_code == 200
    assert sql("SELECT count(*) FROM device_heartbeats") == [(1,)]
