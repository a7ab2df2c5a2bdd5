"""Processes at the same long queue keep out of each other's way."""

from __future__ import annotations

import asyncio

import pytest

from entrepot.tables import Database
from entrepot.work import DONE, Lease, Outcome, Work, Worker, WorkItem
from entrepot.work.lanes import CLAIMS_FIRST, CLAIMS_MIN, MISSES_MAX
from entrepot.work.slots import Backlog, Slots

pytestmark = pytest.mark.anyio

ITEMS = 1200
PATIENCE_SECONDS = 30


async def test_two_workers_rarely_reach_for_the_same_work(db: Database) -> None:
    done: list[str] = []
    ended = asyncio.Event()

    async def act(item: WorkItem, lease: Lease) -> Outcome:
        await lease.finish(DONE)
        done.append(item.workId)
        if len(done) == ITEMS:
            ended.set()
        return DONE

    works = [Work(db), Work(db)]
    for work in works:
        work.handle("test.kind", act, concurrency=64)
    numbers = iter(range(ITEMS))

    async def put() -> None:
        for _ in numbers:
            await works[0].add(kind="test.kind")

    await asyncio.gather(*(put() for _ in range(32)))
    workers = [Worker(work) for work in works]
    for worker in workers:
        await worker.start()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await ended.wait()
    for worker in workers:
        await worker.stop()
    assert len(set(done)) == len(done) == ITEMS
    misses = sum(work.lane("test.kind").metrics.misses._value.get() for work in works)
    # Without keeping apart, each would reach for all: as many misses as there is work.
    assert misses < ITEMS / 2


async def test_claims_at_once_grow_with_luck_and_shrink_with_misses(work: Work) -> None:
    async def never(item: WorkItem, lease: Lease) -> Outcome:
        return DONE

    work.handle("test.kind", never)
    lane = work.lane("test.kind")
    for _ in range(10):
        lane._learn(claimed=True)
    assert lane._window == CLAIMS_FIRST + 10
    for number in range(MISSES_MAX):
        lane._backlog.offer(f"{number:013}#x", 0, "")
    for _ in range(MISSES_MAX):
        lane._learn(claimed=False)
    assert lane._window == CLAIMS_MIN
    assert len(lane._backlog) == 0


def test_a_backlog_takes_tags_in_turn() -> None:
    backlog = Backlog(100, 10)
    for number in range(5):
        backlog.offer(f"a{number}", 0, "a")
    backlog.offer("b0", 0, "b")
    taken = [backlog.take(lambda _: True) for _ in range(3)]
    assert [found[1] for found in taken if found is not None] == ["a0", "b0", "a1"]


def test_a_backlog_turns_away_what_one_key_has_too_much_of_and_tells_when_there_is_room() -> None:
    backlog = Backlog(100, 2)
    assert [backlog.offer(f"a{number}", 0, "a") for number in range(3)] == [True, True, False]
    assert backlog.has("a")
    assert not backlog.came_short()
    backlog.take(lambda _: True)
    assert backlog.came_short()
    assert not backlog.came_short()


def test_slots_are_counted_for_all_and_for_each_key() -> None:
    slots = Slots(4, 2)
    for tag in ("a", "a"):
        assert slots.admits(tag)
        slots.take(tag)
    assert not slots.admits("a")
    slots.take("")
    assert slots.admits("b")
    slots.take("b")
    assert not slots.admits("")
    slots.give("a")
    assert slots.admits("c")
    assert not slots.admits("b")
