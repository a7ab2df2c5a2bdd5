"""Seed 001's data access layer (`packages/core/src/db/`), written as a user of the library would."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from entrepot.accounts.model import UserId, Users, main
from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.ids import nanoid
from entrepot.relay.model import (
    Attempt,
    Attempts,
    Connection,
    ConnectionId,
    Connections,
    Duplicate,
    Event,
    EventId,
    EventLine,
    Events,
    EventStatus,
    Source,
    SourceId,
    Sources,
    events,
)
from entrepot.tables import ConditionFailed, Database, Page, Repeated, TransactionLost, attr, provision
from tests.accounts.test_model import ANN, user

pytestmark = pytest.mark.anyio

RETENTION_SECONDS = {"free": 86_400, "starter": 604_800, "pro": 2_592_000, "team": 7_776_000}
# What an event may become; it never goes back.
NEXT: dict[EventStatus, tuple[EventStatus, ...]] = {
    "processing": ("received",),
    "retrying": ("processing",),
    "delivered": ("processing", "retrying"),
    "failed": ("processing", "retrying"),
    "filtered": ("processing",),
}


class RelayData:
    """The functions of the seed's interface that are more than one pattern."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self.db = db
        self.clock = clock
        self.users = Users(db)
        self.sources = Sources(db)
        self.connections = Connections(db)
        self.events = Events(db)
        self.attempts = Attempts(db)

    async def create_source(self, userId: UserId, name: str) -> Source:
        source = Source(
            sourceId=SourceId(f"src_{nanoid(16)}"),
            userId=userId,
            name=name,
            provider="github",
            createdAt=self.clock.stamp(),
        )
        await self.db.create(source)
        return source

    async def create_connection(self, source: Source, destinationUrl: str) -> Connection:
        connection = Connection(
            connectionId=ConnectionId(f"conn_{nanoid(16)}"),
            sourceId=source.sourceId,
            userId=source.userId,
            name="CRM",
            destinationUrl=destinationUrl,
            signingSecret="whsec_sealed",
            createdAt=self.clock.stamp(),
            updatedAt=self.clock.stamp(),
        )
        async with self.db.transaction() as t:
            t.check(self.sources.one(source.userId, source.sourceId), attr(Source.status) != "deleted")
            t.create(connection)
        return connection

    async def pause(self, connectionId: ConnectionId, reason: str) -> Connection:
        found = await self.connections.by_id(connectionId).required()

        def pause(draft: Connection) -> None:
            draft.status = "paused"
            draft.pausedReason = reason
            draft.updatedAt = self.clock.stamp()

        return await self.db.apply(found, pause)

    async def receive(self, sourceId: SourceId, body: str, deliveryId: str) -> tuple[EventId, bool]:
        """The event's id, and whether it was here before."""
        source = await self.sources.by_id(sourceId).required()
        owner = await self.users.one(source.userId).required()
        event = Event(
            eventId=EventId(f"evt_{nanoid(16)}"),
            sourceId=sourceId,
            userId=source.userId,
            headers="{}",
            body=body,
            sourceIp="192.0.2.1",
            contentType="application/json",
            method="POST",
            receivedAt=self.clock.epoch_ms(),
            deliveryId=deliveryId,
            expiresAt=self.clock.epoch_seconds() + RETENTION_SECONDS[owner.plan],
        )
        first = Duplicate(
            sourceId=sourceId,
            deliveryId=deliveryId,
            eventId=event.eventId,
            receivedAt=event.receivedAt,
            expiresAt=event.expiresAt,
        )
        try:
            async with self.db.transaction() as t:
                t.once(first)
                t.create(event)
        except Repeated as repeated:
            return repeated.record.eventId, True
        return event.eventId, False

    async def update_status(self, eventId: EventId, status: EventStatus) -> Event:
        """Forward only: the index finds the event, the item itself decides."""
        event = await self.events.by_id(eventId).required()
        return await self.db.update(
            event, attr(Event.status).set(status), when=attr(Event.status).one_of(NEXT[status])
        )

    async def count(self, source: Source, events: int) -> None:
        async with self.db.transaction() as t:
            t.update(self.sources.counted(source.userId, source.sourceId, events, self.clock.stamp()))
            t.update(self.users.used(source.userId, events))

    async def failed_events(self, sourceId: SourceId, cursor: str | None) -> Page[EventLine]:
        listed = self.events.of_source(sourceId).where(attr(Event.status) == "failed")
        return await listed.only(EventLine).page(limit=100, cursor=cursor)

    async def record_attempt(self, event: Event, connection: Connection, number: int, status: int) -> None:
        await self.db.create(
            Attempt(
                eventId=event.eventId,
                connectionId=connection.connectionId,
                attemptNumber=number,
                destinationUrl=connection.destinationUrl,
                statusCode=status,
                latencyMs=12,
                attemptedAt=self.clock.epoch_ms(),
                expiresAt=event.expiresAt,
            )
        )


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def data(clock: Clock) -> AsyncIterator[RelayData]:
    engine = await Engine.open(":memory:")
    db = Database(engine, clock=clock)
    await provision(db, [main, events])
    await db.create(user())
    yield RelayData(db, clock)
    await engine.close()


async def test_a_webhook_from_arrival_to_delivery(data: RelayData, clock: Clock) -> None:
    source = await data.create_source(ANN, "GitHub")
    connection = await data.create_connection(source, "https://example.com/hook")
    eventId, repeated = await data.receive(source.sourceId, "{}", "delivery-1")
    assert not repeated
    assert await data.receive(source.sourceId, "{}", "delivery-1") == (eventId, True)
    event = await data.update_status(eventId, "processing")
    await data.record_attempt(event, connection, 1, 500)
    await data.update_status(eventId, "retrying")
    await data.record_attempt(event, connection, 2, 200)
    assert (await data.update_status(eventId, "delivered")).status == "delivered"
    with pytest.raises(ConditionFailed) as caught:
        await data.update_status(eventId, "retrying")
    assert caught.value.item.status == "delivered"
    await data.count(source, 1)
    assert (await data.sources.one(ANN, source.sourceId).required()).eventCount == 1
    assert (await data.users.one(ANN).required()).usageThisMonth == 1
    assert [a.statusCode for a in await data.attempts.of_event(eventId).all()] == [500, 200]
    clock.advance(RETENTION_SECONDS["free"])
    assert await data.events.by_id(eventId) is None
    assert await data.attempts.of_event(eventId).all() == []


async def test_failed_events_are_listed_for_a_replay(data: RelayData) -> None:
    source = await data.create_source(ANN, "GitHub")
    for number in range(3):
        eventId, _ = await data.receive(source.sourceId, "{}", f"delivery-{number}")
        await data.update_status(eventId, "processing")
        if number != 1:
            await data.update_status(eventId, "failed")
    page = await data.failed_events(source.sourceId, None)
    assert [line.deliveryId for line in page.items] == ["delivery-2", "delivery-0"]
    assert page.cursor is None


async def test_a_connection_is_paused_by_its_id_alone(data: RelayData) -> None:
    source = await data.create_source(ANN, "GitHub")
    connection = await data.create_connection(source, "https://example.com/hook")
    paused = await data.pause(connection.connectionId, "410 Gone")
    assert (paused.status, paused.pausedReason) == ("paused", "410 Gone")
    assert await data.connections.of_source(source.sourceId).all() == [paused]


async def test_no_connection_is_made_on_a_deleted_source(data: RelayData) -> None:
    source = await data.create_source(ANN, "GitHub")
    async with data.db.edit(source) as draft:
        draft.status = "deleted"
    with pytest.raises(TransactionLost, match="check Source"):
        await data.create_connection(source, "https://example.com/hook")
