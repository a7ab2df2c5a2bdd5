"""Jobs go on step by step, show how far they are, and stop between steps when asked to."""

from __future__ import annotations

import asyncio

import pytest

from entrepot.clock import Clock
from entrepot.tables import Database
from entrepot.work import Job, JobFailed, Lease, Step, UnknownKind, Work, Worker
from entrepot.work.jobs import STEP_TRIES_MAX
from tests.work.model import Tallies

pytestmark = pytest.mark.anyio

OWNER = "usr_1"
PATIENCE_SECONDS = 10


async def start(work: Work, kind: str = "test.job") -> Job:
    async with work.db.transaction() as transaction:
        return work.jobs.start(transaction, kind=kind, owner=OWNER)


async def seen(work: Work, job: Job) -> Job:
    return await work.jobs.jobs.one(OWNER, job.jobId).required()


async def test_a_job_goes_through_its_steps_and_tells_how_far_it_is(work: Work) -> None:
    views: list[tuple[str, int, int | None]] = []

    async def step(job: Job, lease: Lease) -> Step:
        views.append((job.status, job.done, job.total))
        at = job.cursor or 0
        return Step(cursor=at + 1, done=9, failed=1, total=30, finished=at == 2)

    work.jobs.handle("test.job", step)
    job = await start(work)
    assert (await seen(work, job)).status == "waiting"
    await work.run_due()
    assert views == [("running", 0, None), ("running", 9, 30), ("running", 18, 30)]
    ended = await seen(work, job)
    assert (ended.status, ended.done, ended.failed, ended.total, ended.steps) == ("done", 27, 3, 30, 3)


async def test_the_effects_of_a_step_happen_with_its_progress(
    work: Work, counts: Tallies, clock: Clock
) -> None:
    tries = 0

    async def step(job: Job, lease: Lease) -> Step:
        nonlocal tries
        tries += 1
        lease.transaction.update(counts.counted("jobs", 1))
        if tries == 2:
            raise ConnectionError("cut off")
        at = job.cursor or 0
        return Step(cursor=at + 1, done=1, finished=at == 2)

    work.jobs.handle("test.job", step)
    job = await start(work)
    await work.run_due()
    waiting = await seen(work, job)
    assert (waiting.status, waiting.done) == ("waiting", 1)
    assert waiting.message == "A step failed and is tried again (attempt 1 of 10)."
    clock.advance(5)
    await work.run_due()
    assert ((await seen(work, job)).status, tries) == ("done", 4)
    assert (await counts.one("jobs").required()).count == 3


async def test_a_job_is_cancelled_between_steps(work: Work) -> None:
    async def step(job: Job, lease: Lease) -> Step:
        if (job.cursor or 0) == 1:
            await work.jobs.cancel(OWNER, job.jobId)
        return Step(cursor=(job.cursor or 0) + 1, done=5)

    work.jobs.handle("test.job", step)
    job = await start(work)
    await work.run_due()
    ended = await seen(work, job)
    # The step that was under way counts; there was none after it.
    assert (ended.status, ended.done, ended.steps) == ("cancelled", 10, 2)


async def test_a_job_that_has_not_begun_is_cancelled_without_a_step(work: Work) -> None:
    async def never(job: Job, lease: Lease) -> Step:
        raise AssertionError("it was cancelled")

    work.jobs.handle("test.job", never)
    job = await start(work)
    await work.jobs.cancel(OWNER, job.jobId)
    await work.run_due()
    assert (await seen(work, job)).status == "cancelled"


async def test_a_job_that_has_ended_stays_as_it_is(work: Work) -> None:
    async def step(job: Job, lease: Lease) -> Step:
        return Step(finished=True)

    work.jobs.handle("test.job", step)
    job = await start(work)
    await work.run_due()
    cancelled = await work.jobs.cancel(OWNER, job.jobId)
    assert cancelled is not None
    assert (cancelled.status, cancelled.cancelling) == ("done", False)


async def test_nobody_cancels_the_job_of_another(work: Work) -> None:
    async def step(job: Job, lease: Lease) -> Step:
        return Step(finished=True)

    work.jobs.handle("test.job", step)
    job = await start(work)
    assert await work.jobs.cancel("usr_2", job.jobId) is None
    assert not (await seen(work, job)).cancelling


async def test_a_step_can_end_its_job_with_words_for_its_owner(work: Work) -> None:
    async def step(job: Job, lease: Lease) -> Step:
        raise JobFailed("The file has no header.")

    work.jobs.handle("test.job", step)
    job = await start(work)
    await work.run_due()
    ended = await seen(work, job)
    assert (ended.status, ended.message) == ("failed", "The file has no header.")


async def test_a_job_whose_step_never_works_fails_in_the_end(work: Work, clock: Clock) -> None:
    async def step(job: Job, lease: Lease) -> Step:
        raise ValueError("internal words")

    work.jobs.handle("test.job", step)
    job = await start(work)
    for _ in range(STEP_TRIES_MAX + 2):
        await work.run_due()
        clock.advance(600)
    ended = await seen(work, job)
    assert ended.status == "failed"
    assert "internal" not in (ended.message or "")


async def test_a_long_job_gives_its_slot_to_others(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entrepot.work.jobs.TURN_SECONDS", 0.0)
    order: list[str] = []

    async def step(job: Job, lease: Lease) -> Step:
        order.append(job.jobId)
        return Step(cursor=(job.cursor or 0) + 1, finished=job.cursor == 2)

    work.jobs.handle("test.job", step)
    first, second = await start(work), await start(work)
    await work.run_due()
    assert order[:2] == [first.jobId, second.jobId]
    assert len(order) == 6
    assert (await seen(work, first)).status == (await seen(work, second)).status == "done"


async def test_a_job_of_an_undeclared_kind_is_refused(work: Work) -> None:
    with pytest.raises(UnknownKind, match=r"test\.unknown"):
        await start(work, kind="test.unknown")


async def test_jobs_of_an_owner_are_listed_latest_first(work: Work, clock: Clock, db: Database) -> None:
    async def step(job: Job, lease: Lease) -> Step:
        return Step(finished=True)

    work.jobs.handle("test.job", step)
    started = []
    for _ in range(3):
        started.append((await start(work)).jobId)
        clock.advance(1)
    listed = [job.jobId for job in await work.jobs.jobs.of_owner(OWNER).all()]
    assert listed == started[::-1]
    clock.advance(31 * 24 * 3600)
    assert await work.jobs.jobs.of_owner(OWNER).all() == []


async def test_a_job_runs_in_the_worker(work: Work) -> None:
    ended = asyncio.Event()

    async def step(job: Job, lease: Lease) -> Step:
        if job.cursor == 3:
            ended.set()
        return Step(cursor=(job.cursor or 0) + 1, done=1, finished=job.cursor == 3)

    work.jobs.handle("test.job", step)
    worker = Worker(work)
    await worker.start()
    job = await start(work)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await ended.wait()
    await worker.stop()
    assert ((await seen(work, job)).status, (await seen(work, job)).done) == ("done", 4)
