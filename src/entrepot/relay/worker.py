"""What is done for deliveries: events are given to connections, attempts are made, states are worked out."""

from __future__ import annotations

import random
from collections import OrderedDict

import msgspec

from entrepot.clock import Clock
from entrepot.relay import filters, retries
from entrepot.relay.attempts import Answer, Sender
from entrepot.relay.deliveries import (
    DELIVER,
    DISPATCH,
    SETTLE,
    Dispatch,
    Ending,
    Endings,
    Errand,
    EventPlace,
    connection_hold,
    dispatch_of,
    errand_of,
    put_errand,
    source_hold,
)
from entrepot.relay.errors import TransformFailed, WrongValue
from entrepot.relay.health import Health
from entrepot.relay.model import (
    Attempt,
    Connection,
    Connections,
    Deliveries,
    Delivery,
    Event,
    Events,
    Source,
    Sources,
)
from entrepot.relay.requests import Requests
from entrepot.relay.states import WAITING, may_follow, status_of
from entrepot.relay.tallies import Tallies
from entrepot.relay.views import view_of
from entrepot.tables import Database, Transaction, TransactionLost, attr
from entrepot.work import DONE, Again, Held, Lease, Outcome, Work, WorkItem

CONCURRENCY = 128
DESTINATION_CONCURRENCY = 8
SHARDS = 4
# Longer than the longest timeout of an attempt.
LEASE_SECONDS = 60.0
# A transaction holds 100 actions; so many deliveries go into one with their work, or their mark to be counted.
DISPATCH_AT_ONCE_MAX = 45
PACES_KEPT = 4096


class Moment(msgspec.Struct, frozen=True):
    """All that is needed of an event to work out its status."""

    status: str
    run: int


class DeliveryWork:
    """The handlers of the kinds of work by which events are delivered."""

    def __init__(
        self,
        db: Database,
        work: Work,
        *,
        sender: Sender,
        requests: Requests,
        health: Health,
        tallies: Tallies,
    ) -> None:
        self._db = db
        self._clock: Clock = db.clock
        self._work = work
        self._sender = sender
        self._requests = requests
        self._health = health
        self._tallies = tallies
        self._endings = Endings(db, work)
        self._events = Events(db)
        self._deliveries = Deliveries(db)
        self._connections = Connections(db)
        self._sources = Sources(db)
        self._paces = Paces()
        work.handle(DISPATCH, self.dispatch, concurrency=CONCURRENCY, shards=SHARDS, attempts_max=None)
        work.handle(SETTLE, self.settle, concurrency=CONCURRENCY, shards=SHARDS, attempts_max=None)
        work.handle(
            DELIVER,
            self.deliver,
            concurrency=CONCURRENCY,
            key_concurrency=DESTINATION_CONCURRENCY,
            lease_seconds=LEASE_SECONDS,
            shards=SHARDS,
            attempts_max=None,
        )

    # -- one event to its connections

    async def dispatch(self, item: WorkItem, lease: Lease) -> Outcome:
        """Make a delivery for each connection of the event's source."""
        wanted = dispatch_of(item)
        event = await self._events.one(wanted.sourceId, wanted.receivedAt, wanted.eventId)
        if event is None or event.run != wanted.run:
            return DONE
        source = await self._sources.one(event.userId, event.sourceId)
        if source is None or source.status == "deleted":
            return DONE
        if source.status == "paused":
            paused = attr(Source.status) == "paused"
            lease.transaction.check(self._sources.one(event.userId, event.sourceId), paused)
            return Held(source_hold(event.sourceId))
        before = await self._deliveries.of_event(event.eventId).all()
        chosen = await self._chosen(wanted)
        if not chosen and not before:
            return DONE
        made = [(connection, self._delivery(event, connection)) for connection in chosen]
        await self._put(lease, event, made, before)
        return DONE

    async def _chosen(self, wanted: Dispatch) -> list[Connection]:
        found = await self._connections.of_source(wanted.sourceId).all()
        return [
            connection
            for connection in found
            if connection.status != "deleted"
            and (wanted.connectionIds is None or connection.connectionId in wanted.connectionIds)
        ]

    def _delivery(self, event: Event, connection: Connection) -> Delivery:
        due = self._clock.epoch_ms() + round(retries.parse(connection.retryConfig).delays[0] * 1000)
        passes = filters.parse(connection.filters).passes(view_of(event))
        return Delivery(
            eventId=event.eventId,
            connectionId=connection.connectionId,
            sourceId=event.sourceId,
            userId=event.userId,
            state="pending" if passes else "filtered",
            run=event.run,
            nextAttemptAt=due if passes else None,
            expiresAt=event.expiresAt,
        )

    async def _put(
        self,
        lease: Lease,
        event: Event,
        made: list[tuple[Connection, Delivery]],
        before: list[Delivery],
    ) -> None:
        """Write deliveries, their work and the event's status; in one transaction, unless they are very many.

        Then all deliveries are written before the first work: none can be over, and the event with it, before all are
        there. Those whose work is put have a time; so a dispatch that was cut off goes on where it was.
        """
        ids = {delivery.connectionId for _, delivery in made}
        kept = [delivery for delivery in before if delivery.connectionId not in ids]
        everything = [*kept, *(delivery for _, delivery in made)]
        status = status_of((delivery.state, delivery.attemptCount) for delivery in everything)
        if event.status in may_follow(status):
            self._endings.change_event(lease.transaction, _place(event), status, event.run)
        if len(made) <= DISPATCH_AT_ONCE_MAX:
            for connection, delivery in made:
                self._put_delivery(lease.transaction, delivery)
                if delivery.state == "pending":
                    self._put_errand(
                        lease.transaction, event, connection, delivery, alone=len(everything) == 1
                    )
            return
        written = {delivery.connectionId: delivery for delivery in before if delivery.run == event.run}
        for batch in _batches([entry for entry in made if entry[1].connectionId not in written]):
            for _, delivery in batch:
                self._put_delivery(lease.transaction, msgspec.structs.replace(delivery, nextAttemptAt=None))
            await lease.checkpoint()
        waiting = [entry for entry in made if _waits_for_work(written.get(entry[1].connectionId), entry[1])]
        for batch in _batches(waiting):
            for connection, delivery in batch:
                lease.transaction.update(
                    self._deliveries.one(event.eventId, connection.connectionId),
                    attr(Delivery.nextAttemptAt).set(delivery.nextAttemptAt),
                )
                self._put_errand(lease.transaction, event, connection, delivery, alone=False)
            await lease.checkpoint()

    def _put_delivery(self, transaction: Transaction, delivery: Delivery) -> None:
        transaction.put(delivery)
        if delivery.state == "filtered":
            self._tallies.note(transaction, delivery, None)

    def _put_errand(
        self,
        transaction: Transaction,
        event: Event,
        connection: Connection,
        delivery: Delivery,
        *,
        alone: bool,
    ) -> None:
        errand = Errand(
            sourceId=event.sourceId,
            receivedAt=event.receivedAt,
            eventId=event.eventId,
            connectionId=connection.connectionId,
            run=event.run,
            alone=alone,
        )
        put_errand(
            self._work,
            transaction,
            errand,
            destination=connection.connectionId,
            due_at_ms=delivery.nextAttemptAt or 0,
        )

    # -- one delivery

    async def deliver(self, item: WorkItem, lease: Lease) -> Outcome:
        """Make one attempt, unless the delivery is over, held or has to wait for its turn."""
        errand = errand_of(item)
        delivery = await self._deliveries.one(errand.eventId, errand.connectionId)
        if delivery is None or delivery.run != errand.run or delivery.state not in WAITING:
            return DONE
        connection = await self._connections.one(errand.sourceId, errand.connectionId)
        if connection is None or connection.status == "deleted":
            return await self._end(
                lease, errand, delivery, Ending(state="cancelled", cause="the connection was deleted")
            )
        if connection.status == "paused":
            return self._hold(lease, errand, delivery)
        wait_ms = self._paces.wait_ms(connection, self._clock.epoch_ms())
        if wait_ms:
            return Again(self._clock.epoch_ms() + wait_ms, "the connection's rate limit", counts=False)
        event = await self._events.one(errand.sourceId, errand.receivedAt, errand.eventId)
        if event is None or event.erasedAt is not None:
            cause = "retention" if event is None else "the event was erased"
            return await self._end(lease, errand, delivery, Ending(state="failed", cause=cause))
        try:
            request = self._requests.build(event, connection)
        except (TransformFailed, WrongValue) as error:
            return await self._fail(
                lease, errand, delivery, connection, Ending(state="failed", cause=str(error))
            )
        answer = await self._sender.send(request)
        return await self._after(lease, errand, delivery, connection, answer)

    def _hold(self, lease: Lease, errand: Errand, delivery: Delivery) -> Outcome:
        # Should it be resumed at this moment, the check fails and the delivery is looked at again.
        lease.transaction.check(
            self._connections.one(errand.sourceId, errand.connectionId), attr(Connection.status) == "paused"
        )
        if delivery.state != "held":
            lease.transaction.update(
                self._deliveries.one(errand.eventId, errand.connectionId), attr(Delivery.state).set("held")
            )
        return Held(connection_hold(errand.connectionId))

    async def _after(
        self, lease: Lease, errand: Errand, delivery: Delivery, connection: Connection, answer: Answer
    ) -> Outcome:
        now = self._clock.epoch_ms()
        attempt = _attempt(delivery, connection, answer, now)
        decision = retries.decide(
            retries.parse(connection.retryConfig),
            status=answer.status,
            attempts=attempt.attemptNumber,
            now_ms=now,
            expires_at=delivery.expiresAt,
            retry_after_seconds=retries.retry_after(answer.retry_after, now),
            random=random.random,
        )
        await self._health.note(connection, answer)
        if isinstance(decision, retries.Delivered):
            return await self._end(lease, errand, delivery, Ending(state="delivered", attempt=attempt))
        if isinstance(decision, retries.GivenUp):
            ending = Ending(state="failed", attempt=attempt, cause=decision.cause)
            return await self._fail(lease, errand, delivery, connection, ending)
        again = Again(decision.at_ms, answer.error or f"status {answer.status}")
        ending = Ending(state="pending", attempt=attempt, next_attempt_at=decision.at_ms)
        await self._endings.write(lease, again, errand, delivery, ending)
        return again

    async def _fail(
        self, lease: Lease, errand: Errand, delivery: Delivery, connection: Connection, ending: Ending
    ) -> Outcome:
        await self._health.tell_failed(lease.transaction, connection, delivery, ending.cause or "")
        return await self._end(lease, errand, delivery, ending)

    async def _end(self, lease: Lease, errand: Errand, delivery: Delivery, ending: Ending) -> Outcome:
        if ending.state in ("delivered", "failed"):
            latency_ms = ending.attempt.latencyMs if ending.attempt is not None else None
            self._tallies.note(lease.transaction, _ended(delivery, ending), latency_ms)
        await self._endings.write(lease, DONE, errand, delivery, ending)
        return DONE

    # -- the status of an event with several deliveries

    async def settle(self, item: WorkItem, _: Lease) -> Outcome:
        """Move an event to the status that its deliveries have brought it to."""
        place = msgspec.convert({**item.arguments, "eventId": item.subject}, EventPlace)
        target = self._events.one(place.sourceId, place.receivedAt, place.eventId)
        moment = await target.only(Moment)
        if moment is None:
            return DONE
        found = await self._deliveries.of_event(place.eventId).all()
        status = status_of((delivery.state, delivery.attemptCount) for delivery in found)
        if status == moment.status:
            return DONE
        try:
            async with self._db.transaction() as transaction:
                self._endings.change_event(transaction, place, status, moment.run)
        except TransactionLost:
            # Another has brought it further, or it was replayed: then another settling follows.
            return DONE
        return DONE


class Paces:
    """Rate limits of connections: so many a second from this process, evenly spread."""

    def __init__(self) -> None:
        self._next_ms: OrderedDict[str, float] = OrderedDict()

    def wait_ms(self, connection: Connection, now_ms: int) -> int:
        """How long to wait for one's turn; 0 takes the turn."""
        if not connection.ratePerSecond:
            return 0
        following = self._next_ms.get(connection.connectionId, 0.0)
        if following > now_ms:
            return max(1, round(following - now_ms))
        self._next_ms[connection.connectionId] = now_ms + 1000 / connection.ratePerSecond
        self._next_ms.move_to_end(connection.connectionId)
        if len(self._next_ms) > PACES_KEPT:
            self._next_ms.popitem(last=False)
        return 0


Entry = tuple[Connection, Delivery]


def _batches(entries: list[Entry]) -> list[list[Entry]]:
    return [
        entries[start : start + DISPATCH_AT_ONCE_MAX]
        for start in range(0, len(entries), DISPATCH_AT_ONCE_MAX)
    ]


def _waits_for_work(written: Delivery | None, made: Delivery) -> bool:
    found = made if written is None else written
    return found.state == "pending" and (written is None or written.nextAttemptAt is None)


def _attempt(delivery: Delivery, connection: Connection, answer: Answer, now_ms: int) -> Attempt:
    return Attempt(
        eventId=delivery.eventId,
        connectionId=delivery.connectionId,
        attemptNumber=delivery.attemptCount + 1,
        destinationUrl=connection.destinationUrl,
        statusCode=answer.status,
        responseBody=answer.body or None,
        latencyMs=answer.latency_ms,
        error=answer.error,
        attemptedAt=now_ms - answer.latency_ms,
        run=delivery.run,
        expiresAt=delivery.expiresAt,
    )


def _ended(delivery: Delivery, ending: Ending) -> Delivery:
    return msgspec.structs.replace(delivery, state=ending.state)


def _place(event: Event) -> EventPlace:
    return EventPlace(sourceId=event.sourceId, receivedAt=event.receivedAt, eventId=event.eventId)
