"""Claims: taking work for the time of a lease, and ending it in the transaction of its effect."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from entrepot.clock import Clock
from entrepot.engine import errors as dynamo
from entrepot.ids import nanoid
from entrepot.tables import (
    ConditionFailed,
    Database,
    OutcomeUnknown,
    Transaction,
    TransactionLost,
    Update,
    attr,
)
from entrepot.tables.transaction import Action
from entrepot.work import rules
from entrepot.work.errors import LeaseLost
from entrepot.work.model import FAILED_SECONDS, FailedWork, WorkItem, WorkItems
from entrepot.work.model import work as work_table
from entrepot.work.outcomes import Again, Done, Failed, Held, Outcome, cut

LEASE_ID_CHARACTERS = 12

_REMOVAL = {
    "TableName": work_table.name,
    "ConditionExpression": "#lease = :lease",
    "ExpressionAttributeNames": {"#lease": "leaseId"},
}


class Claims:
    """The writes by which work changes hands."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self.db = db
        self.clock = clock
        self.items = WorkItems(db)

    async def claim(self, due_pk: str, work_id: str, *, lease_ms: int) -> WorkItem | None:
        """The work, taken for the time of the lease; None when it is not due any more."""
        now = self.clock.epoch_ms()
        lease_id = new_lease_id()
        update = self.items.claimed(
            work_id, due_pk, rules.due_until(now), lease_id, rules.due_sk(now + lease_ms, work_id)
        )
        try:
            return await update
        except ConditionFailed:
            return None
        except OutcomeUnknown:
            # The answer was lost; whether it was taken, the item tells.
            found = await self.items.one(work_id).get()
            return found if found is not None and found.leaseId == lease_id else None

    async def give_back(self, item: WorkItem) -> None:
        """End a lease as if it had not been: the work is due now, the attempt does not count."""
        place = rules.due_sk(self.clock.epoch_ms(), item.workId)
        update = self._placed(item, item.duePk, place, item.attempts - 1, item.reason)
        await self._write(update)

    async def _write(self, update: Update[WorkItem]) -> None:
        try:
            await update
        except ConditionFailed as failed:
            raise LeaseLost(str(failed)) from None

    def _placed(
        self, item: WorkItem, due_pk: str, place: str, attempts: int, reason: str | None
    ) -> Update[WorkItem]:
        return self.items.placed(
            item.workId, item.leaseId or "", due_pk, place, max(attempts, 0), cut(reason)
        )


class Lease:
    """One attempt at work. What is added to `transaction` is written when the lease ends or is extended, or never."""

    __slots__ = ("_claims", "_deadline", "_transaction", "ends_at_ms", "finished", "item", "lease_ms")

    def __init__(self, claims: Claims, item: WorkItem, *, lease_ms: int) -> None:
        self._claims = claims
        self._transaction: Transaction | None = None
        self._deadline: asyncio.Timeout | None = None
        self.item = item
        self.lease_ms = lease_ms
        self.ends_at_ms = rules.due_at_ms(item.dueSk)
        self.finished = False

    @property
    def transaction(self) -> Transaction:
        """The effects that happen together with the end of this attempt, or with the next checkpoint."""
        if self._transaction is None:
            self._transaction = self._claims.db.transaction()
        return self._transaction

    @property
    def seconds_left(self) -> float:
        return (self.ends_at_ms - self._claims.clock.epoch_ms()) / 1000

    def bind(self, deadline: asyncio.Timeout) -> None:
        """Let renewals move the time at which the handler is stopped."""
        self._deadline = deadline

    def drop_effects(self) -> None:
        """Forget what was added to the transaction."""
        self._transaction = None

    async def renew(self) -> None:
        """Have the whole time of the lease again; raises LeaseLost when it has passed to another."""
        ends = self._claims.clock.epoch_ms() + self.lease_ms
        item = self.item
        update = self._claims.items.renewed(item.workId, item.leaseId or "", rules.due_sk(ends, item.workId))
        await self._claims._write(update)
        self._extended(ends)

    async def checkpoint(self) -> None:
        """Write the effects so far together with a renewal: what was done stays done, and attempts count anew."""
        ends = self._claims.clock.epoch_ms() + self.lease_ms
        item = self.item
        update = self._claims.items.progressed(
            item.workId, item.leaseId or "", rules.due_sk(ends, item.workId)
        )
        await self._commit(lambda transaction: transaction.update(update))
        self._extended(ends)
        item.attempts = 1

    async def finish(self, outcome: Outcome) -> None:
        """End the attempt, in one transaction with its effects.

        Raises LeaseLost when the work has passed to another, TransactionLost when an effect's condition failed: the
        lease then still stands, with a transaction that is empty again.
        """
        if isinstance(outcome, Done) and self._transaction is None:
            await self._remove()
        else:
            await self._commit(lambda transaction: self._ending(transaction, outcome))
        self.finished = True

    async def _remove(self) -> None:
        # The commonest end: no transaction, which would cost twice as much, and a request that is made but once.
        item = self.item
        request = {
            **_REMOVAL,
            "Key": WorkItem.__model__.key_of_entity(item),  # type: ignore[attr-defined]
            "ExpressionAttributeValues": {":lease": item.leaseId},
        }
        try:
            await self._claims.db.call("DeleteItem", request)
        except dynamo.ConditionFailed as failed:
            raise LeaseLost(f"{item.kind} {item.workId}: {failed}") from None

    def _ending(self, transaction: Transaction, outcome: Outcome) -> Action:
        item, claims = self.item, self._claims
        if isinstance(outcome, Again):
            place = rules.due_sk(outcome.at_ms, item.workId)
            attempts = item.attempts if outcome.counts else 0
            return transaction.update(claims._placed(item, item.duePk, place, attempts, outcome.reason))
        if isinstance(outcome, Held):
            # The oldest first when they are released.
            place = rules.due_sk(rules.made_at_ms(item.workId), item.workId)
            return transaction.update(claims._placed(item, rules.held_pk(outcome.key), place, 0, None))
        if isinstance(outcome, Failed):
            transaction.put(self._failed(outcome.reason))
        return transaction.delete(claims.items.one(item.workId), when=attr(WorkItem.leaseId) == item.leaseId)

    def _failed(self, reason: str) -> FailedWork:
        item, now = self.item, self._claims.clock.epoch_ms()
        return FailedWork(
            workId=item.workId,
            kind=item.kind,
            failedAtMs=now,
            subject=item.subject,
            arguments=item.arguments,
            attempts=item.attempts,
            reason=cut(reason) or "",
            expiresAt=now // 1000 + FAILED_SECONDS,
        )

    async def _commit(self, end: Callable[[Transaction], Action]) -> None:
        transaction, self._transaction = self.transaction, None
        action: Action | None = None
        try:
            async with transaction:
                action = end(transaction)
        except TransactionLost as lost:
            failure = lost.failure_of(action) if action is not None else None
            if failure is not None and failure.code == "ConditionalCheckFailed":
                raise LeaseLost(str(lost)) from None
            raise

    def _extended(self, ends_at_ms: int) -> None:
        self.ends_at_ms = ends_at_ms
        if self._deadline is not None:
            loop = asyncio.get_running_loop()
            self._deadline.reschedule(loop.time() + self.seconds_left)


def new_lease_id() -> str:
    """A name for one claim that no other has."""
    return nanoid(LEASE_ID_CHARACTERS)
