"""The worker's own loops on a store that lags, throttles, conflicts and cuts its pages."""

from __future__ import annotations

import asyncio

import pytest

from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.tables import Database
from entrepot.work import DONE, Again, Lease, Outcome, Work, Worker, WorkItem
from tests.work.model import Tallies

pytestmark = pytest.mark.anyio

ITEMS = 150
PATIENCE_SECONDS = 60


async def test_all_work_is_done_and_each_effect_happens_once(
    engine: Engine, db: Database, clock: Clock, counts: Tallies
) -> None:
    ended = asyncio.Event()
    left = {f"n{number}" for number in range(ITEMS)}
    effects: list[str] = []

    def process() -> Work:
        work = Work(db)

        async def act(item: WorkItem, lease: Lease) -> Outcome:
            if item.attempts == 1 and int(str(item.subject)[1:]) % 5 == 0:
                return Again(clock.epoch_ms() + 50, "once more")
            lease.transaction.update(counts.counted("effects", 1))
            await lease.finish(DONE)
            effects.append(str(item.subject))
            left.discard(str(item.subject))
            if not left:
                ended.set()
            return DONE

        work.handle("test.kind", act, concurrency=16, key_concurrency=4, shards=2, lease_seconds=2)
        return work

    works = [process(), process()]
    engine.set_chaos(
        "index_lag_ms=200,index_lag_jitter_ms=200,throttle=0.05,conflict=0.05,in_progress=0.05,short_pages=0.3,seed=3"
    )
    workers = [Worker(work) for work in works]
    for worker in workers:
        await worker.start()
    for number in range(ITEMS):
        await works[number % 2].add(kind="test.kind", subject=f"n{number}", key=f"key{number % 3}")
    async with asyncio.timeout(PATIENCE_SECONDS):
        await ended.wait()
    for worker in workers:
        await worker.stop()
    engine.set_chaos(None)
    assert len(effects) == ITEMS
    assert (await counts.one("effects").required()).count == ITEMS
