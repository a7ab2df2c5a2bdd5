"""The phases of the seed on real data: forwards, back, dry, and on a database as Supabase has it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from typing import Any

import psycopg
import pytest

from entrepot.clock import Clock
from entrepot.fleet import schema
from entrepot.fleet.errors import NotMigrated
from entrepot.fleet.phases import LAST_PHASE, PHASES
from entrepot.fleet.postgres import EmbeddedPostgres, PostgresError
from tests.fleet.boards import beat, project, register
from tests.fleet.legacy import DEVICES_OF_USER, USERS, device_of, key_of, make_legacy, snapshot
from tests.fleet.serving import parts_of, serving


def silent(_: str) -> None:
    pass


def rows(url: str, query: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


def test_fifty_seven_devices_of_three_users_get_projects_of_twenty(empty_url: str) -> None:
    make_legacy(empty_url)
    moves = schema.migrate(empty_url, progress=silent)
    assert len(moves) == 57
    assert schema.phase_of(empty_url) == LAST_PHASE
    per_project = rows(
        empty_url, "SELECT project_id, user_id, count(*) FROM devices GROUP BY 1, 2 ORDER BY 1"
    )
    assert per_project == [
        ("PROJ0", USERS[0], 20),
        ("PROJ1", USERS[0], 5),
        ("PROJ2", USERS[1], 20),
        ("PROJ3", USERS[2], 12),
    ]
    named = dict(rows(empty_url, "SELECT id, composite_device_id FROM devices"))
    assert named[device_of(0, 0)] == "PROJ0-ESP1"
    assert named[device_of(0, 19)] == "PROJ0-ESP20"
    assert named[device_of(0, 20)] == "PROJ1-ESP1"
    assert named[device_of(2, 11)] == "PROJ3-ESP12"
    logged = rows(
        empty_url,
        "SELECT device_uuid, new_composite_id, migration_phase, old_api_key_hash FROM device_migration_log",
    )
    assert {(one[0], one[1]) for one in logged} == set(named.items())
    assert {one[2] for one in logged} == {"phase_3_batch"}


def test_no_key_stays_in_clear_and_every_hash_is_right(empty_url: str) -> None:
    make_legacy(empty_url)
    schema.migrate(empty_url, progress=silent)
    kept = rows(empty_url, "SELECT id, device_key, device_key_hash, to_jsonb(devices)::text FROM devices")
    by_id = {one[0]: one for one in kept}
    for user, count in enumerate(DEVICES_OF_USER):
        for number in range(count):
            _, hint, digest, everything = by_id[device_of(user, number)]
            key = key_of(user, number)
            assert digest == hashlib.sha256(key.encode()).hexdigest()
            assert hint == f"…{key[-4:]}"
            assert key not in everything
    log = rows(empty_url, "SELECT to_jsonb(l)::text FROM device_migration_log l")
    assert not any("legacy-key" in row[0] for row in log)
    assert not any(name in row for row in rows(empty_url, "SELECT attname FROM pg_attribute WHERE attrelid ="
                   " 'devices'::regclass AND NOT attisdropped") for name in ("api_key", "api_key_hash"))  # fmt: skip


def test_back_to_phase_0_a_legacy_program_finds_everything_as_it_was(empty_url: str) -> None:
    make_legacy(empty_url)
    before = snapshot(empty_url)
    schema.migrate(empty_url, to="phase_3", progress=silent)
    schema.migrate(empty_url, to="phase_0", progress=silent)
    after = snapshot(empty_url)
    with_hash = [one for one in before["devices"] if one[1] is not None]
    assert [one for one in after["devices"] if one in with_hash] == with_hash
    assert [one[0] for one in after["devices"]] == [one[0] for one in before["devices"]]
    assert after["heartbeats"] == before["heartbeats"]
    assert after["columns"] == before["columns"]
    assert after["tables"] == before["tables"]
    assert rows(empty_url, "SELECT count(*) FROM devices WHERE api_key IS NULL") == [(0,)]


def test_forwards_back_and_forwards_again_ends_the_same_way(empty_url: str) -> None:
    make_legacy(empty_url)
    first = schema.migrate(empty_url, progress=silent)
    schema.migrate(empty_url, to="phase_0", progress=silent)
    assert rows(empty_url, "SELECT count(*) FROM devices WHERE api_key_hash IS NOT NULL") == [(57,)]
    again = schema.migrate(empty_url, progress=silent)
    assert {one.device_uuid for one in again} == {one.device_uuid for one in first}
    assert len({one.composite_device_id for one in again}) == 57
    assert rows(empty_url, "SELECT count(*) FROM device_heartbeats") == [(57,)]


def test_boards_registered_since_survive_the_way_back(empty_url: str, clock: Clock) -> None:
    make_legacy(empty_url)
    schema.migrate(empty_url, progress=silent)
    with serving(parts_of(clock, url=empty_url), clock) as fleet:
        new = register(fleet.alice, project(fleet.alice))
    schema.migrate(empty_url, to="phase_2", progress=silent)
    kept = rows(empty_url, "SELECT composite_device_id FROM devices WHERE composite_device_id IS NOT NULL")
    assert kept == [(new.id,)]
    assert rows(empty_url, "SELECT name FROM projects") == [("Greenhouse",)]
    schema.migrate(empty_url, progress=silent)
    with serving(parts_of(clock, url=empty_url), clock) as fleet:
        assert beat(fleet, new).status_code == 200


def test_a_legacy_board_heartbeats_with_its_uuid_and_old_key_afterwards(empty_url: str, clock: Clock) -> None:
    make_legacy(empty_url)
    schema.migrate(empty_url, progress=silent)
    with serving(parts_of(clock, url=empty_url), clock) as fleet:
        headers = {"x-device-uuid": str(device_of(1, 3)), "x-device-key": key_of(1, 3)}
        answer = fleet.nobody.post("/fleet/device-heartbeat", headers=headers, json={})
        assert (answer.status_code, answer.json()["device_id"]) == (200, "PROJ2-ESP4")


def test_devices_without_dates_or_names_are_ordered_by_id(empty_url: str) -> None:
    make_legacy(empty_url, with_dates=False)
    moves = schema.migrate(empty_url, progress=silent)
    assert len(moves) == 57
    [(first,)] = rows(empty_url, "SELECT id FROM devices WHERE composite_device_id = 'PROJ0-ESP1'")
    assert first == device_of(1, 19), "the lowest user id, then the lowest device id"
    assert rows(empty_url, "SELECT count(*) FROM devices WHERE name LIKE 'Device %'") == [(57,)]


def test_a_dry_run_shows_every_move_and_changes_nothing(empty_url: str) -> None:
    make_legacy(empty_url)
    before = snapshot(empty_url)
    moves = schema.migrate(empty_url, dry_run=True, progress=silent)
    assert len(moves) == 57
    assert (schema.phase_of(empty_url), snapshot(empty_url)) == (None, before)
    assert schema.migrate(empty_url, progress=silent) == moves


def test_a_service_does_not_move_a_legacy_fleet_unasked(empty_url: str) -> None:
    make_legacy(empty_url)
    with pytest.raises(NotMigrated, match="57 legacy devices"):
        schema.prepare(empty_url)
    schema.migrate(empty_url, to="phase_2", progress=silent)
    with pytest.raises(NotMigrated, match="phase_2"):
        schema.prepare(empty_url)


def test_every_phase_is_reached_from_every_other(empty_url: str) -> None:
    for name in [*PHASES, *reversed(PHASES), "phase_4", "phase_1", "phase_3", "phase_0"]:
        schema.migrate(empty_url, to=name, progress=silent)
        assert schema.phase_of(empty_url) == name


def test_a_database_that_is_not_there_is_an_error_of_one_line(server: EmbeddedPostgres) -> None:
    with pytest.raises(PostgresError) as refused:
        schema.prepare(server.url(database="nowhere"))
    assert "\n" not in str(refused.value)


def test_supabase_roles_and_schema_are_used_as_they_are(
    server: EmbeddedPostgres, empty_url: str, clock: Clock
) -> None:
    with psycopg.connect(empty_url, autocommit=True) as connection:
        for role in ("supabase_auth_admin NOLOGIN", "supabase_like LOGIN CREATEROLE BYPASSRLS"):
            connection.execute(
                f"DO $$ BEGIN CREATE ROLE {role}; EXCEPTION WHEN duplicate_object THEN NULL; END $$".encode()
            )
        connection.execute("GRANT anon, authenticated, service_role TO supabase_like")
        [(name,)] = connection.execute("SELECT current_database()").fetchall()
        connection.execute(f'ALTER DATABASE "{name}" OWNER TO supabase_like'.encode())
        connection.execute(
            """
            CREATE SCHEMA auth AUTHORIZATION supabase_auth_admin;
            SET ROLE supabase_auth_admin;
            CREATE TABLE auth.users (id uuid PRIMARY KEY, email text, is_sso_user boolean NOT NULL DEFAULT false);
            ALTER TABLE auth.users ENABLE ROW LEVEL SECURITY;
            CREATE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE AS $$ SELECT coalesce(
              nullif(current_setting('request.jwt.claim.sub', true), ''),
              (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'))::uuid $$;
            CREATE FUNCTION auth.role() RETURNS text LANGUAGE sql STABLE AS $$ SELECT coalesce(
              nullif(current_setting('request.jwt.claim.role', true), ''),
              (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role'))::text $$;
            GRANT USAGE ON SCHEMA auth TO anon, authenticated, service_role, supabase_like;
            GRANT ALL ON auth.users TO supabase_like;
            RESET ROLE;
            GRANT USAGE ON SCHEMA public TO anon, authenticated, service_role;
            ALTER DEFAULT PRIVILEGES FOR ROLE supabase_like IN SCHEMA public
              GRANT ALL ON TABLES TO anon, authenticated, service_role;
            ALTER DEFAULT PRIVILEGES FOR ROLE supabase_like IN SCHEMA public
              GRANT ALL ON SEQUENCES TO anon, authenticated, service_role;
            ALTER DEFAULT PRIVILEGES FOR ROLE supabase_like IN SCHEMA public
              GRANT ALL ON FUNCTIONS TO anon, authenticated, service_role;
            """
        )
    url = server.url(user="supabase_like", database=name)
    with serving(parts_of(clock, url=url), clock) as fleet:
        board = register(fleet.alice, project(fleet.alice))
        assert beat(fleet, board).status_code == 200
        assert fleet.bob.get(f"/fleet/devices/{board.id}").status_code == 404
        assert len(fleet.alice.get(f"/fleet/devices/{board.id}/heartbeats").json()["heartbeats"]) == 1
        for table in ("fleet_outbox", "device_migration_log", f"device_heartbeats_{clock.utc():%Y_%m}"):
            for role in ("anon", "authenticated"):
                with psycopg.connect(empty_url) as connection:
                    connection.execute(f"SET LOCAL ROLE {role}".encode())
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        connection.execute(f"SELECT FROM {table}".encode())
    schema.migrate(url, to="phase_0", progress=silent)


def test_the_command_shows_progress_and_the_log(empty_url: str) -> None:
    make_legacy(empty_url)

    def run(*more: str) -> str:
        program = [sys.executable, "-m", "entrepot", "fleet", "migrate", "--from", empty_url, *more]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ENTREPOT_")}
        return subprocess.run(
            program, capture_output=True, text=True, check=True, timeout=120, env=kept
        ).stdout

    dry = run("--dry-run")
    assert "57 devices moved" in dry
    assert "nothing was changed" in dry
    done = run()
    assert f"{device_of(0, 0)}  PROJ0-ESP1" in done
    assert "phase_3 forwards" in done
    assert "phase_4 back" in run("--to", "3")


def test_an_owner_who_is_below_row_level_security_can_migrate_and_serve(
    server: EmbeddedPostgres, empty_url: str, clock: Clock
) -> None:
    make_legacy(empty_url)
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute(
            "DO $$ BEGIN CREATE ROLE plain_owner LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
        connection.execute("GRANT anon, authenticated, service_role TO plain_owner")
        [(name,)] = connection.execute("SELECT current_database()").fetchall()
        connection.execute(f'ALTER DATABASE "{name}" OWNER TO plain_owner'.encode())
        connection.execute("ALTER SCHEMA auth OWNER TO plain_owner")
        for table in ("auth.users", "devices", "device_heartbeats"):
            connection.execute(f"ALTER TABLE {table} OWNER TO plain_owner".encode())
    url = server.url(user="plain_owner", database=name)
    assert len(schema.migrate(url, progress=silent)) == 57
    with serving(parts_of(clock, url=url), clock) as fleet:
        board = register(fleet.alice, project(fleet.alice))
        assert beat(fleet, board).status_code == 200
        assert fleet.run(fleet.part.work.keep_partitions()) == ([], [])
        assert fleet.bob.get(f"/fleet/devices/{board.id}").status_code == 404
    schema.migrate(url, to="phase_0", progress=silent)
    assert rows(empty_url, "SELECT count(*) FROM devices") == [(58,)]
    assert rows(empty_url, "SELECT count(*) FROM device_heartbeats") == [(58,)]
    assert rows(empty_url, "SELECT count(*) FROM devices WHERE api_key_hash IS NULL") == [(0,)]
