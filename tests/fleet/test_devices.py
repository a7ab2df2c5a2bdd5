"""Devices over HTTP: numbers, keys, changes, ends."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.fleet.boards import beat, project, register
from tests.fleet.serving import ALICE, Serving


def test_a_board_gets_the_lowest_free_number_and_a_key_that_is_shown_once(fleet: Serving, sql: Any) -> None:
    home = project(fleet.alice)
    answer = fleet.alice.post(f"/fleet/projects/{home}/devices", json={"name": "North"})
    device = answer.json()
    assert answer.status_code == 201
    assert (device["composite_device_id"], device["status"]) == (f"{home}-ESP1", "waiting")
    key = device["device_key"]
    assert len(bytes.fromhex(key)) == 32
    shown = fleet.alice.get(f"/fleet/devices/{home}-ESP1")
    assert key not in shown.text
    assert shown.json()["device_key_hint"] == f"…{key[-4:]}"
    [(kept, digest)] = sql("SELECT device_key, device_key_hash FROM devices")
    assert kept == f"…{key[-4:]}"
    assert digest == hashlib.sha256(key.encode()).hexdigest()


def test_forty_registrations_race_for_twenty_numbers(fleet: Serving) -> None:
    home = project(fleet.alice)
    path = f"/fleet/projects/{home}/devices"
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda n: fleet.alice.post(path, json={"name": f"b{n}"}), range(40)))
    won = [answer.json()["device_number"] for answer in answers if answer.status_code == 201]
    assert sorted(won) == list(range(1, 21))
    lost = [answer for answer in answers if answer.status_code != 201]
    assert {(answer.status_code, answer.json()["error"]) for answer in lost} == {(409, "PROJECT_FULL")}
    assert fleet.alice.get(f"/fleet/projects/{home}/available").json() == {"available": []}


def test_a_wanted_number_is_had_once_and_free_again_after_the_end(fleet: Serving) -> None:
    home = project(fleet.alice)
    path = f"/fleet/projects/{home}/devices"
    register(fleet.alice, home, device_number=7)
    answer = fleet.alice.post(path, json={"name": "again", "device_number": 7})
    assert (answer.status_code, answer.json()["error"]) == (409, "DEVICE_NUMBER_TAKEN")
    free = fleet.alice.get(f"/fleet/projects/{home}/available").json()["available"]
    assert free == [n for n in range(1, 21) if n != 7]
    assert fleet.alice.delete(f"/fleet/devices/{home}-ESP7").status_code == 204
    assert fleet.alice.delete(f"/fleet/devices/{home}-ESP7").status_code == 404
    assert register(fleet.alice, home, device_number=7).id == f"{home}-ESP7"


def test_numbers_are_1_to_20(fleet: Serving) -> None:
    home = project(fleet.alice)
    for wrong in (0, 21, -1, 10**10):
        answer = fleet.alice.post(
            f"/fleet/projects/{home}/devices", json={"name": "x", "device_number": wrong}
        )
        assert answer.status_code == 400, wrong
        assert answer.json()["errors"][0]["field"] == "device_number"


def test_an_archived_project_refuses_boards_and_takes_heartbeats(fleet: Serving) -> None:
    home = project(fleet.alice)
    board = register(fleet.alice, home)
    fleet.alice.patch(f"/fleet/projects/{home}", json={"status": "archived"})
    answer = fleet.alice.post(f"/fleet/projects/{home}/devices", json={"name": "late"})
    assert (answer.status_code, answer.json()["error"]) == (409, "PROJECT_ARCHIVED")
    assert beat(fleet, board).status_code == 200


def test_a_rotated_key_replaces_the_old_one_at_once(fleet: Serving) -> None:
    board = register(fleet.alice, project(fleet.alice))
    answer = fleet.alice.post(f"/fleet/devices/{board.id}/rotate-key")
    assert answer.status_code == 200
    assert beat(fleet, board).status_code == 401
    board.key = answer.json()["device_key"]
    assert beat(fleet, board).status_code == 200


def test_a_board_is_listed_by_number_and_changed(fleet: Serving) -> None:
    home = project(fleet.alice)
    register(fleet.alice, home, "second", device_number=2)
    register(fleet.alice, home, "first", hardware_id="hw-1")
    devices = fleet.alice.get(f"/fleet/projects/{home}/devices").json()["devices"]
    assert [one["name"] for one in devices] == ["first", "second"]
    changed = fleet.alice.patch(f"/fleet/devices/{home}-ESP1", json={"name": "North"}).json()
    assert (changed["name"], changed["hardware_id"]) == ("North", "hw-1")
    changed = fleet.alice.patch(f"/fleet/devices/{home}-ESP1", json={"hardware_id": None}).json()
    assert changed["hardware_id"] is None


def test_another_persons_board_is_not_there(fleet: Serving) -> None:
    board = register(fleet.alice, project(fleet.alice))
    path = f"/fleet/devices/{board.id}"
    assert fleet.bob.get(path).status_code == 404
    assert fleet.bob.patch(path, json={"name": "mine"}).status_code == 404
    assert fleet.bob.delete(path).status_code == 404
    assert fleet.bob.post(f"{path}/rotate-key").status_code == 404
    assert fleet.bob.get(f"{path}/heartbeats").status_code == 404
    assert fleet.bob.get(f"{path}/uptime").status_code == 404
    config = {"ssid": "x", "password": "", "device_key": board.key}
    assert fleet.bob.post(f"{path}/config", json=config).status_code == 404
    assert beat(fleet, board).status_code == 200


def test_deleting_a_project_takes_everything_below_it(fleet: Serving, sql: Any) -> None:
    home = project(fleet.alice)
    board = register(fleet.alice, home)
    beat(fleet, board)
    assert fleet.alice.delete(f"/fleet/projects/{home}?confirm=true").status_code == 204
    for table in ("projects", "devices", "device_heartbeats", "device_status_events"):
        assert sql(f"SELECT count(*) FROM {table}") == [(0,)], table
    assert beat(fleet, board).status_code == 404


def test_a_forgotten_person_is_gone_with_everything_and_may_begin_anew(fleet: Serving, sql: Any) -> None:
    register(fleet.alice, project(fleet.alice))
    fleet.run(fleet.part.people.forget(ALICE))
    fleet.run(fleet.part.people.forget(ALICE))
    assert sql("SELECT (SELECT count(*) FROM auth.users), (SELECT count(*) FROM devices)") == [(0, 0)]
    assert fleet.alice.post("/fleet/projects", json={"name": "anew"}).status_code == 201


def test_a_person_who_was_forgotten_by_another_process_is_made_known_again(fleet: Serving, sql: Any) -> None:
    project(fleet.alice)
    sql("DELETE FROM auth.users")
    assert fleet.alice.post("/fleet/projects", json={"name": "anew"}).status_code == 201
