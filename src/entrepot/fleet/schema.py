"""Brings a database to a phase of the seed and back, with Alembic; blocking, so call it from a thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import psycopg
from alembic import command
from alembic.config import Config
from sqlalchemy import NullPool, create_engine
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from entrepot.fleet.errors import NotMigrated
from entrepot.fleet.phases import LAST_PHASE, PHASES, VERSION_TABLE
from entrepot.fleet.postgres import PostgresError

CONNECT_SECONDS_MAX = 5

Progress = Callable[[str], None]
Plain = psycopg.Connection[Any]


class Move(msgspec.Struct, frozen=True):
    """What became of one legacy device."""

    device_uuid: str
    composite_device_id: str


def prepare(url: str) -> None:
    """Bring the database of a running service to the last phase; a legacy fleet is not moved unasked."""
    with _session(url) as (reading, migrating):
        phase = _phase(reading)
        if phase == LAST_PHASE:
            return
        count = _legacy_devices(reading)
        if count:
            raise NotMigrated(
                f"the database holds {count} legacy devices in {phase or 'phase_0'}: run `entrepot fleet migrate`"
            )
        _run(migrating, phase, LAST_PHASE, lambda _: None)


def migrate(url: str, *, to: str = LAST_PHASE, dry_run: bool = False, progress: Progress) -> list[Move]:
    """Go to a phase, forwards or back; a dry run does all of it and takes it back. Answers what moved."""
    with _session(url) as (reading, migrating):
        phase = _phase(reading)
        before = _last_move(reading)
        if not dry_run:
            _run(migrating, phase, to, progress)
            return _moves(reading, before)
        with migrating.begin() as transaction:
            _run(migrating, phase, to, progress)
            moves = _moves(driver_of(migrating), before)
            transaction.rollback()
        return moves


def phase_of(url: str) -> str | None:
    """The phase that a database is in; None when we never touched it."""
    with psycopg.connect(url, connect_timeout=CONNECT_SECONDS_MAX, autocommit=True) as reading:
        return _phase(reading)


def driver_of(connection: Connection) -> Plain:
    """The driver's own connection: SQLAlchemy would look for parameters in our statements."""
    found = connection.connection.driver_connection
    if not isinstance(found, psycopg.Connection):
        raise TypeError(f"the migration's connection is a {type(found).__name__}")
    return found


def _run(migrating: Connection, now: str | None, to: str, progress: Progress) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes.update(connection=migrating, progress=progress)
    back = now is not None and (to == "base" or PHASES.index(to) < PHASES.index(now))
    (command.downgrade if back else command.upgrade)(config, to)


def _phase(reading: Plain) -> str | None:
    if not _exists(reading, VERSION_TABLE):
        return None
    row = reading.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
    return row[0] if row else None


def _legacy_devices(reading: Plain) -> int:
    if not _exists(reading, "devices"):
        return 0
    column = "SELECT FROM pg_attribute WHERE attrelid = 'devices'::regclass AND attname = 'project_id'"
    without = "WHERE project_id IS NULL" if reading.execute(column).fetchone() is not None else ""
    return _number(reading, f"SELECT count(*) FROM devices {without}")


def _last_move(reading: Plain) -> int:
    if not _exists(reading, "device_migration_log"):
        return 0
    return _number(reading, "SELECT coalesce(max(id), 0) FROM device_migration_log")


def _moves(reading: Plain, after: int) -> list[Move]:
    if not _exists(reading, "device_migration_log"):
        return []
    query = "SELECT device_uuid::text, new_composite_id FROM device_migration_log WHERE id > %s ORDER BY id"
    return [Move(*row) for row in reading.execute(query, [after])]


def _exists(reading: Plain, table: str) -> bool:
    row = reading.execute("SELECT to_regclass(%s)", [f"public.{table}"]).fetchone()
    return row is not None and row[0] is not None


def _number(reading: Plain, query: str) -> int:
    row = reading.execute(query.encode()).fetchone()
    return int(row[0]) if row else 0


class _Session(NamedTuple):
    reading: Plain
    migrating: Connection


@contextmanager
def _session(url: str) -> Iterator[_Session]:
    def connect() -> Plain:
        return psycopg.connect(url, connect_timeout=CONNECT_SECONDS_MAX)

    engine = create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_SECONDS_MAX, autocommit=True) as reading:
            # One migration at a time, whoever starts it; the lock goes with the connection.
            reading.execute("SELECT pg_advisory_lock(hashtext('entrepot fleet migration'))")
            with engine.connect() as migrating:
                yield _Session(reading, migrating)
    except (psycopg.Error, SQLAlchemyError) as error:
        raise PostgresError(f"the schema can't be made: {' '.join(str(error).split())}") from error
