"""Waiting, online, offline: when a board's status changes, who is told, and what its uptime is."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import msgspec
import psycopg
import pytest

from entrepot.clock import Clock
from entrepot.fleet.model import DomainEvent, precise
from tests.fleet.boards import Board, beat, pass_time, project, register, status
from tests.fleet.serving import ALICE, Serving, parts_of, serving
from tests.fleet.waiting import until


@pytest.fixture
def board(fleet: Serving) -> Board:
    return register(fleet.alice, project(fleet.alice))


def changes(fleet: Serving) -> list[tuple[str, str, str]]:
    events = fleet.alice.get("/fleet/events").json()["events"]
    return [(one["from"], one["to"], one["reason"]) for one in events]


def sweep(fleet: Serving) -> int:
    return fleet.run(fleet.part.work.sweep())


def test_a_board_waits_comes_online_goes_silent_and_comes_back(fleet: Serving, board: Board) -> None:
    assert status(fleet, board) == "waiting"
    beat(fleet, board)
    assert status(fleet, board) == "online"
    pass_time(fleet, 119)
    assert sweep(fleet) == 0
    pass_time(fleet, 2)
    assert sweep(fleet) == 1
    assert sweep(fleet) == 0
    assert status(fleet, board) == "offline"
    beat(fleet, board)
    assert status(fleet, board) == "online"
    assert changes(fleet) == [
        ("offline", "online", "heartbeat"),
        ("online", "offline", "silence"),
        ("waiting", "online", "first_heartbeat"),
    ]
    assert fleet.bob.get("/fleet/events").json() == {"events": []}


def test_a_board_that_never_spoke_waits_for_ever(fleet: Serving, board: Board) -> None:
    pass_time(fleet, 600)
    assert sweep(fleet) == 0
    assert status(fleet, board) == "waiting"


def test_a_late_sweep_hides_no_silence(fleet: Serving, board: Board) -> None:
    beat(fleet, board)
    pass_time(fleet, 121)
    assert status(fleet, board) == "offline"
    listed = fleet.alice.get(f"/fleet/projects/{board.id.split('-')[0]}/devices").json()["devices"]
    assert [one["status"] for one in listed] == ["offline"]


def test_a_silence_that_no_sweep_saw_is_recorded_by_the_next_heartbeat(fleet: Serving, board: Board) -> None:
    beat(fleet, board)
    spoke = fleet.clock.utc()
    pass_time(fleet, 600)
    beat(fleet, board)
    assert changes(fleet)[:2] == [("offline", "online", "heartbeat"), ("online", "offline", "silence")]
    silent = fleet.alice.get("/fleet/events").json()["events"][1]["at"]
    expected = spoke + timedelta(minutes=2)
    assert abs(msgspec.convert(silent, type=type(expected)) - expected) < timedelta(seconds=5)


def test_after_our_own_start_each_board_has_two_minutes_anew(url: str, clock: Clock) -> None:
    with serving(parts_of(clock, url=url), clock) as first:
        board = register(first.alice, project(first.alice))
        beat(first, board)
    clock.advance(3600)
    with serving(parts_of(clock, url=url), clock) as second:
        assert status(second, board) == "online"
        assert sweep(second) == 0
        pass_time(second, 110)
        assert sweep(second) == 0
        pass_time(second, 15)
        assert sweep(second) == 1


def test_after_a_gap_in_our_listening_each_board_has_two_minutes_anew(fleet: Serving, board: Board) -> None:
    beat(fleet, board)
    fleet.clock.advance(600)
    assert sweep(fleet) == 0, "nobody listened"
    fleet.run(fleet.part.work.listen())
    assert (sweep(fleet), status(fleet, board)) == (0, "online")
    pass_time(fleet, 125)
    assert sweep(fleet) == 1


def test_a_process_that_takes_no_heartbeats_does_not_count_as_listening(
    fleet: Serving, board: Board, url: str, clock: Clock, sql: Any
) -> None:
    beat(fleet, board)
    clock.advance(600)
    with serving(parts_of(clock, url=url, serves=False, sweep_seconds=0.05), clock) as worker:
        assert worker.alice.get("/fleet/projects").status_code == 200
        assert worker.run(worker.part.work.sweep()) == 0
    assert sql("SELECT status FROM devices") == [("online",)]


def test_a_running_process_sweeps_and_tells_by_itself(url: str, clock: Clock) -> None:
    told: list[DomainEvent] = []

    async def publish(event: DomainEvent) -> None:
        told.append(event)

    part = parts_of(clock, url=url, sweep_seconds=0.05, publish=publish)
    with serving(part, clock) as fleet:
        board = register(fleet.alice, project(fleet.alice))
        beat(fleet, board)
        pass_time(fleet, 125)
        until(lambda: [event.type for event in told] == ["fleet.device.online", "fleet.device.offline"])
        assert status(fleet, board) == "offline"


def test_after_a_restart_of_postgresql_each_board_has_two_minutes_anew(
    fleet: Serving, board: Board, sql: Any
) -> None:
    beat(fleet, board)
    pass_time(fleet, 125)
    sql("UPDATE fleet_listening SET postgres_started_at = postgres_started_at - interval '1 hour'")
    assert sweep(fleet) == 0
    fleet.run(fleet.part.work.listen())
    assert (sweep(fleet), status(fleet, board)) == (0, "online")


def test_one_sweeps_however_many_try(fleet: Serving, board: Board, url: str) -> None:
    beat(fleet, board)
    pass_time(fleet, 125)
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtext('entrepot fleet sweep'))")
        assert sweep(fleet) == 0
    assert sweep(fleet) == 1


def test_a_heartbeat_during_the_sweep_is_not_swept_away(fleet: Serving, board: Board, url: str) -> None:
    beat(fleet, board)
    pass_time(fleet, 125)
    with psycopg.connect(url) as other:
        # A heartbeat under way holds the row; the sweep passes it by.
        other.execute("UPDATE devices SET last_seen_at = %s", [fleet.clock.utc()])
        assert sweep(fleet) == 0
    assert (sweep(fleet), status(fleet, board)) == (0, "online")


def test_every_change_leaves_as_a_domain_event_once(fleet: Serving, board: Board, sql: Any) -> None:
    published: list[DomainEvent] = []

    async def publish(event: DomainEvent) -> None:
        published.append(event)

    beat(fleet, board)
    pass_time(fleet, 125)
    sweep(fleet)
    assert fleet.run(fleet.part.work.move_outbox(publish)) == 2
    assert fleet.run(fleet.part.work.move_outbox(publish)) == 0
    assert [event.type for event in published] == ["fleet.device.online", "fleet.device.offline"]
    assert {event.subject for event in published} == {board.id}
    assert {event.user_id for event in published} == {str(ALICE)}
    assert published[1].data["reason"] == "silence"
    assert len({event.id for event in published}) == 2


def test_an_event_that_was_not_taken_stays_with_its_id(fleet: Serving, board: Board) -> None:
    seen: list[str] = []

    async def refuse(event: DomainEvent) -> None:
        seen.append(event.id)
        raise ConnectionResetError("the relay is down")

    async def take(event: DomainEvent) -> None:
        seen.append(event.id)

    beat(fleet, board)
    with pytest.raises(ConnectionResetError):
        fleet.run(fleet.part.work.move_outbox(refuse))
    fleet.run(fleet.part.work.move_outbox(take))
    assert seen == [seen[0]] * 2


def test_uptime_counts_from_the_first_heartbeat_and_names_outages(fleet: Serving, board: Board) -> None:
    path = f"/fleet/devices/{board.id}/uptime"
    assert fleet.alice.get(path).json() == {"share": None, "outages": []}
    beat(fleet, board)
    began = fleet.clock.utc()
    pass_time(fleet, 600)
    beat(fleet, board)
    for _ in range(2):
        pass_time(fleet, 60)
        beat(fleet, board)
    found = fleet.alice.get(path, params={"to": precise(began + timedelta(seconds=720))}).json()
    [outage] = found["outages"]
    assert outage["seconds"] == pytest.approx(480, abs=3)
    assert found["share"] == pytest.approx(1 - 480 / 720, abs=0.01)
    pass_time(fleet, 240)
    open_outage = fleet.alice.get(path).json()["outages"][-1]
    assert open_outage["seconds"] == pytest.approx(120, abs=3), "no sweep has seen it yet"
    wrong = {"from": precise(fleet.clock.utc() + timedelta(hours=1))}
    assert fleet.alice.get(path, params=wrong).status_code == 400


def test_changes_are_told_live_to_their_owner_alone(fleet: Serving, board: Board) -> None:
    ready = threading.Event()

    def listen(client: httpx.Client, headers: dict[str, str], count: int) -> list[dict[str, Any]]:
        heard: list[dict[str, Any]] = []
        accept = {"Accept": "text/event-stream", **headers}
        with client.stream("GET", "/fleet/events", headers=accept) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            for line in answer.iter_lines():
                ready.set()
                if line.startswith("data: "):
                    heard.append(msgspec.json.decode(line[6:]))
                    if len(heard) == count:
                        return heard
        return heard

    with ThreadPoolExecutor(2) as pool:
        live = pool.submit(listen, fleet.alice, {}, 1)
        assert ready.wait(20)
        beat(fleet, board)
        [event] = live.result(20)
        assert (event["to"], event["composite_device_id"]) == ("online", board.id)
        pass_time(fleet, 125)
        sweep(fleet)
        [missed] = pool.submit(listen, fleet.alice, {"Last-Event-ID": str(event["id"])}, 1).result(20)
        assert missed["to"] == "offline"


def test_events_come_in_pages(fleet: Serving, board: Board) -> None:
    beat(fleet, board)
    pass_time(fleet, 300)
    beat(fleet, board)
    first = fleet.alice.get("/fleet/events?limit=1").json()
    second = fleet.alice.get("/fleet/events", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [one["to"] for one in first["events"] + second["events"]] == ["online", "offline", "online"]
    assert "next_cursor" not in second
