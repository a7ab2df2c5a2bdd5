"""Workers as real processes: killed while they deliver, nothing is lost; side by side, nothing is sent twice."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from entrepot.accounts.model import main
from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.relay.model import Event, events
from entrepot.relay.worker import LEASE_SECONDS
from entrepot.tables import Database, provision
from entrepot.work.model import work as work_table
from tests.relay.world import Receiver, World

pytestmark = pytest.mark.anyio

EVENTS = 300
SOAK_EVENTS = 10_000
DEADLINE_SECONDS = 240


async def start_worker(store: Path, offset_seconds: float = 0) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.relay.worker_process", str(store), str(offset_seconds),
        stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert process.stdout is not None
    assert await process.stdout.readline() == b"working\n"
    return process


async def end(process: asyncio.subprocess.Process, number: int) -> None:
    process.send_signal(number)
    await process.communicate()


@asynccontextmanager
async def opened(store: Path) -> AsyncIterator[World]:
    """This process only puts events; others deliver them."""
    clock = Clock()
    engine = await Engine.open(store, clock=lambda: clock.epoch_ms() / 1000)
    await provision(Database(engine, clock=clock), [main, events, work_table])
    world = World(engine, clock)
    await world.make_source()
    yield world
    await world.relay.stop()
    await engine.close()


async def seen(receiver: Receiver, count: int) -> None:
    """Wait until so many events have arrived."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while len(receiver.ids) < count:
            receiver.arrived.clear()
            await receiver.arrived.wait()


async def statuses(world: World, received: list[Event]) -> set[str]:
    return {(await world.event(event)).status for event in received}


async def kill_in_turns(tmp_path: Path, receiver: Receiver, count: int, kills: int) -> None:
    store = tmp_path / "store.db"
    async with opened(store) as world:
        await world.connect(receiver.url)
        received = [await world.receive() for _ in range(count)]
        for turn in range(1, kills + 1):
            worker = await start_worker(store)
            await seen(receiver, count * turn // (kills + 1))
            await end(worker, signal.SIGKILL)
        # The leases of the dead have passed for one whose clock is ahead.
        last = await start_worker(store, LEASE_SECONDS * 2)
        await seen(receiver, count)
        await end(last, signal.SIGTERM)
        # What had arrived when its worker died, but was not written down, is delivered once more.
        await world.settle(seconds=LEASE_SECONDS * 4)
        assert await statuses(world, received) == {"delivered"}
    assert set(receiver.ids) == {event.eventId for event in received}


async def test_nothing_is_lost_when_workers_are_killed_while_they_deliver(
    tmp_path: Path, receiver: Receiver
) -> None:
    await kill_in_turns(tmp_path, receiver, EVENTS, kills=3)


@pytest.mark.soak
@pytest.mark.timeout(1200)
async def test_nothing_of_ten_thousand_events_is_lost_to_kills(tmp_path: Path, receiver: Receiver) -> None:
    await kill_in_turns(tmp_path, receiver, SOAK_EVENTS, kills=20)


async def test_two_workers_make_no_attempt_twice(tmp_path: Path, receiver: Receiver) -> None:
    store = tmp_path / "store.db"
    async with opened(store) as world:
        await world.connect(receiver.url)
        workers = [await start_worker(store) for _ in range(2)]
        received = [await world.receive() for _ in range(EVENTS)]
        await seen(receiver, EVENTS)
        for worker in workers:
            await end(worker, signal.SIGTERM)
        assert await statuses(world, received) == {"delivered"}
    assert receiver.ids == {event.eventId: 1 for event in received}
