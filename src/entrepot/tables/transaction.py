"""Transactions: up to 100 actions that all happen, or none.

async with db.transaction() as t:
    t.create(event)
    t.update(sources.counted(userId, sourceId, 1))
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from entrepot.engine import errors as dynamo
from entrepot.engine.values import Item as NativeItem
from entrepot.tables import actions as make
from entrepot.tables.actions import Action
from entrepot.tables.errors import ConditionFailed, Failure, Repeated, TooMany, TransactionLost
from entrepot.tables.expressions import Change, Condition
from entrepot.tables.model import Entity
from entrepot.tables.reads import Item
from entrepot.tables.updates import Update

if TYPE_CHECKING:
    from entrepot.tables.database import Database

ACTIONS_MAX = 100

__all__ = ["ACTIONS_MAX", "Action", "Transaction", "write"]


class Transaction:
    """Gathers actions; leaving the block without an exception sends them.

    Each method gives the action's handle, by which `TransactionLost.failure_of` says whether it was the cause.
    """

    def __init__(self, db: Database, token: str | None) -> None:
        self._db = db
        self._token = token
        self._now = db.now()
        self.actions: list[Action] = []

    async def __aenter__(self) -> Transaction:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self.actions:
            await self._commit()

    def create(self, entity: Entity) -> Action:
        """Put an item that must not exist."""
        return self._add(make.create(entity, self._now))

    def once(self, record: Entity) -> Action:
        """Create the record of this transaction: when it is there already, Repeated is raised with it."""
        action = self.create(record)
        action.once = True
        return action

    def replace(self, entity: Entity, *, when: Condition | None = None) -> Action:
        """Put an item that must exist."""
        return self._add([make.replace(entity, when, self._now)])

    def put(self, entity: Entity, *, when: Condition | None = None) -> Action:
        """Put an item whether it exists or not."""
        return self._add([make.put(entity, when, self._now)])

    def update(
        self,
        target: Item[Any] | Entity | Update[Any],
        *changes: Change,
        when: Condition | None = None,
        upsert: bool = False,
    ) -> Action:
        """Change an item, or do a declared update."""
        return self._add([make.update(target, changes, when, self._now, upsert=upsert)])

    def edit(self, old: Entity, new: Entity) -> Action | None:
        """Write the difference of two states of an entity; None when there is none."""
        made = make.edit(old, new, self._now)
        return self._add(made) if made else None

    def delete(self, target: Item[Any] | Entity, *, when: Condition | None = None) -> Action:
        """Delete an item."""
        return self._add(make.delete(target, when, self._now))

    def check(self, target: Item[Any], condition: Condition | None = None) -> Action:
        """The item must exist, and the condition hold."""
        return self._add([make.check(target, condition, self._now)])

    def check_absent(self, target: Item[Any]) -> Action:
        """The item must not exist."""
        return self._add([make.check(target, None, self._now, absent=True)])

    def _add(self, made: Sequence[Action]) -> Action:
        for action in made:
            if any(
                action.key == other.key and action.model.table is other.model.table for other in self.actions
            ):
                raise ValueError(f"{action!r}: a transaction acts on an item once")
            self.actions.append(action)
        if len(self.actions) > ACTIONS_MAX:
            raise TooMany(f"a transaction takes {ACTIONS_MAX} actions, this has {len(self.actions)}")
        return made[0]

    async def _commit(self) -> None:
        try:
            await write(self._db, self.actions, self._token)
        except dynamo.TransactionCanceled as canceled:
            raise _lost(self.actions, canceled) from None
        for action in self.actions:
            if action.done is not None:
                action.done()


async def write(db: Database, actions: Sequence[Action], token: str | None = None) -> None:
    """Send the actions as one transaction; with a token, so that it may be sent again."""
    items = []
    for action in actions:
        request = {**action.request, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        items.append({action.kind: request})
    await db.call(
        "TransactWriteItems", {"TransactItems": items, "ClientRequestToken": token or secrets.token_hex(16)}
    )


def _lost(actions: Sequence[Action], canceled: dynamo.TransactionCanceled) -> TransactionLost:
    failures = []
    for action, reason in zip(actions, canceled.reasons, strict=True):
        if reason.code == "None":
            continue
        found: NativeItem | None = dict(reason.item) if reason.item else None
        # The old item of a guard is no entity.
        item = found if found is None or action.guard is not None else action.decode(found)
        failures.append(Failure(action, reason.code, reason.message, item))
    for failure in failures:
        if failure.action.once and failure.code == "ConditionalCheckFailed":
            return Repeated(failures, failure.item)
    return TransactionLost(failures)


def refusal_of(actions: Sequence[Action], canceled: dynamo.TransactionCanceled, now: int) -> ConditionFailed:
    """The exception of a single write that needed a transaction: that of its first failed action."""
    for action, reason in zip(actions, canceled.reasons, strict=True):
        if reason.code == "ConditionalCheckFailed":
            return action.refusal(dict(reason.item) if reason.item else None, now)
    raise _lost(actions, canceled)
