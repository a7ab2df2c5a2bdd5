"""Replays: a new run of an event, and of many as a job."""

from __future__ import annotations

import pytest

from entrepot.accounts.model import UserId
from entrepot.relay.errors import NotFound, WrongValue
from entrepot.relay.model import ConnectionId, Event, EventId
from entrepot.relay.replays import Selection
from entrepot.tables import attr
from tests.relay.test_deliveries import answering
from tests.relay.world import ANN, SOURCE, Receiver, World

pytestmark = pytest.mark.anyio

FAILS_ONCE = '{"retryableStatuses":[]}'


async def test_a_replay_is_a_new_run_with_the_same_webhook_id(world: World, receiver: Receiver) -> None:
    replays = world.relay.replays
    await world.connect(receiver.url)
    event = await world.receive()
    await world.settle()
    assert (await replays.one(ANN, event.eventId, None)).status == "processing"
    await world.settle()
    kept = await world.event(event)
    assert (kept.status, kept.run) == ("delivered", 2)
    assert receiver.ids == {event.eventId: 2}
    assert sorted(attempt.run for attempt in await world.attempts(event)) == [1, 2]


async def test_a_replay_while_an_older_run_waits_ends_that_run(world: World, receiver: Receiver) -> None:
    replays = world.relay.replays
    receiver.handler = answering(500, 200)
    await world.connect(receiver.url)
    event = await world.receive()
    await world.settle()
    await replays.one(ANN, event.eventId, None)
    await world.settle()
    await world.settle(seconds=40)
    assert (await world.event(event)).status == "delivered"
    assert receiver.ids == {event.eventId: 2}


async def test_a_replay_may_name_its_connections(world: World, receiver: Receiver) -> None:
    replays = world.relay.replays
    for number in (1, 2):
        await world.connect(receiver.url, number)
    event = await world.receive()
    await world.settle()
    await replays.one(ANN, event.eventId, (ConnectionId("conn_0000000000000002"),))
    await world.settle()
    assert [(await world.delivery(event, number)).run for number in (1, 2)] == [1, 2]
    assert (await world.event(event)).status == "delivered"


async def test_what_cannot_be_replayed_is_said(world: World, receiver: Receiver) -> None:
    replays = world.relay.replays
    event = await world.receive()
    with pytest.raises(NotFound):
        await replays.one(UserId("usr_" + "b" * 16), event.eventId, None)
    with pytest.raises(NotFound):
        await replays.one(ANN, EventId("evt_" + "0" * 16), None)
    with pytest.raises(WrongValue, match="no connection of this source"):
        await replays.one(ANN, event.eventId, (ConnectionId("conn_" + "7" * 16),))
    target = world.events.one(SOURCE, event.receivedAt, event.eventId)
    await world.db.update(target, attr(Event.erasedAt).set(1))
    with pytest.raises(WrongValue, match="erased"):
        await replays.one(ANN, event.eventId, None)


async def test_all_that_failed_is_replayed_to_those_it_failed_for(world: World, receiver: Receiver) -> None:
    replays = world.relay.replays
    bad = Receiver(answering(500))
    await bad.start()
    await world.connect(receiver.url, 1)
    await world.connect(bad.url, 2, retryConfig=FAILS_ONCE)
    received = [await world.receive() for _ in range(25)]
    await world.settle()
    bad.handler = None
    job = await replays.many(ANN, Selection(sourceId=SOURCE, status="failed"))
    await world.settle()
    await bad.stop()
    job = await replays.job(ANN, job.jobId)
    assert (job.status, job.total, job.done, job.failed) == ("done", 25, 25, 0)
    assert {(await world.event(event)).status for event in received} == {"delivered"}
    assert set(receiver.ids.values()) == {1}
    assert set(bad.ids.values()) == {2}


async def test_a_replay_that_is_cancelled_stops(world: World, receiver: Receiver) -> None:
    replays = world.relay.replays
    await world.connect(receiver.url)
    for _ in range(3):
        await world.receive()
    await world.settle()
    job = await replays.many(ANN, Selection(sourceId=SOURCE))
    await replays.cancel(ANN, job.jobId)
    await world.settle()
    assert (await replays.job(ANN, job.jobId)).status == "cancelled"
    assert set(receiver.ids.values()) == {1}
