"""Work: one place to declare what is done later, and to put it into the transaction that calls for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from entrepot.clock import Clock
from entrepot.ids import Ulids
from entrepot.tables import Database, Transaction
from entrepot.work import rules
from entrepot.work.claims import Claims, new_lease_id
from entrepot.work.errors import UnknownKind
from entrepot.work.holds import PASSES_MS, RELEASE, Holds
from entrepot.work.idempotency import Idempotency
from entrepot.work.jobs import JOB, JobRunner
from entrepot.work.kinds import ATTEMPTS_MAX, CONCURRENCY, LEASE_SECONDS, Handler, Kind
from entrepot.work.lanes import Lane
from entrepot.work.metrics import WorkMetrics
from entrepot.work.model import FailedWork, FailedWorks, WorkItem
from entrepot.work.schedules import SCHEDULE, Schedules


class Work:
    """What must still happen.

    work.handle("relay.deliver", deliver, concurrency=64, key_concurrency=8)

    async with db.transaction() as t:
        t.create(event)
        work.put(t, kind="relay.deliver", subject=event.eventId, key=connection.connectionId)
    """

    def __init__(
        self, db: Database, *, clock: Clock | None = None, metrics: WorkMetrics | None = None
    ) -> None:
        self.db = db
        self.clock = clock or db.clock
        self.metrics = metrics or WorkMetrics()
        self.claims = Claims(db, self.clock)
        self.failed = FailedWorks(db)
        self.lanes: dict[str, Lane] = {}
        self._ulids = Ulids()
        self.jobs = JobRunner(self)
        self.schedules = Schedules(self)
        self.holds = Holds(self)
        self.idempotency = Idempotency(db, self.clock)
        self.handle(JOB, self.jobs.run, concurrency=8, key_concurrency=2, lease_seconds=60, attempts_max=None)
        self.handle(SCHEDULE, self.schedules.run, concurrency=8, lease_seconds=120, attempts_max=None)
        self.handle(RELEASE, self.holds.run, concurrency=4, attempts_max=None)

    def handle(
        self,
        kind: str,
        handler: Handler,
        *,
        concurrency: int = CONCURRENCY,
        key_concurrency: int | None = None,
        lease_seconds: float = LEASE_SECONDS,
        attempts_max: int | None = ATTEMPTS_MAX,
        shards: int = 1,
    ) -> None:
        """Declare a kind of work and what does it; in every process that puts or does it.

        A handler that is still busy when its lease ends is stopped; it may renew. An exception means again later, until
        `attempts_max`. `shards` spread a kind over partitions of the index: one for every 250 items a second.
        """
        if kind in self.lanes:
            raise ValueError(f"the kind {kind} is declared twice")
        declared = Kind(
            name=kind,
            handler=handler,
            concurrency=concurrency,
            key_concurrency=key_concurrency or concurrency,
            lease_seconds=lease_seconds,
            attempts_max=attempts_max,
            shards=shards,
        )
        self.lanes[kind] = Lane(self, declared)

    def put(
        self,
        transaction: Transaction,
        *,
        kind: str,
        subject: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        due_at_ms: int | None = None,
        key: str | None = None,
        held_by: str | None = None,
        work_id: str | None = None,
    ) -> WorkItem:
        """Add work to a transaction; once that is committed it is done, here or elsewhere, at least once.

        `key` names what its concurrency is shared by (a destination, an athlete). `held_by` keeps it until that key is
        released. A `work_id` of one's own replaces what is there under it.
        """
        lane = self.lane(kind)
        now = self.clock.epoch_ms()
        due = now if due_at_ms is None else due_at_ms
        id_ = work_id or rules.work_id(self._ulids.make(now), key)
        item = WorkItem(
            workId=id_,
            kind=kind,
            duePk=rules.due_pk(kind, rules.shard_of(id_, lane.kind.shards)),
            dueSk=rules.due_sk(due, id_),
            subject=subject,
            arguments=dict(arguments) if arguments else {},
        )
        if held_by is not None:
            item.duePk = rules.held_pk(held_by)
            transaction.put(item)
            return item
        reservation = None
        if due <= now and lane.reserve(rules.tag_in(id_)):
            item.leaseId, item.attempts = new_lease_id(), 1
            item.dueSk = rules.due_sk(now + lane.kind.lease_ms, id_)
            reservation = _Reservation(lane, item, due)
        action = transaction.put(item)
        if reservation is not None:
            action.done = reservation
        elif due <= now and lane.open:
            action.done = lane.stir
        return item

    async def add(
        self,
        *,
        kind: str,
        subject: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        due_at_ms: int | None = None,
        key: str | None = None,
        held_by: str | None = None,
    ) -> WorkItem:
        """Put work that no change calls for."""
        async with self.db.transaction() as transaction:
            return self.put(
                transaction,
                kind=kind,
                subject=subject,
                arguments=arguments,
                due_at_ms=due_at_ms,
                key=key,
                held_by=held_by,
            )

    def release(self, transaction: Transaction, key: str) -> None:
        """Make all work that is held by a key due, once the transaction is committed; the oldest first."""
        self.holds.put(transaction, key, PASSES_MS)

    async def retry(self, failed: FailedWork) -> WorkItem:
        """Put work again that was given up."""
        async with self.db.transaction() as transaction:
            transaction.delete(self.failed.one(failed.kind, failed.failedAtMs, failed.workId))
            return self.put(
                transaction,
                kind=failed.kind,
                subject=failed.subject,
                arguments=failed.arguments,
                work_id=failed.workId,
            )

    async def run_due(self, *, rounds_max: int = 100) -> int:
        """Do what is due now, and what that makes due, without a worker; gives how much that was."""
        done = 0
        for _ in range(rounds_max):
            started = sum([await lane.run_due() for lane in self.lanes.values()])
            if not started:
                break
            done += started
        return done

    def lane(self, kind: str) -> Lane:
        """The lane of a kind; raises UnknownKind."""
        lane = self.lanes.get(kind)
        if lane is None:
            raise UnknownKind(f"no part has declared how {kind!r} is done")
        return lane


class _Reservation:
    """A slot that is kept for work until its transaction is committed, and freed when it never is."""

    __slots__ = ("_due_at_ms", "_item", "_lane", "_loop")

    def __init__(self, lane: Lane, item: WorkItem, due_at_ms: int) -> None:
        self._lane: Lane | None = lane
        self._item = item
        self._due_at_ms = due_at_ms
        self._loop = asyncio.get_running_loop()

    def __call__(self) -> None:
        lane, self._lane = self._lane, None
        if lane is not None:
            lane.begin(self._item, due_at_ms=self._due_at_ms)

    def __del__(self) -> None:
        # The collector may run in any thread.
        if self._lane is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._lane.forgo, rules.tag_in(self._item.workId))
