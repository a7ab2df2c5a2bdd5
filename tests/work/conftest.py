"""A work service on a real store, with a clock that tests move."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.tables import Database, provision
from entrepot.work import Work
from entrepot.work.model import work as work_table
from tests.work.model import Tallies, tallies


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def engine(clock: Clock) -> AsyncIterator[Engine]:
    engine = await Engine.open(":memory:", clock=lambda: clock.epoch_ms() / 1000)
    yield engine
    await engine.close()


@pytest.fixture
async def db(engine: Engine, clock: Clock) -> Database:
    db = Database(engine, clock=clock)
    await provision(db, [work_table, tallies])
    return db


@pytest.fixture
def work(db: Database) -> Work:
    return Work(db)


@pytest.fixture
def counts(db: Database) -> Tallies:
    return Tallies(db)
