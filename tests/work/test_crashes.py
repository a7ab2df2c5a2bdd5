"""Whatever dies and wherever: each effect happens, and exactly once where it is in the finishing transaction."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.engine.errors import Throttled
from entrepot.tables import attr, provision
from entrepot.tables.stores import Store
from entrepot.work import DONE, Again, Failed, Held, Job, Lease, Outcome, Step, Work, Worker, WorkItem
from entrepot.work.model import work as work_table
from tests.work.model import Tallies, Tally, tallies
from tests.work.mortal import Death, LossyStore, MortalStore, database, open_engine

When = Literal["before", "after"]

LEASE_SECONDS = 30
LIVES_MAX = 400
CALLS_MAX = 500
STEPS = 3


class World:
    """One store that outlives its processes, and all that was seen outside of it."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self.engine = engine
        self.clock = clock
        self.outside: Counter[str] = Counter()
        self.db = database(engine, clock)

    async def prepare(self) -> None:
        await provision(self.db, [work_table, tallies])
        await self.db.create(Tally(name="gate"))

    def process(self, store: Store) -> Work:
        """A process with all handlers, on this store."""
        db = database(store, self.clock)
        work, counts = Work(db), Tallies(db)

        async def act(item: WorkItem, lease: Lease) -> Outcome:
            name = str(item.subject)
            self.outside[name] += 1
            plan = item.arguments["plan"]
            todo = plan[min(item.attempts, len(plan)) - 1]
            if todo == "again":
                return Again(self.clock.epoch_ms() + 5_000, "later")
            if todo == "error":
                raise ValueError("as planned")
            if todo == "hold":
                gate = counts.one("gate")
                if (await gate.required()).count == 0:
                    lease.transaction.check(gate, attr(Tally.count) == 0)
                    return Held("gate")
            lease.transaction.update(counts.counted(name, 1))
            return Failed("as planned") if todo == "fail" else DONE

        async def step(job: Job, lease: Lease) -> Step:
            lease.transaction.update(counts.counted("job", 1))
            return Step(cursor=(job.cursor or 0) + 1, done=1, finished=(job.cursor or 0) + 1 == STEPS)

        async def sweep(lease: Lease) -> None:
            lease.transaction.update(counts.counted("sweep", 1))

        work.handle("test.act", act, concurrency=4, key_concurrency=2, shards=2, lease_seconds=LEASE_SECONDS)
        work.jobs.handle("test.job", step)
        work.schedules.every("sweep", sweep, seconds=3600)
        return work

    async def count(self, name: str) -> int:
        found = await Tallies(self.db).one(name).get()
        return 0 if found is None else found.count

    async def left(self) -> int:
        """How many items of work are in the store, the schedule not counted."""
        request: dict[str, Any] = {
            "TableName": work_table.name,
            "ConsistentRead": True,
            "FilterExpression": "SK = :work AND PK <> :schedule",
            "ExpressionAttributeValues": {":work": "WORK", ":schedule": "WORK#schedule.sweep"},
        }
        count = 0
        while True:
            try:
                answer = await self.engine.call("Scan", request)
            except Throttled:
                continue
            count += int(answer["Count"])
            if "LastEvaluatedKey" not in answer:
                return count
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


async def ask_for(work: Work, name: str, plan: list[str]) -> None:
    """The change that calls for work, and the work, in one transaction."""
    async with work.db.transaction() as transaction:
        transaction.create(Tally(name=f"asked-{name}", count=1))
        work.put(transaction, kind="test.act", subject=name, arguments={"plan": plan}, key=name[:1])


async def start_job(work: Work) -> None:
    async with work.db.transaction() as transaction:
        transaction.create(Tally(name="asked-job", count=1))
        work.jobs.start(transaction, kind="test.job", owner="usr_1")


async def open_gate(work: Work) -> None:
    async with work.db.transaction() as transaction:
        transaction.update(Tallies(work.db).one("gate"), attr(Tally.count).set(1))
        work.release(transaction, "gate")


async def survive(world: World, lives: list[tuple[int, When]], plans: dict[str, list[str]]) -> None:
    """Live several lives that end in death, and a last one that ends when nothing is left to do."""

    async def live(work: Work, *, asking: bool) -> None:
        if asking:
            for name, plan in plans.items():
                await ask_for(work, name, plan)
            await start_job(work)
        await work.schedules.ensure()
        await work.run_due()

    for number, (calls, when) in enumerate(lives):
        mortal = MortalStore(world.engine, calls, when)
        with contextlib.suppress(Death):
            await live(world.process(mortal), asking=number == 0)
        world.clock.advance(LEASE_SECONDS)
    work = world.process(world.engine)
    await open_gate(work)
    for _ in range(LIVES_MAX):
        if await work.run_due() == 0 and await world.left() == 0:
            break
        world.clock.advance(10)


async def check(world: World, plans: dict[str, list[str]]) -> None:
    assert await world.left() == 0
    for name, plan in plans.items():
        asked = await world.count(f"asked-{name}")
        gives_up = all(todo == "error" for todo in plan)
        assert await world.count(name) == (0 if gives_up else asked), name
        assert world.outside[name] >= asked, name
    assert await world.count("job") == STEPS * await world.count("asked-job")


def run(scenario: Callable[[World], Awaitable[None]]) -> None:
    async def in_a_world() -> None:
        clock = Clock()
        engine = await open_engine(clock)
        world = World(engine, clock)
        try:
            await world.prepare()
            await scenario(world)
        finally:
            engine.set_chaos(None)
            await engine.close()

    logging.disable(logging.CRITICAL)
    try:
        asyncio.run(in_a_world())
    finally:
        logging.disable(logging.NOTSET)


PLANS = {
    "a1": ["done"],
    "a2": ["again", "done"],
    "b1": ["error", "done"],
    "b2": ["fail"],
    "c1": ["hold"],
}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_that_dies_at_any_call_loses_nothing_and_repeats_nothing(when: When) -> None:
    for calls in range(1, CALLS_MAX):
        died: list[bool] = []

        async def scenario(world: World, calls: int = calls, died: list[bool] = died) -> None:
            mortal = MortalStore(world.engine, calls, when)
            with contextlib.suppress(Death):
                work = world.process(mortal)
                for name, plan in PLANS.items():
                    await ask_for(work, name, plan)
                await start_job(work)
                await work.schedules.ensure()
                await work.run_due()
            died.append(mortal.dead)
            world.clock.advance(LEASE_SECONDS + 61)
            await survive(world, [], PLANS)
            await check(world, PLANS)

        run(scenario)
        if not died[0]:
            # It lived to its end: every call before was a place to die at.
            assert calls > 30
            return
    raise AssertionError("a life has no end")


def test_a_worker_that_dies_at_any_call_after_it_was_handed_claimed_work_loses_nothing() -> None:
    for calls in range(1, 40):
        for when in ("before", "after"):

            async def scenario(world: World, calls: int = calls, when: When = when) -> None:
                mortal = MortalStore(world.engine, calls, when)
                work = world.process(mortal)
                worker = Worker(work)
                with contextlib.suppress(Death):
                    await worker.start()
                    for name, plan in PLANS.items():
                        await ask_for(work, name, plan)
                    await start_job(work)
                for _ in range(50):
                    await asyncio.sleep(0)
                await worker.stop()
                world.clock.advance(LEASE_SECONDS + 61)
                await survive(world, [], PLANS)
                await check(world, PLANS)

            run(scenario)


todos = st.lists(st.sampled_from(["again", "error", "hold"]), max_size=3).flatmap(
    lambda before: st.sampled_from(["done", "fail", "hold"]).map(lambda last: [*before, last])
)
names = st.sampled_from([f"{key}{number}" for key in "abc" for number in range(3)])
deaths = st.lists(st.tuples(st.integers(1, 60), st.sampled_from(["before", "after"])), max_size=4)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans=st.dictionaries(names, todos, min_size=1, max_size=6), lives=deaths)
def test_effects_happen_exactly_once_over_many_lives(
    plans: dict[str, list[str]], lives: list[tuple[int, When]]
) -> None:
    async def scenario(world: World) -> None:
        await survive(world, lives, plans)
        await check(world, plans)

    run(scenario)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    plans=st.dictionaries(names, todos, min_size=1, max_size=6),
    lives=deaths,
    lag_ms=st.sampled_from([0, 300, 1500]),
    seed=st.integers(0, 1000),
)
def test_effects_happen_exactly_once_on_an_unkind_store(
    plans: dict[str, list[str]], lives: list[tuple[int, When]], lag_ms: int, seed: int
) -> None:
    async def scenario(world: World) -> None:
        world.engine.set_chaos(
            f"index_lag_ms={lag_ms},index_lag_jitter_ms={lag_ms},throttle=0.05,conflict=0.05,in_progress=0.05,"
            f"short_pages=0.3,stale=0.2,unprocessed=0.2,seed={seed}"
        )
        await survive(world, lives, plans)
        world.engine.set_chaos(None)
        await check(world, plans)

    run(scenario)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans=st.dictionaries(names, todos, min_size=1, max_size=6), seed=st.integers(0, 1000))
def test_effects_happen_exactly_once_when_answers_are_lost(plans: dict[str, list[str]], seed: int) -> None:
    async def scenario(world: World) -> None:
        work = world.process(LossyStore(world.engine, 0.1, seed))
        for name, plan in plans.items():
            await ask_for(work, name, plan)
        await start_job(work)
        for _ in range(20):
            await work.run_due()
            world.clock.advance(LEASE_SECONDS)
        await survive(world, [], plans)
        await check(world, plans)

    run(scenario)
