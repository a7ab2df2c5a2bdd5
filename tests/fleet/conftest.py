"""A real PostgreSQL for all tests of the fleet, and a fresh database for each."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from entrepot.clock import Clock
from entrepot.fleet import schema
from entrepot.fleet.database import Database
from entrepot.fleet.postgres import EmbeddedPostgres
from entrepot.ids import base62
from tests.fleet.serving import Serving, parts_of, serving

TEMPLATE = "fleet_template"


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedPostgres]:
    """The server of this run, with the schema in a template."""
    directory = Path(tempfile.mkdtemp(prefix="entrepot-fleet-"))
    server = EmbeddedPostgres(directory / "postgres")
    server.start()
    try:
        make_database(server, TEMPLATE, template=None)
        schema.prepare(server.url(database=TEMPLATE))
        yield server
    finally:
        server.stop()
        shutil.rmtree(directory)


def make_database(server: EmbeddedPostgres, name: str, *, template: str | None) -> str:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE {template or "template0"}')
    return server.url(database=name)


@pytest.fixture
def empty_url(server: EmbeddedPostgres) -> Iterator[str]:
    """A database with nothing in it."""
    yield from _database(server, None)


@pytest.fixture
def url(server: EmbeddedPostgres) -> Iterator[str]:
    """A database with the fleet's schema."""
    yield from _database(server, TEMPLATE)


def _database(server: EmbeddedPostgres, template: str | None) -> Iterator[str]:
    name = f"t_{base62(12).lower()}"
    yield make_database(server, name, template=template)
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def sql(url: str) -> Iterator[Callable[..., list[Any]]]:
    """Asks the test's database as its owner, who is above row-level security."""
    with psycopg.connect(url, autocommit=True) as connection:

        def ask(query: str, *values: Any) -> list[Any]:
            cursor = connection.execute(query.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

        yield ask


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    """The way to the test's database, in the test's own loop."""
    database = Database(url=url, embedded=None)
    yield database
    await database.close()


@pytest.fixture
def fleet(url: str, clock: Clock) -> Iterator[Serving]:
    with serving(parts_of(clock, url=url), clock) as served:
        yield served
