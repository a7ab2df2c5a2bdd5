"""The pytest plugin: gives each test a store of its own.

async def test_something(dynamo):                      # an Engine in memory
    await dynamo.call("PutItem", {...})

async def test_durable(dynamo_factory, tmp_path):      # as many as wanted, closed at the end
    engine = await dynamo_factory(tmp_path / "store.db")
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from entrepot.engine.engine import Engine
from entrepot.engine.storage.file import MEMORY

MakeEngine = Callable[..., Awaitable[Engine]]


@pytest.fixture
async def dynamo_factory() -> AsyncIterator[MakeEngine]:
    """Opens stores, and closes them when the test ends."""
    opened: list[Engine] = []

    async def make(path: str | Path = MEMORY, clock: Callable[[], float] | None = None) -> Engine:
        engine = await (Engine.open(path) if clock is None else Engine.open(path, clock=clock))
        opened.append(engine)
        return engine

    yield make
    for engine in opened:
        await engine.close()


@pytest.fixture
async def dynamo(dynamo_factory: MakeEngine) -> Engine:
    """An empty store in memory, for one test."""
    return await dynamo_factory()
