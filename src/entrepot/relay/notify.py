"""Domain events: what the services tell an owner, as events of a source that every owner has."""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec

from entrepot.accounts.model import UserId
from entrepot.clock import Clock
from entrepot.ids import nanoid
from entrepot.log import fields
from entrepot.relay.deliveries import Dispatch, put_dispatch
from entrepot.relay.model import (
    Duplicate,
    Event,
    EventId,
    Owner,
    OwnersOfUuids,
    Source,
    SourceId,
    Sources,
)
from entrepot.tables import AlreadyExists, Database, Repeated, Transaction
from entrepot.work import Work

SOURCE_NAME = "Entrepot"
SOURCE_URI = "/entrepot"
CONTENT_TYPE = "application/cloudevents+json"
ID_CHARACTERS = 16
OWNERS_KEPT = 10_000

log = logging.getLogger(__name__)

Retention = Callable[[UserId], Awaitable[int]]
"""How many seconds the events of a user are kept."""
Count = Callable[[Transaction, SourceId, UserId, int], None]
"""Notes in a transaction that an event of a source and its owner arrived at this time."""


@functools.lru_cache(maxsize=OWNERS_KEPT)
def source_id_of(user_id: UserId) -> SourceId:
    """The id of an owner's built-in source, found without reading anything."""
    digest = hashlib.sha256(f"entrepot built-in source {user_id}".encode()).digest()
    return SourceId("src_" + base64.urlsafe_b64encode(digest).decode()[:ID_CHARACTERS])


def is_built_in(source_id: SourceId, user_id: UserId) -> bool:
    """Whether this is the owner's built-in source, of whose connections nothing is told: that could go round."""
    return source_id == source_id_of(user_id)


class Told(Protocol):
    """A domain event of a service; one that is told twice has the same id."""

    @property
    def id(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def time(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def data(self) -> dict[str, Any]: ...
    @property
    def user_id(self) -> str: ...


class DomainEvents:
    """Publishes domain events (CloudEvents 1.0) in the transaction of the change that they tell of."""

    def __init__(self, db: Database, work: Work, *, retention: Retention) -> None:
        self._db = db
        self._work = work
        self._clock: Clock = db.clock
        self._retention = retention
        self._sources = Sources(db)
        self._owners = OwnersOfUuids(db)
        self._seen: set[UserId] = set()
        self.count: Count | None = None
        """How an event is counted; set by who puts the halves together."""

    async def source(self, user_id: UserId) -> SourceId:
        """The owner's built-in source, made when it is not there yet."""
        source_id = source_id_of(user_id)
        if user_id in self._seen:
            return source_id
        source = Source(
            sourceId=source_id,
            userId=user_id,
            name=SOURCE_NAME,
            provider="entrepot",
            createdAt=self._clock.stamp(),
        )
        if await self._sources.one(user_id, source_id) is None:
            # Another process may make it at the same moment.
            with contextlib.suppress(AlreadyExists):
                await self._db.create(source)
        if len(self._seen) >= OWNERS_KEPT:
            self._seen.clear()
        self._seen.add(user_id)
        return source_id

    async def publish(
        self,
        transaction: Transaction,
        *,
        user_id: UserId,
        type_: str,
        subject: str,
        data: Mapping[str, Any],
        id_: str | None = None,
        time: str | None = None,
    ) -> EventId:
        """Add a domain event to a transaction: it is delivered if that is committed, and only then."""
        event = await self._event(user_id, type_, subject, data, id_ or nanoid(), time or self._clock.stamp())
        self._put(transaction, event)
        return event.eventId

    async def publish_once(
        self, *, user_id: UserId, type_: str, subject: str, data: Mapping[str, Any], id_: str, time: str
    ) -> None:
        """Publish an event that may be handed on twice, from an outbox: its id is taken once."""
        event = await self._event(user_id, type_, subject, data, id_, time)
        try:
            async with self._db.transaction() as transaction:
                transaction.once(
                    Duplicate(
                        sourceId=event.sourceId,
                        deliveryId=id_,
                        eventId=event.eventId,
                        receivedAt=event.receivedAt,
                        expiresAt=event.expiresAt,
                    )
                )
                self._put(transaction, event)
        except Repeated:
            return

    async def sample(self, user_id: UserId) -> Event:
        """An event to try a connection with; it is not kept."""
        now = self._clock.stamp()
        return await self._event(user_id, "relay.test", "sample", {"hello": "world"}, nanoid(), now)

    async def tell(self, event: Told) -> None:
        """Publish what a service tells, once however often it is told."""
        await self.publish_once(
            user_id=UserId(event.user_id),
            type_=event.type,
            subject=event.subject,
            data=event.data,
            id_=event.id,
            time=event.time,
        )

    async def tell_by_uuid(self, event: Told) -> None:
        """The same for a service that knows people by their UUIDs; of one who is not known nothing is told."""
        owner = await self._owners.one(event.user_id)
        if owner is None:
            log.warning("an event of nobody known was dropped", extra=fields(type=event.type))
            return
        await self.publish_once(
            user_id=owner.userId,
            type_=event.type,
            subject=event.subject,
            data=event.data,
            id_=event.id,
            time=event.time,
        )

    async def know_uuid(self, user_id: UserId, uuid: str) -> None:
        """Remember whose UUID this is, for `tell_by_uuid`."""
        await self._db.put(Owner(uuid=uuid, userId=user_id))

    def _put(self, transaction: Transaction, event: Event) -> None:
        transaction.create(event)
        place = Dispatch(sourceId=event.sourceId, receivedAt=event.receivedAt, eventId=event.eventId)
        put_dispatch(self._work, transaction, place)
        if self.count is not None:
            self.count(transaction, event.sourceId, event.userId, event.receivedAt)

    async def _event(
        self, user_id: UserId, type_: str, subject: str, data: Mapping[str, Any], id_: str, time: str
    ) -> Event:
        source_id = await self.source(user_id)
        now = self._clock.epoch_ms()
        document = {
            "specversion": "1.0",
            "id": id_,
            "source": SOURCE_URI,
            "type": type_,
            "time": time,
            "subject": subject,
            "datacontenttype": "application/json",
            "data": data,
        }
        return Event(
            eventId=EventId("evt_" + nanoid(ID_CHARACTERS)),
            sourceId=source_id,
            userId=user_id,
            headers=msgspec.json.encode({"content-type": CONTENT_TYPE}).decode(),
            body=msgspec.json.encode(document).decode(),
            sourceIp="",
            contentType=CONTENT_TYPE,
            method="POST",
            receivedAt=now,
            expiresAt=now // 1000 + await self._retention(user_id),
            deliveryId=id_,
        )
