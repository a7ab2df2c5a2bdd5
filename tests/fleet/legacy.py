"""A legacy database as the seed's phase 0 implies it: 3 users, 57 devices, their heartbeats."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg

USERS = [UUID(int=n) for n in (3, 1, 2)]
"""By age; their ids say nothing of it."""
DEVICES_OF_USER = [25, 20, 12]
BEGAN = datetime(2024, 1, 1, tzinfo=UTC)


def device_of(user: int, number: int) -> UUID:
    # Against the order of age, so that nothing is right by chance.
    return UUID(int=(user + 1) * 1000 - number)


def key_of(user: int, number: int) -> str:
    return f"legacy-key-{user}-{number}"


def make_legacy(url: str, *, with_dates: bool = True) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA auth")
        connection.execute("CREATE TABLE auth.users (id uuid PRIMARY KEY)")
        dates = ", name text, created_at timestamptz NOT NULL DEFAULT now()" if with_dates else ""
        connection.execute(
            "CREATE TABLE devices (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), api_key text, api_key_hash text,"
            " user_id uuid NOT NULL REFERENCES auth.users (id) ON DELETE CASCADE,"
            f" status text NOT NULL DEFAULT 'waiting', last_seen_at timestamptz{dates})".encode()
        )
        connection.execute(
            "CREATE TABLE device_heartbeats (id bigserial PRIMARY KEY, device_id uuid NOT NULL REFERENCES devices (id),"
            " rssi integer, ip_address text, fw_version text, ts timestamptz NOT NULL DEFAULT now())"
        )
        for user, person in enumerate(USERS):
            connection.execute("INSERT INTO auth.users VALUES (%s)", [person])
            for number in range(DEVICES_OF_USER[user]):
                _add(connection, user, number, with_dates=with_dates)
        connection.execute("INSERT INTO device_heartbeats (device_id, rssi) SELECT id, -50 FROM devices")


def _add(connection: psycopg.Connection[Any], user: int, number: int, *, with_dates: bool) -> None:
    key = key_of(user, number)
    # Every third device never got a hash: the key itself is all there is.
    digest = hashlib.sha256(key.encode()).hexdigest() if number % 3 else None
    connection.execute(
        "INSERT INTO devices (id, api_key, api_key_hash, user_id, status, last_seen_at)"
        " VALUES (%s, %s, %s, %s, 'offline', %s)",
        [device_of(user, number), key, digest, USERS[user], BEGAN],
    )
    if with_dates:
        connection.execute(
            "UPDATE devices SET created_at = %s, name = %s WHERE id = %s",
            [BEGAN + timedelta(days=user, minutes=number), f"Pump {number}", device_of(user, number)],
        )


def snapshot(url: str) -> dict[str, Any]:
    """What a legacy program sees."""
    with psycopg.connect(url) as connection:
        devices = "SELECT id, api_key_hash, user_id, status, last_seen_at FROM devices ORDER BY id"
        beats = "SELECT device_id, rssi, ts FROM device_heartbeats ORDER BY device_id"
        columns = (
            "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns"
            " WHERE table_schema = 'public' AND table_name IN ('devices', 'device_heartbeats') ORDER BY 1, 2"
        )
        tables = "SELECT relname, relrowsecurity FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'fleet_version' ORDER BY 1"  # noqa: E501
        return {
            "devices": connection.execute(devices).fetchall(),
            "heartbeats": connection.execute(beats).fetchall(),
            "columns": connection.execute(columns).fetchall(),
            "tables": connection.execute(tables).fetchall(),
        }
