"""Counters of what arrives: exact in the end, crash or no crash, without a hot write for each event.

Each event leaves a small held item of work in its own transaction. About a second later one handler takes many of
them, adds them once to the source, the owner and the roll-ups, and deletes them, in one transaction.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Literal

import msgspec

from entrepot.accounts.model import User, UserId, Users
from entrepot.clock import stamp_of
from entrepot.relay.model import Rollups, Source, SourceId, Sources
from entrepot.relay.plans import period_start
from entrepot.relay.tallies import DAY_SECONDS, DAYS_KEPT_SECONDS, HOUR_SECONDS, HOURS_KEPT_SECONDS
from entrepot.tables import Change, Database, Transaction, attr
from entrepot.work import DONE, Lease, Outcome, Work, WorkItem, rules
from entrepot.work.model import WorkItems

COUNT = "relay.count"
EVERY_MS = 1000
# An index may show late what was put, and a transaction may end late: it is looked at once more much later.
LATE_EVERY_MS = 30_000
LATE_AFTER_MS = 60_000
# 90 items, the source, the owner, two roll-ups and the work itself stay under the 100 actions of a transaction.
BATCH_MAX = 90
BATCHES_MAX = 1000
ASKED_MAX = 20_000

_LAST_MS = 9_999_999_999_999


class Arrived(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request to be counted."""

    userId: UserId
    at: int
    rejected: bool = False


class Counters:
    """Notes what arrives, and adds it up."""

    def __init__(self, db: Database, work: Work) -> None:
        self._db = db
        self._clock = db.clock
        self._work = work
        self._items = WorkItems(db)
        self._sources = Sources(db)
        self._users = Users(db)
        self._rollups = Rollups(db)
        self._asked: OrderedDict[str, None] = OrderedDict()
        work.handle(COUNT, self.collect, concurrency=8, attempts_max=None)

    def note(
        self,
        transaction: Transaction,
        source_id: SourceId,
        user_id: UserId,
        at_ms: int,
        *,
        rejected: bool = False,
    ) -> None:
        """Add to the transaction in which something arrives that it is to be counted."""
        arrived = Arrived(userId=user_id, at=at_ms, rejected=rejected)
        self._work.put(
            transaction, kind=COUNT, arguments=msgspec.to_builtins(arrived), held_by=hold_of(source_id)
        )
        now = self._clock.epoch_ms()
        self._ask(transaction, source_id, (now // EVERY_MS + 1) * EVERY_MS)
        self._ask(transaction, source_id, now // LATE_EVERY_MS * LATE_EVERY_MS + LATE_AFTER_MS)

    def _ask(self, transaction: Transaction, source_id: SourceId, due_at_ms: int) -> None:
        """Have a source counted at this time; this process asks once, or a few times at the same moment."""
        asked = f"{source_id}.{due_at_ms}"
        if asked in self._asked:
            return
        self._work.put(transaction, kind=COUNT, subject=source_id, due_at_ms=due_at_ms)
        # Remembered once it is committed: nothing may wait to be counted by what never was.
        transaction.actions[-1].done = lambda: self._remember(asked)

    def _remember(self, asked: str) -> None:
        self._asked[asked] = None
        if len(self._asked) > ASKED_MAX:
            self._asked.popitem(last=False)

    async def collect(self, item: WorkItem, lease: Lease) -> Outcome:
        """Add up what waits of one source."""
        source_id = SourceId(item.subject or "")
        for _ in range(BATCHES_MAX):
            batch = await self._waiting(source_id)
            if not batch:
                break
            await self._add_up(lease.transaction, source_id, batch)
            await lease.checkpoint()
        return DONE

    async def _waiting(self, source_id: SourceId) -> list[tuple[WorkItem, Arrived]]:
        places = self._items.places_between(rules.held_pk(hold_of(source_id)), "0", rules.due_until(_LAST_MS))
        page = await places.page(limit=BATCH_MAX)
        found = await self._db.get_all(
            [self._items.one(rules.work_id_at(place.dueSk)) for place in page.items]
        )
        batch = [(item, msgspec.convert(item.arguments, Arrived)) for item in found if item is not None]
        # All of one hour, so that each roll-up gets its own; the others come with the next batch.
        hour = batch[0][1].at // (HOUR_SECONDS * 1000) if batch else 0
        return [entry for entry in batch if entry[1].at // (HOUR_SECONDS * 1000) == hour]

    async def _add_up(
        self, transaction: Transaction, source_id: SourceId, batch: list[tuple[WorkItem, Arrived]]
    ) -> None:
        user_id = batch[0][1].userId
        for item, _ in batch:
            transaction.delete(self._items.one(item.workId), when=attr(WorkItem.kind) == COUNT)
        taken = [arrived.at for _, arrived in batch if not arrived.rejected]
        source = await self._sources.one(user_id, source_id)
        if source is None:
            # Deleted with its owner: there is nothing left to add to.
            return
        if rejected := len(batch) - len(taken):
            transaction.update(
                self._sources.one(user_id, source_id),
                attr(Source.rejectedCount).add(rejected),
                *self._received(source, taken),
            )
        elif taken:
            transaction.update(self._sources.one(user_id, source_id), *self._received(source, taken))
        if taken:
            self._roll_up(transaction, user_id, source_id, taken)
            if source.provider != "entrepot":
                await self._use(transaction, user_id, len(taken))

    def _received(self, source: Source, taken: list[int]) -> list[Change]:
        if not taken:
            return []
        last = stamp_of(max(taken))
        changes = [attr(Source.eventCount).add(len(taken))]
        if source.lastEventAt is None or source.lastEventAt < last:
            changes.append(attr(Source.lastEventAt).set(last))
        return changes

    async def _use(self, transaction: Transaction, user_id: UserId, count: int) -> None:
        user = await self._users.one(user_id)
        if user is None:
            return
        period = period_start(self._clock.stamp())
        changes = [attr(User.usageThisMonth).add(count)]
        if user.usagePeriodStart < period:
            changes = [attr(User.usageThisMonth).set(count), attr(User.usagePeriodStart).set(period)]
        # A period that another began meanwhile makes this attempt fail, and the next one see it.
        transaction.update(
            self._users.one(user_id), *changes, when=attr(User.usagePeriodStart) == user.usagePeriodStart
        )

    def _roll_up(
        self, transaction: Transaction, user_id: UserId, source_id: SourceId, taken: list[int]
    ) -> None:
        at = min(taken) // 1000
        spans: list[tuple[Literal["hour", "day"], int, int]] = [
            ("hour", HOUR_SECONDS, HOURS_KEPT_SECONDS),
            ("day", DAY_SECONDS, DAYS_KEPT_SECONDS),
        ]
        for period, seconds, kept in spans:
            starts = at // seconds * seconds
            transaction.update(
                self._rollups.received(
                    user_id, period, starts, source_id, len(taken), starts + seconds + kept
                )
            )


def hold_of(source_id: SourceId) -> str:
    """The key that holds the uncounted arrivals of a source."""
    return f"relay.count:{source_id}"
