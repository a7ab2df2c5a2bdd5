"""A relay on a real store, and a receiver."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack

import pytest

from entrepot.accounts import passwords
from entrepot.accounts.model import main
from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.relay.model import events
from entrepot.tables import Database, provision
from entrepot.work.model import work as work_table
from tests.accounts.conftest import QUICK_COST, Install, Installation, running
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


@pytest.fixture(scope="module")
def install(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Install]:
    """Starts whole installations on real ports."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setattr(passwords, "COST", QUICK_COST)

        def start(**settings: str) -> Installation:
            return stack.enter_context(running(tmp_path_factory.mktemp("relay"), **settings))

        yield start
