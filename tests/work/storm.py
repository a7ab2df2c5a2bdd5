"""A process that does work on a shared store and says what it began; tests kill it.

    python -m tests.work.storm PATH COUNT

It ends when COUNT effects are in the store.
"""

from __future__ import annotations

import asyncio
import os
import sys

from entrepot.engine import Engine
from entrepot.tables import Database, provision
from entrepot.work import DONE, Job, Lease, Outcome, Step, Work, Worker, WorkItem
from entrepot.work.model import work as work_table
from tests.work.model import Tallies, Tally, tallies

LEASE_SECONDS = 1.0
STEPS = 20
LOOK_SECONDS = 0.05


def declared(db: Database) -> Work:
    """The kinds of the storm; the test that puts the work declares the same."""
    work, counts = Work(db), Tallies(db)

    async def act(item: WorkItem, lease: Lease) -> Outcome:
        os.write(1, f"{item.subject}\n".encode())
        lease.transaction.create(Tally(name=str(item.subject), count=item.attempts))
        lease.transaction.update(counts.counted("total", 1))
        return DONE

    async def step(job: Job, lease: Lease) -> Step:
        at = (job.cursor or 0) + 1
        os.write(1, f"step {at}\n".encode())
        lease.transaction.update(counts.counted("total", 1))
        return Step(cursor=at, done=1, finished=at == STEPS)

    work.handle("storm.act", act, concurrency=16, key_concurrency=6, lease_seconds=LEASE_SECONDS, shards=2)
    work.jobs.handle("storm.job", step)
    return work


async def main(path: str, wanted: int) -> None:
    engine = await Engine.open(path)
    db = Database(engine)
    work = declared(db)
    worker = Worker(work)
    await worker.start()
    os.write(1, b"ready\n")
    while True:
        total = await Tallies(db).one("total").get()
        if total is not None and total.count >= wanted:
            break
        await asyncio.sleep(LOOK_SECONDS)
    await worker.stop()
    await engine.close()


async def prepare(path: str) -> tuple[Engine, Work]:
    """The store with its tables, and the work that can be put there."""
    engine = await Engine.open(path)
    db = Database(engine)
    await provision(db, [work_table, tallies])
    return engine, declared(db)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
