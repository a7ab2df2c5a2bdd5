"""Work is claimed, done and ended on condition of its lease."""

from __future__ import annotations

import pytest

from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.tables import Database, TransactionLost
from entrepot.work import DONE, Again, Failed, Held, Lease, LeaseLost, Outcome, UnknownKind, Work, WorkItem
from entrepot.work.claims import Claims
from tests.work.model import Tallies, Tally

pytestmark = pytest.mark.anyio


class Script:
    """A handler that ends its attempts as it was told, one after the other."""

    def __init__(self, *outcomes: Outcome | Exception) -> None:
        self.outcomes = list(outcomes)
        self.seen: list[WorkItem] = []

    async def __call__(self, item: WorkItem, lease: Lease) -> Outcome:
        self.seen.append(item)
        outcome = self.outcomes.pop(0) if self.outcomes else DONE
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    @property
    def subjects(self) -> list[str | None]:
        return [item.subject for item in self.seen]


async def test_work_is_done_once_and_then_gone(work: Work) -> None:
    script = Script()
    work.handle("test.kind", script)
    item = await work.add(kind="test.kind", subject="a", arguments={"n": 1})
    assert await work.run_due() == 1
    assert [(seen.subject, seen.arguments, seen.attempts) for seen in script.seen] == [("a", {"n": 1}, 1)]
    assert await work.run_due() == 0
    assert await work.claims.items.one(item.workId).get() is None


async def test_work_is_put_only_with_the_transaction_that_calls_for_it(work: Work, db: Database) -> None:
    script = Script()
    work.handle("test.kind", script)
    await db.create(Tally(name="taken"))
    transaction = db.transaction()
    transaction.create(Tally(name="taken"))
    work.put(transaction, kind="test.kind")
    with pytest.raises(TransactionLost):
        await transaction.__aexit__(None, None, None)
    assert await work.run_due() == 0


async def test_work_waits_for_its_time(work: Work, clock: Clock) -> None:
    script = Script()
    work.handle("test.kind", script)
    await work.add(kind="test.kind", due_at_ms=clock.epoch_ms() + 60_000)
    assert await work.run_due() == 0
    clock.advance(60)
    assert await work.run_due() == 1


async def test_work_of_an_undeclared_kind_is_refused(work: Work) -> None:
    with pytest.raises(UnknownKind, match=r"test\.unknown"):
        await work.add(kind="test.unknown")


async def test_again_comes_back_at_its_time_with_its_reason_and_attempts(work: Work, clock: Clock) -> None:
    script = Script(Again(clock.epoch_ms() + 30_000, "busy"))
    work.handle("test.kind", script)
    await work.add(kind="test.kind")
    await work.run_due()
    clock.advance(29)
    assert await work.run_due() == 0
    clock.advance(2)
    assert await work.run_due() == 1
    assert [(item.attempts, item.reason) for item in script.seen] == [(1, None), (2, "busy")]


async def test_an_exception_means_again_later_and_then_failed(work: Work, clock: Clock) -> None:
    script = Script(*[ValueError("no such thing")] * 5)
    work.handle("test.kind", script, attempts_max=3)
    item = await work.add(kind="test.kind", subject="a")
    for _ in range(6):
        await work.run_due()
        clock.advance(400)
    assert len(script.seen) == 3
    (failed,) = await work.failed.of_kind("test.kind").all()
    assert (failed.workId, failed.subject, failed.attempts) == (item.workId, "a", 3)
    assert failed.reason == "ValueError: no such thing"


async def test_failed_work_is_kept_for_a_week_and_can_be_tried_again(work: Work, clock: Clock) -> None:
    script = Script(Failed("refused"), Failed("refused"))
    work.handle("test.kind", script)
    await work.add(kind="test.kind", subject="a")
    await work.run_due()
    (failed,) = await work.failed.of_kind("test.kind").all()
    await work.retry(failed)
    assert await work.failed.of_kind("test.kind").all() == []
    await work.run_due()
    assert script.subjects == ["a", "a"]
    clock.advance(7 * 24 * 3600 + 1)
    assert await work.failed.of_kind("test.kind").all() == []


async def test_held_work_waits_for_its_release_and_comes_oldest_first(
    work: Work, db: Database, clock: Clock
) -> None:
    script = Script(Held("conn"), Held("conn"))
    work.handle("test.kind", script, concurrency=1)
    for name in ("a", "b"):
        await work.add(kind="test.kind", subject=name, key="conn")
        clock.advance(1)
    await work.add(kind="test.kind", subject="c", held_by="conn")
    await work.add(kind="test.kind", subject="other", held_by="another")
    await work.run_due()
    clock.advance(3600)
    assert await work.run_due() == 0
    async with db.transaction() as transaction:
        work.release(transaction, "conn")
    await work.run_due()
    assert script.subjects == ["a", "b", "a", "b", "c"]


async def test_effects_are_written_with_the_outcome(work: Work, counts: Tallies) -> None:
    async def count(item: WorkItem, lease: Lease) -> Outcome:
        lease.transaction.update(counts.counted("effect", 1))
        return DONE

    work.handle("test.kind", count)
    await work.add(kind="test.kind")
    await work.run_due()
    assert (await counts.one("effect").required()).count == 1


async def test_an_effect_whose_condition_fails_leaves_the_work_for_later(
    work: Work, db: Database, clock: Clock
) -> None:
    await db.create(Tally(name="taken"))

    async def collide(item: WorkItem, lease: Lease) -> Outcome:
        lease.transaction.create(Tally(name="taken" if item.attempts == 1 else "free"))
        return DONE

    work.handle("test.kind", collide)
    item = await work.add(kind="test.kind")
    await work.run_due()
    left = await work.claims.items.one(item.workId).required()
    assert left.leaseId is None
    assert "TransactionLost" in (left.reason or "")
    clock.advance(2)
    await work.run_due()
    assert await work.claims.items.one(item.workId).get() is None


async def test_a_late_worker_changes_nothing(db: Database, counts: Tallies, clock: Clock) -> None:
    work, other = Work(db), Work(db)
    attempts: list[int] = []

    async def late(item: WorkItem, lease: Lease) -> Outcome:
        lease.transaction.update(counts.counted("effect", 1))
        attempts.append(item.attempts)
        # While it was away, its lease ended and another did the work.
        clock.advance(31)
        assert await other.run_due() == 1
        return DONE

    async def in_time(item: WorkItem, lease: Lease) -> Outcome:
        lease.transaction.update(counts.counted("effect", 1))
        attempts.append(item.attempts)
        return DONE

    work.handle("test.kind", late)
    other.handle("test.kind", in_time)
    await work.add(kind="test.kind")
    await work.run_due()
    assert attempts == [1, 2]
    assert (await counts.one("effect").required()).count == 1


async def test_a_lease_that_passed_can_be_neither_renewed_nor_ended(work: Work, clock: Clock) -> None:
    async def never(item: WorkItem, lease: Lease) -> Outcome:
        return DONE

    work.handle("test.kind", never)
    item = await work.add(kind="test.kind")
    claims = Claims(work.db, clock)
    first = await claims.claim(item.duePk, item.workId, lease_ms=1000)
    assert first is not None
    assert await claims.claim(item.duePk, item.workId, lease_ms=1000) is None
    clock.advance(1.5)
    second = await claims.claim(item.duePk, item.workId, lease_ms=1000)
    assert second is not None
    late, holder = Lease(claims, first, lease_ms=1000), Lease(claims, second, lease_ms=1000)
    for ending in (DONE, Again(0), Held("k"), Failed("f")):
        with pytest.raises(LeaseLost):
            await late.finish(ending)
    with pytest.raises(LeaseLost):
        await late.renew()
    with pytest.raises(LeaseLost):
        await late.checkpoint()
    await holder.renew()
    await holder.finish(DONE)
    assert await claims.items.one(item.workId).get() is None


async def test_a_renewed_lease_keeps_the_work(db: Database, clock: Clock) -> None:
    work, other = Work(db), Work(db)
    taken: list[int] = []

    async def long(item: WorkItem, lease: Lease) -> Outcome:
        for _ in range(5):
            clock.advance(20)
            await lease.renew()
            taken.append(await other.run_due())
        return DONE

    work.handle("test.kind", long)
    other.handle("test.kind", Script())
    item = await work.add(kind="test.kind")
    await work.run_due()
    assert taken == [0] * 5
    assert await work.claims.items.one(item.workId).get() is None


async def test_what_the_index_shows_late_is_released_too(
    work: Work, db: Database, engine: Engine, clock: Clock
) -> None:
    script = Script(Held("conn"))
    work.handle("test.kind", script)
    await work.add(kind="test.kind", subject="a")
    engine.set_chaos("index_lag_ms=1500")
    clock.advance(2)
    await work.run_due()
    # The release is handed over at once, and looks before the index shows what is held.
    work.lane("work.release").open = True
    async with db.transaction() as transaction:
        work.release(transaction, "conn")
    await work.run_due()
    work.lane("work.release").open = False
    for _ in range(4):
        clock.advance(2)
        await work.run_due()
    engine.set_chaos(None)
    assert script.subjects == ["a", "a"]
