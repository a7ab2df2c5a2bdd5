"""The worker finds work by itself, shares slots fairly, and gives back what it can't end."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter

import pytest

from entrepot.clock import Clock
from entrepot.tables import Database, TransactionLost
from entrepot.work import DONE, Again, Lease, Outcome, Work, Worker, WorkItem
from entrepot.work.kinds import Kind
from entrepot.work.lanes import Lane
from tests.work.model import Tally

pytestmark = pytest.mark.anyio

PATIENCE_SECONDS = 10


class Gate:
    """A handler that begins, waits to be let through, and ends."""

    def __init__(self) -> None:
        self.began: asyncio.Queue[WorkItem] = asyncio.Queue()
        self.open = asyncio.Event()
        self.running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    async def __call__(self, item: WorkItem, lease: Lease) -> Outcome:
        key = str(item.arguments.get("key"))
        self.running[key] += 1
        self.most[key] = max(self.most[key], self.running[key])
        self.began.put_nowait(item)
        try:
            await self.open.wait()
        finally:
            self.running[key] -= 1
        return DONE

    async def next(self) -> WorkItem:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.began.get()

    async def let_through(self, count: int) -> list[WorkItem]:
        self.open.set()
        return [await self.next() for _ in range(count)]


async def gone(work: Work, item: WorkItem) -> None:
    """Waits until work is done."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await work.claims.items.one(item.workId).get() is not None:  # noqa: ASYNC110
            await asyncio.sleep(0)


async def test_work_that_is_put_here_starts_at_once_already_claimed(work: Work, db: Database) -> None:
    gate = Gate()
    work.handle("test.kind", gate)
    worker = Worker(work)
    await worker.start()
    async with db.transaction() as transaction:
        item = work.put(transaction, kind="test.kind", subject="a")
    assert item.leaseId is not None
    stored = await work.claims.items.one(item.workId).required()
    assert (stored.leaseId, stored.attempts) == (item.leaseId, 1)
    assert (await gate.next()).workId == item.workId
    gate.open.set()
    await gone(work, item)
    await worker.stop()


async def test_work_of_a_transaction_that_failed_frees_its_slot(work: Work, db: Database) -> None:
    gate = Gate()
    work.handle("test.kind", gate, concurrency=1)
    worker = Worker(work)
    await worker.start()
    await db.create(Tally(name="taken"))

    async def fail() -> None:
        async with db.transaction() as transaction:
            transaction.create(Tally(name="taken"))
            work.put(transaction, kind="test.kind")

    for _ in range(3):
        with pytest.raises(TransactionLost):
            await fail()
    gc.collect()
    await asyncio.sleep(0)
    assert work.lane("test.kind").slots.running == 0
    item = await work.add(kind="test.kind")
    assert item.leaseId is not None
    await gate.let_through(1)
    await worker.stop()


async def test_work_that_another_process_put_is_found(work: Work, db: Database) -> None:
    gate = Gate()
    work.handle("test.kind", gate, shards=4)
    other = Work(db)
    other.handle("test.kind", gate, shards=4)
    worker = Worker(work)
    await worker.start()
    items = [await other.add(kind="test.kind") for _ in range(80)]
    assert {item.duePk for item in items} == {f"DUE#test.kind#{shard}" for shard in range(4)}
    done = await gate.let_through(80)
    assert {item.workId for item in done} == {item.workId for item in items}
    await worker.stop()


async def test_more_work_than_slots_waits_unclaimed(work: Work) -> None:
    gate = Gate()
    work.handle("test.kind", gate, concurrency=3)
    worker = Worker(work)
    await worker.start()
    items = [await work.add(kind="test.kind") for _ in range(10)]
    for _ in range(3):
        await gate.next()
    stored = [await work.claims.items.one(item.workId).required() for item in items]
    assert sum(item.leaseId is not None for item in stored) == 3
    await gate.let_through(7)
    assert max(gate.most.values()) == 3
    await worker.stop()


async def test_a_key_has_no_more_than_its_slots_and_starves_no_other(work: Work, db: Database) -> None:
    gate = Gate()
    work.handle("test.kind", gate, concurrency=8, key_concurrency=3)
    elsewhere = Work(db)
    elsewhere.handle("test.kind", gate, concurrency=8, key_concurrency=3)
    for _ in range(500):
        await elsewhere.add(kind="test.kind", arguments={"key": "slow"}, key="slow")
    late = await elsewhere.add(kind="test.kind", arguments={"key": "quick"}, key="quick")
    worker = Worker(work)
    await worker.start()
    # Nothing of the slow key ends, yet the work of the other, behind five hundred of it, begins.
    began = [await gate.next() for _ in range(4)]
    assert late.workId in {item.workId for item in began}
    assert gate.most["slow"] == 3
    await gate.let_through(497)
    await worker.stop()


async def test_many_slow_keys_together_leave_a_slot_to_a_new_one(work: Work) -> None:
    lane = Lane(work, _kind_of(work, concurrency=16, key_concurrency=8))
    for turn in range(100):
        tag = f"slow{turn % 5}"
        if lane.slots.admits(tag):
            lane.slots.take(tag)
    assert lane.slots.free >= 2
    assert lane.slots.admits("new")


async def test_a_backlog_of_one_kind_does_not_touch_another(work: Work) -> None:
    stuck, quick = Gate(), Gate()
    work.handle("test.stuck", stuck, concurrency=1)
    work.handle("test.quick", quick)
    worker = Worker(work)
    await worker.start()
    for _ in range(50):
        await work.add(kind="test.stuck")
    await stuck.next()
    await work.add(kind="test.quick")
    await quick.let_through(1)
    await worker.stop()


async def test_stopping_gives_back_what_does_not_end(
    work: Work, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr("entrepot.work.worker.DRAIN_SECONDS", 0.01)
    gate = Gate()
    work.handle("test.kind", gate)
    worker = Worker(work)
    await worker.start()
    item = await work.add(kind="test.kind")
    await gate.next()
    await worker.stop()
    left = await work.claims.items.one(item.workId).required()
    assert (left.leaseId, left.attempts) == (None, 0)
    gate.open.set()
    assert await work.run_due() == 1


async def test_a_handler_that_outlives_its_lease_is_stopped(work: Work, clock: Clock) -> None:
    gate = Gate()
    work.handle("test.kind", gate, lease_seconds=0.05)
    worker = Worker(work)
    await worker.start()
    await work.add(kind="test.kind")
    first, second = await gate.next(), await gate.next()
    assert (first.attempts, second.attempts) == (1, 2)
    assert first.leaseId != second.leaseId
    gate.open.set()
    await gone(work, second)
    await worker.stop()


async def test_idle_polling_backs_off(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    work.handle("test.kind", Gate())
    lane = work.lane("test.kind")
    now = 1000.0
    monkeypatch.setattr("entrepot.work.lanes.time.monotonic", lambda: now)
    waits = []
    for _ in range(9):
        await lane._read_guarded()
        waits.append(round(lane._read_at - now, 3))
        now = lane._read_at
    assert waits == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0, 1.0, 1.0]
    lane.stir()
    assert lane._read_at < now


async def test_readiness_asks_whether_the_loops_are_alive(work: Work) -> None:
    worker = Worker(work)
    await worker.start()
    await worker.check()
    worker._loops[0].cancel()
    await asyncio.wait([worker._loops[0]])
    with pytest.raises(RuntimeError, match="has ended"):
        await worker.check()
    await worker.stop()


async def test_work_that_comes_again_at_once_is_done_at_once(work: Work, clock: Clock) -> None:
    attempts: list[int] = []

    async def thrice(item: WorkItem, lease: Lease) -> Outcome:
        attempts.append(item.attempts)
        return DONE if item.attempts == 3 else Again(clock.epoch_ms())

    work.handle("test.kind", thrice)
    worker = Worker(work)
    await worker.start()
    item = await work.add(kind="test.kind")
    await gone(work, item)
    assert attempts == [1, 2, 3]
    await worker.stop()


def _kind_of(work: Work, **options: int) -> Kind:
    work.handle("test.kind", Gate(), **options)
    return work.lane("test.kind").kind


async def test_work_whose_transaction_took_long_has_its_whole_lease(
    work: Work, db: Database, clock: Clock
) -> None:
    left: asyncio.Queue[float] = asyncio.Queue()

    async def look(item: WorkItem, lease: Lease) -> Outcome:
        left.put_nowait(lease.seconds_left)
        return DONE

    work.handle("test.kind", look, lease_seconds=30)
    worker = Worker(work)
    await worker.start()
    async with db.transaction() as transaction:
        item = work.put(transaction, kind="test.kind")
        assert item.leaseId is not None
        clock.advance(20)
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await left.get() > 25
    await worker.stop()
