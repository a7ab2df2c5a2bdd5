"""Schedules run on their grid, one at a time however many processes there are, and once for all that was missed."""

from __future__ import annotations

import pytest

from entrepot.clock import Clock
from entrepot.tables import Database
from entrepot.work import Lease, Work
from entrepot.work.rules import due_at_ms, next_run_ms
from tests.work.model import Tallies

pytestmark = pytest.mark.anyio

HOUR = 3600


def with_schedule(work: Work, runs: list[int], clock: Clock, *, seconds: float = HOUR) -> Work:
    async def run(lease: Lease) -> None:
        runs.append(clock.epoch_ms())

    work.schedules.every("sweep", run, seconds=seconds)
    return work


async def until_next(work: Work, clock: Clock) -> None:
    item = await work.claims.items.one("schedule.sweep").required()
    clock.advance(max(0, due_at_ms(item.dueSk) - clock.epoch_ms() + 1) / 1000)


async def test_a_schedule_runs_every_period(work: Work, clock: Clock) -> None:
    runs: list[int] = []
    with_schedule(work, runs, clock)
    await work.schedules.ensure()
    for _ in range(3):
        await until_next(work, clock)
        assert await work.run_due() == 1
    hours = [run // (HOUR * 1000) for run in runs]
    assert hours == [hours[0], hours[0] + 1, hours[0] + 2]


async def test_missed_times_are_made_up_for_once(work: Work, clock: Clock) -> None:
    runs: list[int] = []
    with_schedule(work, runs, clock)
    await work.schedules.ensure()
    clock.advance(10 * HOUR)
    await work.run_due()
    assert len(runs) == 1
    await until_next(work, clock)
    await work.run_due()
    assert len(runs) == 2


async def test_one_runs_at_a_time_in_several_processes(db: Database, clock: Clock) -> None:
    runs: list[int] = []
    processes = [with_schedule(Work(db), runs, clock) for _ in range(3)]
    for process in processes:
        await process.schedules.ensure()
    for _ in range(4):
        await until_next(processes[0], clock)
        for process in processes:
            await process.run_due()
    assert len(runs) == 4


async def test_a_schedule_that_is_running_is_not_begun_by_another(db: Database, clock: Clock) -> None:
    depth: list[int] = []
    one, other = Work(db), Work(db)

    async def run(lease: Lease) -> None:
        depth.append(await other.run_due())

    async def never(lease: Lease) -> None:
        raise AssertionError("it runs in the other process")

    one.schedules.every("sweep", run, seconds=HOUR)
    other.schedules.every("sweep", never, seconds=HOUR)
    await one.schedules.ensure()
    await until_next(one, clock)
    await one.run_due()
    assert depth == [0]


async def test_a_schedule_that_fails_is_tried_again_and_never_given_up(work: Work, clock: Clock) -> None:
    tries = 0

    async def run(lease: Lease) -> None:
        nonlocal tries
        tries += 1
        if tries < 30:
            raise ConnectionError("not now")

    work.schedules.every("sweep", run, seconds=HOUR)
    await work.schedules.ensure()
    for _ in range(30):
        await until_next(work, clock)
        await work.run_due()
    assert tries == 30
    assert await work.failed.of_kind("work.schedule").all() == []


async def test_another_period_moves_what_is_there(db: Database, clock: Clock) -> None:
    runs: list[int] = []
    before = with_schedule(Work(db), runs, clock, seconds=24 * HOUR)
    await before.schedules.ensure()
    after = with_schedule(Work(db), runs, clock, seconds=60)
    await after.schedules.ensure()
    clock.advance(61)
    await after.run_due()
    assert len(runs) == 1


async def test_the_effects_of_a_schedule_are_written_with_its_next_time(
    work: Work, clock: Clock, counts: Tallies
) -> None:
    async def run(lease: Lease) -> None:
        lease.transaction.update(counts.counted("swept", 1))

    work.schedules.every("sweep", run, seconds=HOUR)
    await work.schedules.ensure()
    await until_next(work, clock)
    await work.run_due()
    assert (await counts.one("swept").required()).count == 1


async def test_a_schedule_that_this_process_does_not_know_is_left_to_another(
    db: Database, clock: Clock
) -> None:
    runs: list[int] = []
    newer, older = with_schedule(Work(db), runs, clock), Work(db)
    await newer.schedules.ensure()
    await until_next(newer, clock)
    await older.run_due()
    clock.advance(61)
    await newer.run_due()
    assert len(runs) == 1


def test_the_next_time_is_on_the_grid_and_after_now() -> None:
    assert next_run_ms(0, every_ms=1000) == 1000
    assert next_run_ms(999, every_ms=1000) == 1000
    assert next_run_ms(1000, every_ms=1000) == 2000
    assert next_run_ms(1000, every_ms=1000, offset_ms=250) == 1250
