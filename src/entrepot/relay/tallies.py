"""Tallies: how deliveries ended, counted exactly but not one by one.

Each ending leaves a small item of work that is held; about a second later one handler takes many of them, adds them up
and deletes them in one transaction, so that a crash neither loses nor doubles any.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import Any, Literal

import msgspec

from entrepot.accounts.model import UserId
from entrepot.relay.model import (
    ConnectionId,
    Connections,
    Delivery,
    DeliveryState,
    Rollup,
    Rollups,
    SourceId,
)
from entrepot.tables import Database, Transaction, attr
from entrepot.tables.expressions import Change
from entrepot.work import DONE, Lease, Outcome, Work, WorkItem, rules
from entrepot.work.model import WorkItems

TALLY = "relay.tally"
EVERY_MS = 1000
# An index shows late what was put just before: it is looked at once more after this time.
AGAIN_MS = 5000
BATCH_MAX = 60
# 60 items, 30 connections and 2 roll-ups stay under the 100 actions of a transaction.
CONNECTIONS_MAX = 30
BATCHES_MAX = 1000
MEMO_MAX = 10_000

HOUR_SECONDS = 3600
DAY_SECONDS = 86_400
HOURS_KEPT_SECONDS = 3 * DAY_SECONDS
DAYS_KEPT_SECONDS = 400 * DAY_SECONDS

LATENCIES_MS = (50, 100, 250, 500, 1000, 2500, 5000, 10_000)

_LAST_MS = 9_999_999_999_999


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """One delivery that ended."""

    userId: UserId
    sourceId: SourceId
    connectionId: ConnectionId
    state: DeliveryState
    endedAt: int
    latencyMs: int | None = None

    @property
    def bucket(self) -> str | None:
        """The roll-up's attribute that counts this latency; only what was delivered has one."""
        if self.state != "delivered" or self.latencyMs is None:
            return None
        return next((f"le{bound}" for bound in LATENCIES_MS if self.latencyMs <= bound), "slower")


class Tallies:
    """Notes endings, and adds them up."""

    def __init__(self, db: Database, work: Work) -> None:
        self._clock = db.clock
        self._work = work
        self._db = db
        self._items = WorkItems(db)
        self._connections = Connections(db)
        self._rollups = Rollups(db)
        self._asked: OrderedDict[str, None] = OrderedDict()
        work.handle(TALLY, self.collect, concurrency=16, attempts_max=None)

    def note(self, transaction: Transaction, delivery: Delivery, latency_ms: int | None) -> None:
        """Add to the transaction in which a delivery ends that it is to be counted."""
        now = self._clock.epoch_ms()
        ended = Ended(
            userId=delivery.userId,
            sourceId=delivery.sourceId,
            connectionId=delivery.connectionId,
            state=delivery.state,
            endedAt=now // 1000,
            latencyMs=latency_ms,
        )
        arguments = msgspec.to_builtins(ended)
        held_by = hold_of(delivery.sourceId)
        self._work.put(transaction, kind=TALLY, arguments=arguments, held_by=held_by)
        self._ask(transaction, delivery.sourceId, now)

    def _ask(self, transaction: Transaction, source_id: SourceId, now_ms: int) -> None:
        """Have the source's endings collected when this second is over; asked once by this process, or a few times."""
        at_ms = (now_ms // EVERY_MS + 1) * EVERY_MS
        work_id = f"tally.{source_id}.{at_ms}"
        already = any(
            getattr(a, "key", None) == {"PK": f"WORK#{work_id}", "SK": "WORK"} for a in transaction.actions
        )
        if work_id in self._asked or already:
            return
        self._work.put(transaction, kind=TALLY, subject=source_id, due_at_ms=at_ms, work_id=work_id)
        # Remembered when it is committed, not before: else the endings of others could wait for what never was.
        transaction.actions[-1].done = lambda: self._remember(work_id)

    def _remember(self, work_id: str) -> None:
        self._asked[work_id] = None
        if len(self._asked) > MEMO_MAX:
            self._asked.popitem(last=False)

    async def collect(self, item: WorkItem, lease: Lease) -> Outcome:
        """Add up what waits of one source."""
        source_id = SourceId(item.subject or "")
        counted = 0
        for _ in range(BATCHES_MAX):
            batch, more = await self._waiting(source_id)
            if not batch:
                break
            self._add_up(lease.transaction, source_id, batch)
            counted += len(batch)
            if not more:
                break
            await lease.checkpoint()
        if counted:
            due = self._clock.epoch_ms() + AGAIN_MS
            self._work.put(lease.transaction, kind=TALLY, subject=source_id, due_at_ms=due)
        return DONE

    async def _waiting(self, source_id: SourceId) -> tuple[list[tuple[str, Ended]], bool]:
        places = self._items.places_between(rules.held_pk(hold_of(source_id)), "0", rules.due_until(_LAST_MS))
        page = await places.page(limit=BATCH_MAX)
        ids = [rules.work_id_at(place.dueSk) for place in page.items]
        found = await self._db.get_all([self._items.one(id_) for id_ in ids])
        batch: list[tuple[str, Ended]] = []
        connections: set[str] = set()
        for waiting in found:
            if waiting is None:
                continue
            ended = msgspec.convert(waiting.arguments, Ended)
            connections.add(ended.connectionId)
            other_hour = batch and ended.endedAt // HOUR_SECONDS != batch[0][1].endedAt // HOUR_SECONDS
            if len(connections) > CONNECTIONS_MAX or other_hour:
                # Each roll-up gets its own; the rest comes with the next batch.
                return batch, True
            batch.append((waiting.workId, ended))
        return batch, page.cursor is not None

    def _add_up(self, transaction: Transaction, source_id: SourceId, batch: list[tuple[str, Ended]]) -> None:
        connections: dict[ConnectionId, list[int]] = defaultdict(lambda: [0, 0])
        counts: dict[str, int] = defaultdict(int)
        latest = batch[0][1].endedAt
        for work_id, ended in batch:
            transaction.delete(self._items.one(work_id), when=attr(WorkItem.kind) == TALLY)
            counts[ended.state] += 1
            if ended.bucket is not None:
                counts[ended.bucket] += 1
            if ended.state != "filtered":
                connections[ended.connectionId][ended.state == "failed"] += 1
        for connection_id, (delivered, failed) in connections.items():
            transaction.update(
                self._connections.counted(source_id, connection_id, delivered + failed, failed)
            )
        user_id = batch[0][1].userId
        hour = (latest // HOUR_SECONDS * HOUR_SECONDS, latest + HOURS_KEPT_SECONDS)
        day = (latest // DAY_SECONDS * DAY_SECONDS, latest + DAYS_KEPT_SECONDS)
        self._roll(transaction, user_id, source_id, "hour", hour, counts)
        self._roll(transaction, user_id, source_id, "day", day, counts)

    def _roll(
        self,
        transaction: Transaction,
        user_id: UserId,
        source_id: SourceId,
        period: Literal["hour", "day"],
        times: tuple[int, int],
        counts: dict[str, int],
    ) -> None:
        starts_at, expires_at = times
        changes: list[Change] = [attr(getattr(Rollup, name)).add(count) for name, count in counts.items()]
        transaction.update(
            self._rollups.one(user_id, period, starts_at, source_id),
            *changes,
            attr(Rollup.expiresAt).set(expires_at),
            upsert=True,
        )


def hold_of(source_id: SourceId) -> str:
    """The key that holds the uncounted endings of a source."""
    return f"relay.tally:{source_id}"


def bucket_counts(rollup: Any) -> list[int]:
    """The counts of a roll-up's latencies, the fastest first, `slower` last."""
    return [*(getattr(rollup, f"le{bound}") for bound in LATENCIES_MS), rollup.slower]
