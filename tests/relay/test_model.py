"""The rows of seed 001's access-pattern table about sources, connections, events and attempts."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from entrepot.accounts.model import UserId, main
from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.relay.model import (
    Attempt,
    Attempts,
    Connection,
    ConnectionId,
    Connections,
    Deliveries,
    Delivery,
    Duplicate,
    Duplicates,
    Event,
    EventId,
    EventLine,
    Events,
    EventStatus,
    Rejection,
    Rejections,
    Rollups,
    Source,
    SourceId,
    Sources,
    events,
)
from entrepot.tables import Database, Repeated, attr, provision

pytestmark = pytest.mark.anyio

ANN = UserId("usr_" + "a" * 16)
NOW = "2026-01-02T03:04:05Z"
FIRST = SourceId("src_" + "1" * 16)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def db(clock: Clock) -> AsyncIterator[Database]:
    engine = await Engine.open(":memory:")
    made = Database(engine, clock=clock)
    await provision(made, [main, events])
    yield made
    await engine.close()


def source(number: int = 1) -> Source:
    return Source(
        sourceId=SourceId(f"src_{str(number) * 16}"),
        userId=ANN,
        name="Stripe Prod",
        provider="stripe",
        createdAt=NOW,
    )


def connection(number: int) -> Connection:
    return Connection(
        connectionId=ConnectionId(f"conn_{str(number) * 16}"),
        sourceId=FIRST,
        userId=ANN,
        name="to CRM",
        destinationUrl="https://example.com/hook",
        signingSecret="whsec_x",
        createdAt=NOW,
        updatedAt=NOW,
    )


def event(number: int, clock: Clock, status: EventStatus = "received") -> Event:
    return Event(
        eventId=EventId(f"evt_{number:016}"),
        sourceId=FIRST,
        userId=ANN,
        status=status,
        headers="{}",
        body="hello",
        sourceIp="192.0.2.1",
        contentType="text/plain",
        method="POST",
        receivedAt=1_700_000_000_000 + number,
        expiresAt=clock.epoch_seconds() + 86_400,
    )


async def test_list_sources_for_user(db: Database) -> None:
    for number in (2, 1):
        await db.create(source(number))
    assert await Sources(db).of_user(ANN).all() == [source(1), source(2)]
    assert await Sources(db).one(ANN, FIRST) == source(1)


async def test_get_source_by_id_for_ingestion(db: Database) -> None:
    await db.create(source())
    assert await Sources(db).by_id(FIRST) == source()
    stored = (
        await db.call(
            "GetItem", {"TableName": "ferryhook-main", "Key": {"PK": f"USER#{ANN}", "SK": f"SRC#{FIRST}"}}
        )
    )["Item"]
    assert (stored["GSI3PK"], stored["GSI3SK"]) == (f"SRCID#{FIRST}", "SOURCE")


async def test_counts_of_a_source_are_added_without_reading_it(db: Database) -> None:
    await db.create(source())
    counted = await Sources(db).counted(ANN, FIRST, 90, NOW)
    assert (counted.eventCount, counted.lastEventAt) == (90, NOW)
    assert (await Sources(db).rejected(ANN, FIRST, 2)).rejectedCount == 2


async def test_list_connections_for_source(db: Database) -> None:
    for number in (2, 1):
        await db.create(connection(number))
    connections = Connections(db)
    assert await connections.of_source(FIRST).all() == [connection(1), connection(2)]
    assert await connections.by_id(connection(2).connectionId) == connection(2)
    assert await connections.one(FIRST, connection(1).connectionId) == connection(1)
    assert (await connections.counted(FIRST, connection(1).connectionId, 3, 1)).deliveryCount == 3


async def test_list_events_for_source_newest_first(db: Database, clock: Clock) -> None:
    for number in (1, 3, 2):
        await db.create(event(number, clock))
    listed = Events(db).of_source(FIRST)
    assert [found.receivedAt % 10 for found in await listed.all()] == [3, 2, 1]
    lines = (await listed.only(EventLine).page(limit=2)).items
    assert [type(line) for line in lines] == [EventLine, EventLine]
    between = Events(db).of_source_between(FIRST, 1_700_000_000_002, 1_700_000_000_003)
    assert [found.receivedAt % 10 for found in await between.all()] == [3, 2]


async def test_events_are_filtered_by_status(db: Database, clock: Clock) -> None:
    for number in range(1, 7):
        await db.create(event(number, clock, "failed" if number % 2 else "delivered"))
    failed = Events(db).of_source(FIRST).where(attr(Event.status) == "failed").only(EventLine)
    page = await failed.page(limit=2)
    assert [line.receivedAt % 10 for line in page.items] == [5, 3]
    rest = await failed.page(limit=2, cursor=page.cursor)
    assert [line.receivedAt % 10 for line in rest.items] == [1]


async def test_get_event_by_id(db: Database, clock: Clock) -> None:
    await db.create(event(1, clock))
    assert await Events(db).by_id(event(1, clock).eventId) == event(1, clock)
    assert await Events(db).one(FIRST, event(1, clock).receivedAt, event(1, clock).eventId) == event(1, clock)
    clock.advance(86_401)
    assert await Events(db).by_id(event(1, clock).eventId) is None


def attempt(number: int, to: int, clock: Clock, run: int = 1) -> Attempt:
    return Attempt(
        eventId=EventId("evt_" + "0" * 16),
        connectionId=connection(to).connectionId,
        attemptNumber=number,
        destinationUrl="https://example.com/hook",
        statusCode=500,
        latencyMs=12,
        attemptedAt=1_700_000_000_000,
        run=run,
        expiresAt=clock.epoch_seconds() + 86_400,
    )


async def test_list_attempts_for_event_of_all_connections_and_runs(db: Database, clock: Clock) -> None:
    for each in (
        attempt(1, 1, clock),
        attempt(1, 2, clock),
        attempt(2, 1, clock),
        attempt(1, 1, clock, run=2),
    ):
        await db.create(each)
    listed = await Attempts(db).of_event(EventId("evt_" + "0" * 16)).all()
    assert [(a.attemptNumber, a.connectionId[-1], a.run) for a in listed] == [
        (1, "1", 1),
        (1, "1", 2),
        (1, "2", 1),
        (2, "1", 1),
    ]


async def test_deliveries_and_attempts_of_an_event_are_read_at_once(db: Database, clock: Clock) -> None:
    delivery = Delivery(
        eventId=EventId("evt_" + "0" * 16),
        connectionId=connection(1).connectionId,
        sourceId=FIRST,
        userId=ANN,
        expiresAt=clock.epoch_seconds() + 86_400,
    )
    await db.create(delivery)
    await db.create(attempt(1, 1, clock))
    deliveries = Deliveries(db)
    assert await deliveries.of_event(delivery.eventId).all() == [delivery]
    assert await deliveries.one(delivery.eventId, delivery.connectionId) == delivery
    both = await deliveries.with_attempts(delivery.eventId).all()
    assert [type(each) for each in both] == [Attempt, Delivery]


async def test_a_delivery_id_brings_one_event_within_its_retention(db: Database, clock: Clock) -> None:
    async def ingest(number: int) -> None:
        made = event(number, clock)
        async with db.transaction() as t:
            t.once(
                Duplicate(
                    sourceId=FIRST,
                    deliveryId="d#1",
                    eventId=made.eventId,
                    receivedAt=made.receivedAt,
                    expiresAt=made.expiresAt,
                )
            )
            t.create(made)

    await ingest(1)
    with pytest.raises(Repeated) as caught:
        await ingest(2)
    assert caught.value.record.eventId == event(1, clock).eventId
    assert (await Duplicates(db).one(FIRST, "d#1").required()).eventId == event(1, clock).eventId
    assert await Events(db).of_source(FIRST).count() == 1
    clock.advance(86_401)
    await ingest(3)


async def test_rejections_are_listed_newest_first(db: Database, clock: Clock) -> None:
    for number in (1, 2):
        await db.create(
            Rejection(
                rejectionId=f"rej_{number}",
                sourceId=FIRST,
                userId=ANN,
                cause="bad signature",
                headers="{}",
                sourceIp="192.0.2.1",
                method="POST",
                receivedAt=1_700_000_000_000 + number,
                expiresAt=clock.epoch_seconds() + 86_400,
            )
        )
    assert [found.rejectionId for found in await Rejections(db).of_source(FIRST).all()] == ["rej_2", "rej_1"]
    assert await Events(db).of_source(FIRST).all() == []


async def test_rollups_are_added_and_read_by_period(db: Database, clock: Clock) -> None:
    rollups, expires = Rollups(db), clock.epoch_seconds() + 86_400
    for hour in (3600, 7200, 7200):
        await rollups.received(ANN, "hour", hour, FIRST, 5, expires)
    await rollups.received(ANN, "day", 0, FIRST, 15, expires)
    listed = await rollups.of_user_between(ANN, "hour", 3600, 7200).all()
    assert [(found.startsAt, found.received) for found in listed] == [(3600, 5), (7200, 10)]
    assert (await rollups.one(ANN, "day", 0, FIRST).required()).received == 15
