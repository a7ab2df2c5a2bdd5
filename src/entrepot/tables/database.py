"""A database: a store, a clock, and the writes that say what they assume."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Generic, TypeVar, cast

from entrepot.clock import Clock
from entrepot.engine import errors as dynamo
from entrepot.engine.values import Item as NativeItem
from entrepot.engine.values import equal
from entrepot.tables import actions as make
from entrepot.tables.actions import Action
from entrepot.tables.batches import Batches
from entrepot.tables.cursors import Cursors
from entrepot.tables.errors import (
    AlreadyExists,
    ConditionFailed,
    NotFound,
    OutcomeUnknown,
    ScanRefused,
    Unreachable,
)
from entrepot.tables.expressions import Change, Condition
from entrepot.tables.model import Entity
from entrepot.tables.reads import Item
from entrepot.tables.retries import DEADLINE_SECONDS, Deadline, Sleep, Unsettled, send
from entrepot.tables.stores import Store
from entrepot.tables.transaction import Transaction, refusal_of, write
from entrepot.tables.updates import Update

E = TypeVar("E", bound=Entity)

APPLY_TRIES_MAX = 10


class Database:
    """Runs declared models on a store. Give `cursor_key` where cursors must outlive the process."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        cursor_key: bytes | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.store = store
        self.clock = clock or Clock()
        self.now: Callable[[], int] = self.clock.epoch_seconds
        self.cursors = Cursors(cursor_key or secrets.token_bytes(32))
        self.deadline_seconds = deadline_seconds
        self._sleep = sleep
        self._call = store.call
        self._batches = Batches(self)

    def deadline(self) -> Deadline:
        """A new deadline for one call and its retries."""
        return Deadline(seconds=self.deadline_seconds, sleep=self._sleep)

    async def pause(self, seconds: float) -> None:
        """Wait, by the database's own way of waiting."""
        await self._sleep(seconds)

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """One operation, retried while the store says "later"; it must be one that can be sent twice."""
        if operation in _SCANS:
            raise ScanRefused(f"{operation}: a request reads by a declared pattern")
        try:
            return await self._call(operation, request)
        except (dynamo.DynamoError, Unreachable) as error:
            return await self._call_again(operation, request, error)

    async def _call_again(self, operation: str, request: dict[str, Any], error: Exception) -> dict[str, Any]:
        try:
            return await send(self._call, operation, request, error, self.deadline(), repeatable=True)
        except Unsettled as unsettled:
            raise unsettled.failed from None

    # -- writes

    async def create(self, entity: Entity) -> None:
        """Put an item that must not exist, with its guards; raises AlreadyExists."""
        await self._write(make.create(entity, self.now()))

    async def replace(self, entity: Entity, *, when: Condition | None = None) -> None:
        """Put an item that must exist, on its version when it has one."""
        await self._write([make.replace(entity, when, self.now())])

    async def put(self, entity: Entity, *, when: Condition | None = None) -> None:
        """Put an item whether it exists or not."""
        await self._write([make.put(entity, when, self.now())])

    async def update(
        self, target: Item[E] | E, *changes: Change, when: Condition | None = None, upsert: bool = False
    ) -> E:
        """Change an item that must exist (or is made by `upsert`), and give it as it is then."""
        action = make.update(target, changes, when, self.now(), upsert=upsert)
        return cast("E", await self._update(action))

    async def run_update(self, update: Update[Any]) -> Any:
        """Do a declared update."""
        return await self._update(make.update(update, (), None, self.now(), upsert=False))

    async def delete(self, target: Item[Any] | Entity, *, when: Condition | None = None) -> None:
        """Delete an item; deleting what is not there is no error, unless a condition says so."""
        if isinstance(target, Item) and target.pattern.model.guards:
            found = await target.get()
            if found is None:
                if when is not None:
                    raise NotFound(f"delete {target.pattern.model.name}: not found")
                return
            target = found
        await self._write(make.delete(target, when, self.now()))

    def edit(self, target: Item[E] | E) -> Edit[E]:
        """A block that reads an item, lets its attributes be changed, and writes the difference."""
        return Edit(self, target)

    async def apply(
        self, target: Item[E] | E, change: Callable[[E], None], *, tries: int = APPLY_TRIES_MAX
    ) -> E:
        """Edit an item with a function, again on its newer state when another write came between."""
        current = target
        for _ in range(tries - 1):
            try:
                return await self._apply_once(current, change)
            except (AlreadyExists, NotFound):
                raise
            except ConditionFailed as failed:
                # The refusal brings the newer state along.
                current = cast("E", failed.item) if isinstance(failed.item, Entity) else target
        return await self._apply_once(current, change)

    async def _apply_once(self, target: Item[E] | E, change: Callable[[E], None]) -> E:
        async with self.edit(target) as draft:
            change(draft)
        return draft

    def transaction(self, token: str | None = None) -> Transaction:
        """A block of actions that all happen, or none; the same token makes a repeat harmless for 10 minutes."""
        return Transaction(self, token)

    # -- several at once

    async def get_all(self, items: Sequence[Item[E]]) -> list[E | None]:
        """Items by their keys, in the order asked for."""
        return await self._batches.get_all(items)

    async def put_all(self, entities: Iterable[Entity]) -> None:
        """Put items whether they exist or not; not atomic, but none is dropped."""
        await self._batches.put_all(entities)

    async def delete_all(self, targets: Iterable[Item[Any] | Entity]) -> None:
        """Delete items; not atomic, but none is dropped."""
        await self._batches.delete_all(targets)

    async def read_batch(self, table: str, keys: Sequence[NativeItem]) -> list[NativeItem | None]:
        """Raw items of one table by their keys, in order, read consistently."""
        return await self._batches.read(table, keys)

    async def snapshot(self, *items: Item[Any]) -> list[Any]:
        """Items as they were at one moment, in one read."""
        return await self._batches.snapshot(items)

    # -- how single writes are sent

    async def _write(self, actions: Sequence[Action]) -> None:
        if len(actions) == 1:
            await self._send(actions[0])
        elif actions:
            try:
                await write(self, actions)
            except dynamo.TransactionCanceled as canceled:
                raise refusal_of(actions, canceled, self.now()) from None
        for action in actions:
            if action.done is not None:
                action.done()

    async def _update(self, action: Action) -> Any:
        action.request["ReturnValues"] = "ALL_NEW"
        try:
            answer = await self._send(action)
        except ConditionFailed:
            if action.verb != "upsert" or not await self._clear_expired(action):
                raise
            answer = await self._send(action)
        return action.model.decode(answer["Attributes"])

    async def _send(self, action: Action) -> dict[str, Any]:
        request = action.request
        operation = _OPERATIONS[action.kind]
        if "ConditionExpression" in request:
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        try:
            return await self._call(operation, request)
        except dynamo.ConditionFailed as failed:
            raise action.refusal(_found(failed), self.now()) from None
        except (dynamo.DynamoError, Unreachable) as error:
            return await self._send_again(action, operation, error)

    async def _send_again(self, action: Action, operation: str, error: Exception) -> dict[str, Any]:
        try:
            return await send(
                self._call, operation, action.request, error, self.deadline(), repeatable=action.repeatable
            )
        except dynamo.ConditionFailed as refused:
            raise action.refusal(_found(refused), self.now()) from None
        except Unsettled as unsettled:
            # What stands there may be what an earlier try wrote, whose answer was lost.
            found = _found(unsettled.failed)
            if action.kind == "Put" and found is not None and equal(found, action.request["Item"]):
                return {}
            raise OutcomeUnknown(
                f"{action!r}: an answer was lost, and now its condition fails"
            ) from unsettled

    async def _clear_expired(self, action: Action) -> bool:
        """An upsert may not build on what has expired: remove it, if that is what stood in the way."""
        ttl = action.model.table.ttl
        if ttl is None:
            return False
        try:
            await self.call(
                "DeleteItem",
                {
                    "TableName": action.model.table.name,
                    "Key": action.key,
                    "ConditionExpression": "#ttl <= :now",
                    "ExpressionAttributeNames": {"#ttl": ttl},
                    "ExpressionAttributeValues": {":now": self.now()},
                },
            )
        except dynamo.ConditionFailed:
            return False
        return True


class Edit(Generic[E]):
    """One read, changes to typed attributes, one write of the difference."""

    def __init__(self, db: Database, target: Item[E] | E) -> None:
        self._db = db
        self._target = target
        self._states: tuple[E, E] | None = None

    async def __aenter__(self) -> E:
        target = self._target
        old = await target.required() if isinstance(target, Item) else target
        model = make.model_of(old)
        # The draft is a copy down to its lists, so that the old state stays what was read.
        draft = cast("E", model.decode(model.attributes_of(old)))
        self._states = (old, draft)
        return draft

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._states is not None:
            await self._db._write(make.edit(*self._states, self._db.now()))


# Whatever can read a table without saying a key.
_SCANS = frozenset({"Scan", "ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"})
_OPERATIONS = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem"}


def _found(failed: dynamo.ConditionFailed) -> NativeItem | None:
    return dict(failed.item) if failed.item else None
