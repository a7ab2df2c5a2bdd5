"""The pytest plugin: gives each test a store of its own, and any suite a second, unkind run.

async def test_something(dynamo):                      # an Engine in memory
    await dynamo.call("PutItem", {...})

async def test_durable(dynamo_factory, tmp_path):      # as many as wanted, closed at the end
    engine = await dynamo_factory(tmp_path / "store.db")

pytest --chaos "throttle=0.05,index_lag_ms=500" --chaos-seed 7      # all of these under chaos
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from entrepot.engine.chaos import Chaos, ChaosError
from entrepot.engine.engine import Engine
from entrepot.engine.storage.file import MEMORY

MakeEngine = Callable[..., Awaitable[Engine]]

_CHAOS = pytest.StashKey[Chaos | None]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("entrepot")
    group.addoption("--chaos", metavar="SETTINGS", help="run every store under chaos: throttle=0.05,…")
    group.addoption("--chaos-seed", metavar="SEED", help="another seed for --chaos")


def pytest_configure(config: pytest.Config) -> None:
    text, seed = config.getoption("--chaos"), config.getoption("--chaos-seed")
    if text is None and seed is not None:
        raise pytest.UsageError("--chaos-seed needs --chaos")
    try:
        chaos = None if text is None else Chaos.parse(text)
    except ChaosError as error:
        raise pytest.UsageError(f"--chaos: {error}") from None
    config.stash[_CHAOS] = chaos if chaos is None or seed is None else chaos.seeded(seed)


def pytest_report_header(config: pytest.Config) -> str | None:
    chaos = config.stash[_CHAOS]
    return None if chaos is None else f"chaos: {chaos}"


@pytest.fixture
def dynamo_chaos(request: pytest.FixtureRequest) -> Chaos | None:
    """What this run asks for; for fixtures that open engines of their own."""
    chaos = request.config.stash[_CHAOS]
    # Of one seed for all, every test would see the same first draws: each has its own, by its name.
    return None if chaos is None else chaos.seeded(f"{chaos.seed}/{request.node.nodeid}")


@pytest.fixture
async def dynamo_factory(dynamo_chaos: Chaos | None) -> AsyncIterator[MakeEngine]:
    """Opens stores, and closes them when the test ends."""
    opened: list[Engine] = []

    async def make(
        path: str | Path = MEMORY,
        clock: Callable[[], float] = time.time,
        chaos: Chaos | str | None = dynamo_chaos,
    ) -> Engine:
        engine = await Engine.open(path, clock=clock, chaos=chaos)
        opened.append(engine)
        return engine

    yield make
    for engine in opened:
        await engine.close()


@pytest.fixture
async def dynamo(dynamo_factory: MakeEngine) -> Engine:
    """An empty store in memory, for one test."""
    return await dynamo_factory()
