"""Deliveries: what is put for them, how their ends are written, and how held ones are released."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from entrepot.relay.model import (
    Attempt,
    ConnectionId,
    Deliveries,
    Delivery,
    DeliveryState,
    Event,
    EventId,
    Events,
    EventStatus,
    SourceId,
)
from entrepot.relay.states import is_final, may_follow, status_of
from entrepot.tables import Action, Database, Transaction, TransactionLost, attr
from entrepot.work import Lease, Outcome, Work, WorkItem

DISPATCH = "relay.dispatch"
DELIVER = "relay.deliver"
SETTLE = "relay.settle"


class EventPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where an event is kept: all of its key."""

    sourceId: SourceId
    receivedAt: int
    eventId: EventId


class Dispatch(EventPlace, frozen=True, kw_only=True):
    """An event that is to be given to its source's connections; a replay may name some of them."""

    run: int = 1
    connectionIds: tuple[ConnectionId, ...] | None = None


class Errand(EventPlace, frozen=True, kw_only=True):
    """One event on its way to one connection; `alone` when the event has no other."""

    connectionId: ConnectionId
    run: int = 1
    alone: bool = False


def put_dispatch(work: Work, transaction: Transaction, dispatch: Dispatch) -> WorkItem:
    """Have an event dispatched once the transaction, in which it is put, is committed."""
    return work.put(
        transaction,
        kind=DISPATCH,
        subject=dispatch.eventId,
        arguments=_arguments(dispatch),
        key=dispatch.sourceId,
    )


def put_errand(
    work: Work, transaction: Transaction, errand: Errand, *, destination: str, due_at_ms: int
) -> None:
    """Have one delivery made; all to one destination share their concurrency."""
    arguments = _arguments(errand)
    work.put(
        transaction,
        kind=DELIVER,
        subject=errand.eventId,
        arguments=arguments,
        due_at_ms=due_at_ms,
        key=destination,
    )


def dispatch_of(item: WorkItem) -> Dispatch:
    """The dispatch that a work item asks for."""
    return msgspec.convert({**item.arguments, "eventId": item.subject}, Dispatch)


def errand_of(item: WorkItem) -> Errand:
    """The errand that a work item asks for."""
    return msgspec.convert({**item.arguments, "eventId": item.subject}, Errand)


def source_hold(source_id: SourceId) -> str:
    """The key that holds the events of a paused source."""
    return f"relay.source:{source_id}"


def connection_hold(connection_id: ConnectionId) -> str:
    """The key that holds the deliveries to a paused connection."""
    return f"relay.connection:{connection_id}"


def release_source(work: Work, transaction: Transaction, source_id: SourceId) -> None:
    """Let the events of a source that is resumed in this transaction go on, the oldest first."""
    work.release(transaction, source_hold(source_id))


def release_connection(work: Work, transaction: Transaction, connection_id: ConnectionId) -> None:
    """Let the deliveries to a connection that is resumed in this transaction go on, the oldest first."""
    work.release(transaction, connection_hold(connection_id))


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """What an attempt, or the decision to make none, changes of a delivery."""

    state: DeliveryState
    attempt: Attempt | None = None
    next_attempt_at: int | None = None
    cause: str | None = None


class Endings:
    """Writes how attempts end, together with the end of their work."""

    def __init__(self, db: Database, work: Work) -> None:
        self._db = db
        self._work = work
        self._events = Events(db)
        self._deliveries = Deliveries(db)

    async def write(
        self, lease: Lease, outcome: Outcome, errand: Errand, delivery: Delivery, ending: Ending
    ) -> None:
        """Write an ending; what stands in the lease's transaction already goes with it."""
        prepared = list(lease.transaction.actions)
        changed = self._add(lease.transaction, errand, delivery, ending)
        try:
            await lease.finish(outcome)
        except TransactionLost as lost:
            if changed is None or lost.failure_of(changed) is None:
                raise
            # The event itself is gone, or was replayed meanwhile; the delivery ends all the same.
            lease.transaction.actions.extend(prepared)
            self._add(lease.transaction, errand, delivery, ending, with_event=False)
            await lease.finish(outcome)

    def _add(
        self,
        transaction: Transaction,
        errand: Errand,
        delivery: Delivery,
        ending: Ending,
        *,
        with_event: bool = True,
    ) -> Action | None:
        attempts = delivery.attemptCount + (ending.attempt is not None)
        if ending.attempt is not None:
            transaction.put(ending.attempt)
        transaction.update(
            self._deliveries.one(errand.eventId, errand.connectionId),
            attr(Delivery.state).set(ending.state),
            attr(Delivery.attemptCount).set(attempts),
            attr(Delivery.nextAttemptAt).set(ending.next_attempt_at),
            attr(Delivery.cause).set(ending.cause),
            when=attr(Delivery.run) == errand.run,
        )
        status = status_of([(ending.state, attempts)])
        if not with_event or not (is_final(status) or (status == "retrying" and attempts == 1)):
            return None
        if errand.alone:
            return self.change_event(transaction, errand, status, errand.run)
        self.put_settle(transaction, errand)
        return None

    def put_settle(self, transaction: Transaction, place: EventPlace) -> None:
        """Have the status of an event with several deliveries worked out, after what stands in the transaction."""
        arguments = {"sourceId": place.sourceId, "receivedAt": place.receivedAt}
        self._work.put(transaction, kind=SETTLE, subject=place.eventId, arguments=arguments)

    def change_event(
        self, transaction: Transaction, place: EventPlace, status: EventStatus, run: int
    ) -> Action:
        """Move an event on, never back."""
        now = self._db.clock.epoch_ms()
        changes = [attr(Event.status).set(status)]
        if status == "processing":
            changes.append(attr(Event.processedAt).set(now))
        if status == "delivered":
            changes.append(attr(Event.deliveredAt).set(now))
        return transaction.update(
            self._events.one(place.sourceId, place.receivedAt, place.eventId),
            *changes,
            when=(attr(Event.run) == run) & attr(Event.status).one_of(may_follow(status)),
        )


def _arguments(place: EventPlace) -> Mapping[str, Any]:
    arguments: dict[str, Any] = msgspec.to_builtins(place)
    del arguments["eventId"]
    return {name: value for name, value in arguments.items() if value is not None}
