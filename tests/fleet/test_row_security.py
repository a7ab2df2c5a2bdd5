"""Row-level security: for every table and verb, one person sees and changes nothing of another's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.fleet.serving import ALICE, BOB

Ask = Callable[..., list[Any]]
Connection = psycopg.Connection[Any]

# Whose rows people see at all; everything else in the schema is closed to them.
ALICES = {
    "projects": "project_id = 'PROJ1'",
    "devices": "project_id = 'PROJ1'",
    "device_heartbeats": "composite_device_id = 'PROJ1'",
    "device_status_events": "composite_device_id = 'PROJ1'",
}
PEOPLES_POLICIES = [
    ("projects", "Users can view their own projects"),
    ("projects", "Users can create projects"),
    ("projects", "Users can update their own projects"),
    ("projects", "Users can delete their own projects"),
    ("devices", "Users can view their own devices"),
    ("devices", "Users can create devices"),
    ("devices", "Users can update their own devices"),
    ("devices", "Users can delete their own devices"),
    ("device_heartbeats", "Users can view their device heartbeats"),
    ("device_status_events", "Users can view their status events"),
    ("fleet_listening", "Users can see since when we listen"),
    ("devices", "Service role can update device status"),
    ("device_heartbeats", "Service role can insert heartbeats"),
]


@pytest.fixture
def two_people(sql: Ask) -> Ask:
    for person, project in ((ALICE, "PROJ1"), (BOB, "PROJ2")):
        sql("INSERT INTO auth.users VALUES (%s)", person)
        sql("INSERT INTO projects (project_id, name, user_id) VALUES (%s, %s, %s)", project, project, person)
        [(device,)] = sql(
            "INSERT INTO devices (composite_device_id, project_id, device_number, name, device_key, device_key_hash,"
            " user_id, status) VALUES (%s, %s, 1, 'Board', '…', 'h', %s, 'online') RETURNING id",
            f"{project}-ESP1", project, person,
        )  # fmt: skip
        sql("INSERT INTO device_heartbeats (device_id, composite_device_id) VALUES (%s, %s)", device, project)
        sql(
            "INSERT INTO device_status_events (device_id, composite_device_id, user_id, from_status, to_status, reason,"
            " at, recorded_at) VALUES (%s, %s, %s, 'waiting', 'online', 'first_heartbeat', now(), now())",
            device, project, person,
        )  # fmt: skip
        sql(
            "INSERT INTO fleet_outbox (user_id, type, subject, data, time) VALUES (%s, 't', 's', '{}', now())",
            person,
        )
        sql(
            "INSERT INTO device_migration_log (device_uuid, new_composite_id, new_project_id, new_device_number,"
            " migration_phase, migrated_by) VALUES (%s, 'x', 'x', 1, 'x', 'x')",
            device,
        )
    return sql


@contextmanager
def acting(
    url: str, person: UUID, role: str = "authenticated", claim: str | None = None
) -> Iterator[Connection]:
    with psycopg.connect(url) as connection:
        connection.execute(f"SET LOCAL ROLE {role}")
        claims = f'{{"sub":"{person}","role":"{claim or role}"}}'
        connection.execute("SELECT set_config('request.jwt.claims', %s, true)", [claims])
        yield connection
        connection.rollback()


def outcome(connection: Connection, statement: str, *values: Any) -> str | int:
    """How many rows a statement touched, or that it was refused; nothing of it stays."""
    connection.execute("SAVEPOINT attempt")
    try:
        return connection.execute(statement.encode(), values or None).rowcount
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ForeignKeyViolation) as error:
        return type(error).__name__
    finally:
        connection.execute("ROLLBACK TO attempt")


def tables(ask: Ask) -> list[str]:
    return [row[0] for row in ask("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
                                  " AND relkind IN ('r', 'p') ORDER BY 1")]  # fmt: skip


NEW_PROJECT = "INSERT INTO projects (project_id, name, user_id) VALUES ('PROJ3', 'new', %s)"
NEW_DEVICE = (
    "INSERT INTO devices (composite_device_id, project_id, device_number, name, device_key, device_key_hash, user_id)"
    " VALUES (%s || '-ESP2', %s, 2, 'planted', '…', 'h', %s)"
)
REFUSED = "InsufficientPrivilege"


def prove(url: str, ask: Ask) -> None:
    """Bob reaches nothing of Alice's, and each reaches what is their own."""
    with acting(url, BOB) as bob:
        for table in tables(ask):
            if table in ALICES:
                assert outcome(bob, f"SELECT FROM {table}") == 1, table
                assert outcome(bob, f"SELECT FROM {table} WHERE {ALICES[table]}") == 0, table
                own = 1 if table in ("projects", "devices") else REFUSED
                assert outcome(bob, f"DELETE FROM {table}") == own, table
            elif table == "fleet_listening":
                assert outcome(bob, f"SELECT FROM {table}") == 1
                assert outcome(bob, f"DELETE FROM {table}") == REFUSED
            else:
                for verb in (f"SELECT FROM {table}", f"DELETE FROM {table}"):
                    assert outcome(bob, verb) == REFUSED, verb
            assert outcome(bob, f"TRUNCATE {table} CASCADE") == REFUSED, table
        assert outcome(bob, "UPDATE projects SET name = 'taken ' || project_id") == 1
        assert outcome(bob, "UPDATE devices SET name = 'taken'") == 1
        assert outcome(bob, "UPDATE projects SET name = 'x' WHERE project_id = 'PROJ1'") == 0
        assert outcome(bob, "UPDATE devices SET name = 'x' WHERE composite_device_id = 'PROJ1-ESP1'") == 0
        for column in ("user_id = gen_random_uuid()", "project_id = 'PROJ5'", "id = gen_random_uuid()"):
            assert outcome(bob, f"UPDATE projects SET {column}") == REFUSED, column
            assert outcome(bob, f"UPDATE devices SET {column}") == REFUSED, column
        assert outcome(bob, "UPDATE devices SET status = 'online'") == REFUSED
        assert outcome(bob, NEW_PROJECT, ALICE) == REFUSED
        assert outcome(bob, NEW_PROJECT, BOB) == 1
        assert outcome(bob, NEW_DEVICE, "PROJ1", "PROJ1", ALICE) == REFUSED
        assert outcome(bob, NEW_DEVICE, "PROJ1", "PROJ1", BOB) == "ForeignKeyViolation", (
            "planted in Alice's project"
        )
        assert outcome(bob, NEW_DEVICE, "PROJ2", "PROJ2", BOB) == 1
        beat = "INSERT INTO device_heartbeats (device_id, composite_device_id) SELECT id, 'x' FROM devices"
        assert outcome(bob, beat) == REFUSED
        for function in ("fleet_know_user(auth.uid())", "fleet_forget_user(auth.uid())", "nextval('projects_seq')",
                         "fleet_keep_partitions(now())"):  # fmt: skip
            assert outcome(bob, f"SELECT {function}") == REFUSED, function
    with acting(url, ALICE, role="anon") as nobody:
        for table in tables(ask):
            assert outcome(nobody, f"SELECT FROM {table}") == REFUSED, table
        assert outcome(nobody, "SELECT generate_project_id()") == REFUSED
    prove_service_policies(url, ask)


def prove_service_policies(url: str, ask: Ask) -> None:
    # The service role is above all policies; the seed's own show in a role that is not.
    ask("DO $$ BEGIN CREATE ROLE probe NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    ask("GRANT UPDATE, SELECT ON devices TO probe")
    ask("GRANT INSERT ON device_heartbeats TO probe")
    ask("GRANT USAGE ON SCHEMA auth TO probe")
    beat = "INSERT INTO device_heartbeats (device_id, composite_device_id) VALUES (%s, 'x')"
    [(device,)] = ask("SELECT id FROM devices LIMIT 1")
    with acting(url, UUID(int=0), role="probe", claim="service_role") as service:
        assert outcome(service, "UPDATE devices SET status = 'offline'") == 2
        assert outcome(service, beat, device) == 1
    with acting(url, UUID(int=0), role="probe") as other:
        assert outcome(other, "UPDATE devices SET status = 'offline'") == 0
        assert outcome(other, beat, device) == REFUSED


def test_nobody_reaches_anything_of_anothers(url: str, two_people: Ask) -> None:
    prove(url, two_people)


@pytest.mark.parametrize(("table", "policy"), PEOPLES_POLICIES)
def test_the_proof_fails_without_any_one_policy(url: str, two_people: Ask, table: str, policy: str) -> None:
    two_people(f'DROP POLICY "{policy}" ON {table}')
    with pytest.raises(AssertionError):
        prove(url, two_people)


def test_every_policy_is_among_those_that_are_proven(sql: Ask) -> None:
    found = sql("SELECT tablename, policyname FROM pg_policies WHERE schemaname = 'public'")
    owners = {("fleet_version", "The owner migrates"), ("device_migration_log", "The owner reads the log")}
    assert set(found) == {*PEOPLES_POLICIES, *owners}


@pytest.mark.parametrize("table", ["projects", "devices", "device_heartbeats", "device_status_events"])
def test_the_proof_fails_without_security_on_a_table(url: str, two_people: Ask, table: str) -> None:
    two_people(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    with pytest.raises(AssertionError):
        prove(url, two_people)


def test_security_is_on_and_forced_on_every_table_and_partition(sql: Ask) -> None:
    open_ones = sql(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
        " AND NOT (relrowsecurity AND relforcerowsecurity)"
    )
    assert open_ones == []
    assert any(name.startswith("device_heartbeats_2") for name in tables(sql))


def test_a_connection_without_a_person_sees_nothing(url: str, two_people: Ask) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("SET LOCAL ROLE authenticated")
        assert outcome(connection, "SELECT FROM projects") == 0
        assert outcome(connection, "SELECT FROM devices") == 0
