"""A relay on a real store, and a receiver."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from entrepot.accounts.model import main
from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.relay.model import events
from entrepot.tables import Database, provision
from entrepot.work.model import work as work_table
from tests.relay.world import Receiver, World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = Clock()
    engine = await Engine.open(":memory:", clock=lambda: clock.epoch_ms() / 1000)
    await provision(Database(engine, clock=clock), [main, events, work_table])
    made = World(engine, clock)
    await made.make_source()
    yield made
    await made.relay.stop()
    await engine.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    await made.start()
    yield made
    await made.stop()
