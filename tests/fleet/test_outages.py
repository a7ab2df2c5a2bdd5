"""PostgreSQL down or slow: the fleet says so, everything else goes on, and it heals by itself."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from entrepot.clock import Clock
from entrepot.fleet import database
from entrepot.fleet.postgres import EmbeddedPostgres
from tests.fleet.boards import beat, project, register
from tests.fleet.serving import Serving, parts_of, serving
from tests.fleet.waiting import until


@pytest.fixture
def data_path() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="entrepot-outage-"))
    yield path
    shutil.rmtree(path)


def down(fleet: Serving) -> bool:
    return fleet.alice.get("/fleet/projects").status_code == 503


def test_it_starts_on_first_use_survives_a_kill_and_stops_with_the_process(
    data_path: Path, clock: Clock
) -> None:
    pid_file = data_path / "postgres" / "18" / "postmaster.pid"
    with serving(parts_of(clock, data_path=data_path), clock) as fleet:
        assert fleet.nobody.get("/readyz").json()["parts"] == {"fleet": "ok"}
        assert not (data_path / "postgres").exists(), "nobody has used it yet"
        board = register(fleet.alice, project(fleet.alice))
        assert beat(fleet, board).status_code == 200

        os.kill(int(pid_file.read_text().splitlines()[0]), signal.SIGKILL)
        answer = fleet.alice.get("/fleet/projects")
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
        assert answer.json()["error"] == "FLEET_UNAVAILABLE"
        assert fleet.nobody.get("/healthz").status_code == 200
        refused = beat(fleet, board)
        if refused.status_code != 200:
            assert (refused.status_code, refused.json()["success"]) == (503, False)
            assert int(refused.headers["retry-after"]) > 0

        until(lambda: beat(fleet, board).status_code == 200)
        assert fleet.nobody.get("/readyz").status_code == 200
        assert [one["name"] for one in fleet.alice.get("/fleet/projects").json()["projects"]] == [
            "Greenhouse"
        ]
    assert not pid_file.exists(), "it stops with the process"
    with serving(parts_of(clock, data_path=data_path), clock) as fleet:
        until(pid_file.exists)
        assert beat(fleet, board).status_code == 200


def test_a_server_that_is_not_there_is_named_by_readyz(clock: Clock) -> None:
    with serving(parts_of(clock, url="postgresql://x@127.0.0.1:1/x"), clock) as fleet:
        until(lambda: down(fleet))
        answer = fleet.nobody.get("/readyz")
        assert (answer.status_code, list(answer.json()["parts"])) == (503, ["fleet"])
        assert "127.0.0.1" not in answer.text
        assert fleet.nobody.get("/healthz").status_code == 200


def test_a_connection_that_is_cut_is_replaced(fleet: Serving, sql: Any) -> None:
    board = register(fleet.alice, project(fleet.alice))
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'entrepot'")
    until(lambda: beat(fleet, board).status_code == 200)
    until(lambda: not down(fleet))


def test_a_slow_server_is_an_outage_of_the_fleet_alone(
    url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "STATEMENT_SECONDS_MAX", 0.3)
    with serving(parts_of(clock, url=url), clock) as fleet:
        board = register(fleet.alice, project(fleet.alice))
        with psycopg.connect(url) as blocking:
            blocking.execute("LOCK TABLE devices")
            answer = beat(fleet, board)
            assert (answer.status_code, answer.json()["success"]) == (503, False)
            answer = fleet.alice.get(f"/fleet/devices/{board.id}")
            assert (answer.status_code, answer.json()["error"]) == (503, "FLEET_UNAVAILABLE")
            assert fleet.nobody.get("/healthz").status_code == 200
            assert fleet.nobody.get("/readyz").status_code == 200, "it answers, only that table does not"
        assert beat(fleet, board).status_code == 200


def test_a_database_with_a_legacy_fleet_is_not_touched_unasked(empty_url: str, clock: Clock) -> None:
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE devices (id uuid, user_id uuid, api_key text)")
        connection.execute("INSERT INTO devices VALUES (gen_random_uuid(), gen_random_uuid(), 'k')")
        with serving(parts_of(clock, url=empty_url), clock) as fleet:
            until(lambda: down(fleet))
            assert fleet.alice.get("/fleet/projects").json()["error"] == "FLEET_NOT_MIGRATED"
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relname IN ('projects', 'fleet_version')"
        )
        assert tables.fetchall() == []


def test_no_heartbeat_that_was_answered_is_lost_when_the_server_is_killed(
    data_path: Path, clock: Clock
) -> None:
    with serving(parts_of(clock, data_path=data_path), clock) as fleet:
        home = project(fleet.alice)
        boards = [register(fleet.alice, home) for _ in range(8)]
        taken: list[str] = []
        killed = threading.Event()

        def live(number: int) -> None:
            for n in range(60):
                name = f"{number}.{n}"
                if beat(fleet, boards[number], fw_version=name).status_code == 200:
                    taken.append(name)
                if len(taken) >= 100 and not killed.is_set():
                    killed.set()
                    pid = (data_path / "postgres" / "18" / "postmaster.pid").read_text().splitlines()[0]
                    for process in [*psutil.Process(int(pid)).children(), psutil.Process(int(pid))]:
                        with suppress(psutil.NoSuchProcess):
                            process.kill()

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(live, range(8)))
        assert killed.is_set()
        until(lambda: beat(fleet, boards[0]).status_code == 200)
        with psycopg.connect(EmbeddedPostgres(data_path / "postgres").url()) as connection:
            kept = {row[0] for row in connection.execute("SELECT fw_version FROM device_heartbeats")}
    assert set(taken) <= kept
    assert len(taken) >= 100
