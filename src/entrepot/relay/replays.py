"""Replays: an event, or many of a time range, delivered again as a new run."""

from __future__ import annotations

from typing import Any

import msgspec

from entrepot.accounts.model import UserId
from entrepot.relay.deliveries import Dispatch, put_dispatch
from entrepot.relay.errors import NotFound, RelayError, WrongValue
from entrepot.relay.model import (
    ConnectionId,
    Connections,
    Deliveries,
    Event,
    EventId,
    Events,
    EventStatus,
    SourceId,
    Sources,
)
from entrepot.tables import Database, Transaction, TransactionLost, attr
from entrepot.work import Job, JobFailed, Lease, Step, Work

REPLAY = "relay.replay"
# Their items, with bodies of 256 KiB, stay within the 4 MiB of a transaction.
STEP_EVENTS_MAX = 10
TRIES_MAX = 5
LAST_MS = 9_999_999_999_999


class Selection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which events are replayed, and to whom; with the status `failed` only to those that it failed for."""

    sourceId: SourceId
    status: EventStatus | None = None
    from_ms: int = 0
    to_ms: int = LAST_MS
    connectionIds: tuple[ConnectionId, ...] | None = None


class Line(msgspec.Struct, frozen=True):
    """What a replay needs to know of an event."""

    eventId: EventId
    sourceId: SourceId
    receivedAt: int
    status: EventStatus
    run: int = 1
    erasedAt: int | None = None


class Replays:
    """Replays events."""

    def __init__(self, db: Database, work: Work) -> None:
        self._db = db
        self._work = work
        self._events = Events(db)
        self._sources = Sources(db)
        self._connections = Connections(db)
        self._deliveries = Deliveries(db)
        work.jobs.handle(REPLAY, self._step)

    async def one(
        self, user_id: UserId, event_id: EventId, connection_ids: tuple[ConnectionId, ...] | None
    ) -> Event:
        """Deliver an event again, to all connections of its source or to some; gives it as it is then."""
        for _ in range(TRIES_MAX):
            event = await self._owned(user_id, event_id)
            await self._check_connections(event.sourceId, connection_ids)
            line = msgspec.convert(event, Line, from_attributes=True)
            try:
                async with self._db.transaction() as transaction:
                    self._again(transaction, line, connection_ids)
            except TransactionLost:
                # Its status changed between reading and writing.
                continue
            return await self._owned(user_id, event_id)
        raise RelayError("The event keeps changing; try again.", code="EVENT_BUSY")

    async def many(self, user_id: UserId, selection: Selection) -> Job:
        """Deliver a selection again, as a job; what arrives from now on is not in it."""
        source = await self._sources.one(user_id, selection.sourceId)
        if source is None:
            raise NotFound("source", selection.sourceId)
        await self._check_connections(selection.sourceId, selection.connectionIds)
        if selection.from_ms > selection.to_ms:
            raise WrongValue("from", "must not be after `to`")
        bound = msgspec.structs.replace(selection, to_ms=min(selection.to_ms, self._db.clock.epoch_ms()))
        async with self._db.transaction() as transaction:
            return self._work.jobs.start(
                transaction, kind=REPLAY, owner=user_id, arguments=msgspec.to_builtins(bound)
            )

    async def job(self, user_id: UserId, job_id: str) -> Job:
        """How far a replay is; raises NotFound."""
        job = await self._work.jobs.jobs.one(user_id, job_id)
        if job is None or job.kind != REPLAY:
            raise NotFound("replay", job_id)
        return job

    async def cancel(self, user_id: UserId, job_id: str) -> None:
        """Stop a replay before its next step; what it has put goes out."""
        await self.job(user_id, job_id)
        await self._work.jobs.cancel(user_id, job_id)

    # -- the job

    async def _step(self, job: Job, lease: Lease) -> Step:
        selection = msgspec.convert(job.arguments, Selection)
        found = self._events.of_source_between(selection.sourceId, selection.from_ms, selection.to_ms)
        if selection.status is not None:
            found = found.where(attr(Event.status) == selection.status)
        place: dict[str, Any] = job.cursor or {}
        total = None if place else await found.count()
        if await self._sources.one(UserId(job.owner), selection.sourceId) is None:
            raise JobFailed("The source is gone.")
        # The oldest first. A status that this replay changes does not move an event in the list.
        page = await found.reversed().only(Line).page(limit=STEP_EVENTS_MAX, cursor=place.get("cursor"))
        done = 0
        for line in page.items:
            if line.erasedAt is None:
                self._again(lease.transaction, line, await self._targets(selection, line))
                done += 1
        cursor = {"cursor": page.cursor} if page.cursor is not None else None
        return Step(
            cursor=cursor,
            done=done,
            failed=len(page.items) - done,
            total=total,
            finished=page.cursor is None,
        )

    async def _targets(self, selection: Selection, line: Line) -> tuple[ConnectionId, ...] | None:
        if selection.connectionIds is not None or selection.status != "failed":
            return selection.connectionIds
        deliveries = await self._deliveries.of_event(line.eventId).all()
        return tuple(delivery.connectionId for delivery in deliveries if delivery.state == "failed")

    def _again(
        self, transaction: Transaction, line: Line, connection_ids: tuple[ConnectionId, ...] | None
    ) -> None:
        transaction.update(
            self._events.one(line.sourceId, line.receivedAt, line.eventId),
            attr(Event.status).set("processing"),
            attr(Event.run).set(line.run + 1),
            attr(Event.processedAt).set(self._db.clock.epoch_ms()),
            when=(attr(Event.run) == line.run) | attr(Event.run).absent(),
        )
        place = Dispatch(
            sourceId=line.sourceId,
            receivedAt=line.receivedAt,
            eventId=line.eventId,
            run=line.run + 1,
            connectionIds=connection_ids,
        )
        put_dispatch(self._work, transaction, place)

    async def _owned(self, user_id: UserId, event_id: EventId) -> Event:
        event = await self._events.by_id(event_id)
        if event is None or event.userId != user_id:
            raise NotFound("event", event_id)
        if event.erasedAt is not None:
            raise WrongValue("eventId", "the event was erased, there is nothing left to deliver")
        return event

    async def _check_connections(
        self, source_id: SourceId, connection_ids: tuple[ConnectionId, ...] | None
    ) -> None:
        if connection_ids is None:
            return
        found = await self._connections.of_source(source_id).all()
        known = {connection.connectionId for connection in found if connection.status != "deleted"}
        for number, connection_id in enumerate(connection_ids):
            if connection_id not in known:
                raise WrongValue(f"connectionIds[{number}]", "is no connection of this source")
