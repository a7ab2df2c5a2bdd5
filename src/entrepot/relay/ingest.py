"""Ingest: a sender's request becomes an event. It is answered once the event and its work are durable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from entrepot.ids import nanoid
from entrepot.relay import rules, verification
from entrepot.relay.counters import Counters
from entrepot.relay.deliveries import Dispatch, put_dispatch
from entrepot.relay.errors import Rejected
from entrepot.relay.events import EventLog
from entrepot.relay.model import Duplicate, Event, EventId, Rejection, Source
from entrepot.relay.plans import PlanBook, Standing
from entrepot.relay.sources import SourceBook
from entrepot.relay.views import EventView
from entrepot.tables import Database, Repeated
from entrepot.work import Work

BODY_BYTES_MAX = 256 * 1024
ID_CHARACTERS = 16

JSON = "application/json"


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """A sender's request."""

    method: str
    path: str
    """What follows the source's id in the address."""
    query: str
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes
    source_ip: str
    url: str
    """The whole address as the sender knows it: some sign it."""


class Answer(msgspec.Struct, frozen=True):
    """What the sender is answered."""

    status: int
    content_type: str
    body: bytes
    event_id: EventId | None = None


class Ingest:
    """Takes what senders send."""

    def __init__(
        self,
        db: Database,
        work: Work,
        *,
        sources: SourceBook,
        plans: PlanBook,
        counters: Counters,
        events: EventLog,
    ) -> None:
        self._db = db
        self._clock = db.clock
        self._work = work
        self._sources = sources
        self._plans = plans
        self._counters = counters
        self._events = events

    async def take(self, source: Source, standing: Standing, arrival: Arrival) -> Answer:
        """Verify and keep a request; raises Rejected, PlanLimit.

        One transaction: the event, the guard of its delivery id, its dispatch, and its mark to be counted.
        """
        headers = rules.read_headers(arrival.headers)
        view = EventView(
            method=arrival.method,
            headers=headers,
            query=arrival.query,
            body=arrival.body,
            content_type=headers.get("content-type", ""),
        )
        hub_challenge = rules.hub_challenge(view)
        if hub_challenge is not None:
            return Answer(200, "text/plain; charset=utf-8", hub_challenge.encode())
        await self._verify(source, standing, arrival, view)
        challenge = rules.slack_challenge(source, view)
        if challenge is not None:
            return _json(200, {"challenge": challenge})
        self._plans.check_month(standing)
        return await self._keep(source, standing, arrival, view)

    async def _verify(self, source: Source, standing: Standing, arrival: Arrival, view: EventView) -> None:
        secret = self._sources.secret_of(source)
        if secret is None:
            return
        request = verification.Request(view.headers, arrival.body, arrival.url, view.query)
        scheme = verification.Scheme(
            header=source.signatureHeader,
            algorithm=source.signingAlgorithm,
            encoding=source.signatureEncoding,
            prefix=source.signaturePrefix,
        )
        try:
            verification.verify(source.provider, secret, request, self._clock.epoch_seconds(), scheme)
        except Rejected as rejected:
            await self._reject(source, standing, arrival, rejected.cause)
            raise

    async def _reject(self, source: Source, standing: Standing, arrival: Arrival, cause: str) -> None:
        now = self._clock.epoch_ms()
        rejection = Rejection(
            rejectionId="rej_" + nanoid(ID_CHARACTERS),
            sourceId=source.sourceId,
            userId=source.userId,
            cause=cause,
            headers=rules.json_text(rules.kept_headers(arrival.headers)),
            sourceIp=arrival.source_ip,
            method=arrival.method,
            receivedAt=now,
            expiresAt=now // 1000 + standing.allowance.retention_seconds,
        )
        async with self._db.transaction() as transaction:
            transaction.create(rejection)
            self._counters.note(transaction, source.sourceId, source.userId, now, rejected=True)

    async def _keep(self, source: Source, standing: Standing, arrival: Arrival, view: EventView) -> Answer:
        event = self._event(source, standing, arrival, view)
        try:
            async with self._db.transaction() as transaction:
                transaction.create(event)
                if event.deliveryId is not None:
                    transaction.once(_guard(event, event.deliveryId))
                put_dispatch(
                    self._work,
                    transaction,
                    Dispatch(sourceId=event.sourceId, receivedAt=event.receivedAt, eventId=event.eventId),
                )
                self._counters.note(transaction, event.sourceId, event.userId, event.receivedAt)
        except Repeated as repeated:
            first: Duplicate = repeated.record
            return _answer(source, first.eventId, duplicate=True)
        self._events.remember(event)
        return _answer(source, event.eventId)

    def _event(self, source: Source, standing: Standing, arrival: Arrival, view: EventView) -> Event:
        now = self._clock.epoch_ms()
        delivery_id = rules.delivery_id_of(source, view)
        text, raw = _body(arrival.body)
        return Event(
            eventId=EventId("evt_" + nanoid(ID_CHARACTERS)),
            sourceId=source.sourceId,
            userId=source.userId,
            headers=rules.json_text(rules.kept_headers(arrival.headers)),
            body=text,
            bodyBytes=raw,
            sourceIp=arrival.source_ip,
            contentType=view.content_type,
            method=arrival.method,
            receivedAt=now,
            expiresAt=now // 1000 + standing.allowance.retention_seconds,
            path=arrival.path or None,
            query=arrival.query or None,
            deliveryId=None if delivery_id is None else rules.delivery_key(delivery_id),
        )


def _guard(event: Event, delivery_id: str) -> Duplicate:
    return Duplicate(
        sourceId=event.sourceId,
        deliveryId=delivery_id,
        eventId=event.eventId,
        receivedAt=event.receivedAt,
        expiresAt=event.expiresAt,
    )


def _body(body: bytes) -> tuple[str, bytes | None]:
    try:
        return body.decode(), None
    except UnicodeDecodeError:
        return "", body


def _answer(source: Source, event_id: EventId, *, duplicate: bool = False) -> Answer:
    if source.answer is not None:
        own = source.answer
        return Answer(own.status, own.contentType, own.body.encode(), event_id)
    if duplicate:
        return _json(200, {"id": event_id, "status": "received", "duplicate": True}, event_id)
    return _json(202, {"id": event_id, "status": "received"}, event_id)


def _json(status: int, value: dict[str, Any], event_id: EventId | None = None) -> Answer:
    return Answer(status, JSON, msgspec.json.encode(value), event_id)
