"""Deliveries: what arrives, how it is signed, what is tried again, what each state follows from."""

from __future__ import annotations

import msgspec
import pytest
from aiohttp import web
from standardwebhooks.webhooks import Webhook

from entrepot.accounts.model import UserId
from entrepot.relay.counters import Counters
from entrepot.relay.deliveries import release_connection, release_source
from entrepot.relay.model import Connection, ConnectionId, Events, Source, Sources
from entrepot.relay.notify import source_id_of
from entrepot.relay.requests import purpose_of
from entrepot.relay.signing import new_secret
from entrepot.tables import attr
from tests.relay.world import ANN, SOURCE, Handler, Receiver, World

pytestmark = pytest.mark.anyio


def answering(*statuses: int, headers: dict[str, str] | None = None) -> Handler:
    left = list(statuses)

    async def answer(_: web.Request) -> web.Response:
        status = left.pop(0) if len(left) > 1 else left[0]
        return web.Response(status=status, headers=headers, text=f"as told: {status}")

    return answer


async def test_an_event_arrives_signed_as_standard_webhooks_says(world: World, receiver: Receiver) -> None:
    secret = new_secret()
    await world.connect(receiver.url, secret=secret)
    event = await world.receive()
    await world.settle()
    headers, body, method = receiver.seen[0]
    assert Webhook(secret).verify(body, headers) == {"type": "paid"}
    assert headers["webhook-id"] == event.eventId
    assert (method, headers["x-topic"], headers["content-type"]) == ("POST", "orders", "application/json")
    kept = await world.event(event)
    assert kept.status == "delivered"
    assert kept.deliveredAt is not None
    (attempt,) = await world.attempts(event)
    assert (attempt.statusCode, attempt.responseBody, attempt.error) == (200, "thanks", None)


async def test_both_signatures_are_sent_while_a_secret_is_rotated(world: World, receiver: Receiver) -> None:
    old, new = new_secret(), new_secret()
    made = await world.connect(receiver.url, secret=new)
    sealed = world.sealer.seal(old, purpose=purpose_of(made.connectionId))
    until = world.clock.epoch_seconds() + 86_400
    await world.db.update(
        world.connections.one(SOURCE, made.connectionId),
        attr(Connection.previousSecret).set(sealed),
        attr(Connection.previousSecretUntil).set(until),
    )
    await world.receive()
    await world.settle()
    for secret in (old, new):
        Webhook(secret).verify(receiver.seen[0][1], receiver.seen[0][0])
    await world.settle(seconds=86_401)
    await world.receive()
    await world.settle()
    assert len(receiver.seen[1][0]["webhook-signature"].split(" ")) == 1


async def test_what_belongs_to_the_senders_connection_is_not_passed_on(
    world: World, receiver: Receiver
) -> None:
    headers = {
        "Cookie": "a=b", "Authorization": "Bearer x", "X-Forwarded-For": "192.0.2.9", "Forwarded": "for=x",
        "Connection": "keep-alive, X-Hop", "X-Hop": "1", "Host": "example.org", "X-Kept": "yes",
    }  # fmt: skip
    own = world.sealer.seal(
        '{"Authorization":"Bearer ours"}', purpose=purpose_of(ConnectionId("conn_0000000000000001"))
    )
    await world.connect(receiver.url, headers=own)
    await world.receive(headers=msgspec.json.encode(headers).decode(), method="GET")
    await world.settle()
    seen, _, method = receiver.seen[0]
    assert seen["authorization"] == "Bearer ours"
    assert seen["x-kept"] == "yes"
    assert seen["host"].startswith("127.0.0.1")
    assert not {"cookie", "x-forwarded-for", "forwarded", "x-hop"} & seen.keys()
    assert method == "POST"


async def test_failures_are_tried_again_by_the_schedule_and_then_given_up(
    world: World, receiver: Receiver
) -> None:
    receiver.handler = answering(500)
    await world.connect(receiver.url)
    event = await world.receive()
    await world.settle()
    assert (await world.event(event)).status == "retrying"
    for count, seconds in enumerate((33, 132, 990, 3960, 15_840, 47_520, 95_040), 2):
        await world.settle(seconds=seconds)
        assert len(receiver.seen) == count
    assert (await world.event(event)).status == "failed"
    delivery = await world.delivery(event)
    assert (delivery.state, delivery.attemptCount, delivery.cause) == ("failed", 8, "8 attempts failed")
    assert [attempt.attemptNumber for attempt in await world.attempts(event)] == list(range(1, 9))
    assert set(receiver.ids) == {event.eventId}


async def test_retry_after_is_respected(world: World, receiver: Receiver) -> None:
    receiver.handler = answering(503, 200, headers={"Retry-After": "500"})
    await world.connect(receiver.url)
    event = await world.receive()
    await world.settle()
    await world.settle(seconds=490)
    assert len(receiver.seen) == 1
    await world.settle(seconds=11)
    assert (await world.event(event)).status == "delivered"


async def test_an_attempt_after_the_events_expiry_fails_now(world: World, receiver: Receiver) -> None:
    receiver.handler = answering(500)
    await world.connect(receiver.url)
    event = await world.receive(expiresAt=world.clock.epoch_seconds() + 20)
    await world.settle()
    delivery = await world.delivery(event)
    assert (delivery.state, delivery.cause) == ("failed", "retention")


async def test_a_status_that_is_not_retried_fails_at_once(world: World, receiver: Receiver) -> None:
    receiver.handler = answering(400)
    await world.connect(receiver.url, retryConfig='{"retryableStatuses":[503]}')
    event = await world.receive()
    await world.settle()
    assert (await world.event(event)).status == "failed"


async def test_a_410_pauses_the_connection_and_says_why(world: World, receiver: Receiver) -> None:
    receiver.handler = answering(410)
    await world.connect(receiver.url)
    event = await world.receive()
    await world.settle()
    connection = await world.connection()
    assert connection.status == "paused"
    assert "410" in (connection.pausedReason or "")
    assert (await world.event(event)).status == "failed"
    told = await Events(world.db).of_source(source_id_of(ANN)).all()
    types = {msgspec.json.decode(each.body)["type"] for each in told}
    assert types == {"relay.connection.paused", "relay.delivery.failed"}


async def test_days_of_failures_alone_pause_a_connection(world: World, receiver: Receiver) -> None:
    receiver.handler = answering(500)
    await world.connect(receiver.url)
    await world.receive()
    await world.settle()
    assert (await world.connection()).failingSince is not None
    world.clock.advance(5 * 86_400)
    await world.receive()
    await world.settle()
    connection = await world.connection()
    assert (connection.status, connection.pausedReason) == ("paused", "Nothing but failures for 5 days.")


async def test_one_success_ends_the_failing(world: World, receiver: Receiver) -> None:
    receiver.handler = answering(500, 200)
    await world.connect(receiver.url)
    await world.receive()
    await world.settle()
    await world.settle(seconds=34)
    assert (await world.connection()).failingSince is None


async def test_several_connections_together_make_the_events_status(world: World, receiver: Receiver) -> None:
    bad = Receiver(answering(500))
    await bad.start()
    await world.connect(receiver.url, 1)
    await world.connect(bad.url, 2, retryConfig='{"delays":[0,60]}')
    await world.connect(receiver.url, 3, filters='[{"path":"$.type","operator":"equals","value":"other"}]')
    event = await world.receive()
    await world.settle()
    assert (await world.event(event)).status == "retrying"
    await world.settle(seconds=67)
    await bad.stop()
    assert (await world.event(event)).status == "failed"
    found = await world.deliveries.of_event(event.eventId).all()
    assert [each.state for each in found] == ["delivered", "failed", "filtered"]


async def test_an_event_that_all_filter_is_filtered(world: World, receiver: Receiver) -> None:
    await world.connect(receiver.url, filters='[{"path":"$.type","operator":"equals","value":"other"}]')
    event = await world.receive()
    await world.settle()
    assert (await world.event(event)).status == "filtered"
    assert receiver.seen == []


async def test_without_a_connection_an_event_stays_received(world: World) -> None:
    event = await world.receive()
    await world.settle()
    assert (await world.event(event)).status == "received"


async def test_very_many_connections_get_one_delivery_each(world: World, receiver: Receiver) -> None:
    for number in range(120):
        other = '[{"path":"$.type","operator":"equals","value":"other"}]'
        await world.connect(receiver.url, number, filters="[]" if number < 100 else other)
    event = await world.receive()
    await world.settle()
    assert len(receiver.seen) == 100
    assert (await world.event(event)).status == "delivered"


async def test_a_failing_transform_fails_the_delivery_and_sends_nothing(
    world: World, receiver: Receiver
) -> None:
    await world.connect(receiver.url, transform='{"type":"jmespath","expression":"abs(type)"}')
    event = await world.receive()
    await world.settle()
    delivery = await world.delivery(event)
    assert delivery.state == "failed"
    assert "expression" in (delivery.cause or "")
    assert receiver.seen == []


async def test_deliveries_to_a_paused_connection_are_held_and_go_out_oldest_first(
    world: World, receiver: Receiver
) -> None:
    made = await world.connect(receiver.url, status="paused", ratePerSecond=None)
    held = []
    for number in range(5):
        held.append(await world.receive(f'{{"n":{number}}}'))
        world.clock.advance(1)
    await world.settle()
    assert receiver.seen == []
    assert (await world.delivery(held[0])).state == "held"
    async with world.db.transaction() as transaction:
        transaction.update(
            world.connections.one(SOURCE, made.connectionId), attr(Connection.status).set("active")
        )
        release_connection(world.work, transaction, made.connectionId)
    await world.settle()
    assert sorted(receiver.ids) == sorted(event.eventId for event in held)
    assert (await world.event(held[0])).status == "delivered"


async def test_events_of_a_paused_source_wait_for_its_resumption(world: World, receiver: Receiver) -> None:
    await world.connect(receiver.url)
    source = Sources(world.db).one(ANN, SOURCE)
    await world.db.update(source, attr(Source.status).set("paused"))
    event = await world.receive()
    await world.settle()
    assert (await world.event(event)).status == "received"
    async with world.db.transaction() as transaction:
        transaction.update(source, attr(Source.status).set("active"))
        release_source(world.work, transaction, SOURCE)
    await world.settle()
    assert (await world.event(event)).status == "delivered"


async def test_a_deleted_connection_cancels_its_deliveries(world: World, receiver: Receiver) -> None:
    receiver.handler = answering(500)
    made = await world.connect(receiver.url)
    event = await world.receive()
    await world.settle()
    target = world.connections.one(SOURCE, made.connectionId)
    await world.db.update(target, attr(Connection.status).set("deleted"))
    await world.settle(seconds=40)
    assert (await world.delivery(event)).state == "cancelled"
    assert len(receiver.seen) == 1


async def test_a_rate_limit_spreads_deliveries(world: World, receiver: Receiver) -> None:
    await world.connect(receiver.url, ratePerSecond=0.01)
    for _ in range(3):
        await world.receive()
    await world.settle()
    assert len(receiver.seen) == 1
    await world.settle(seconds=101)
    assert len(receiver.seen) == 2


async def test_endings_are_counted_exactly(world: World, receiver: Receiver) -> None:
    receiver.handler = answering(200, 200, 400)
    await world.connect(receiver.url, retryConfig='{"retryableStatuses":[]}')
    for _ in range(7):
        await world.receive()
        await world.settle()
    await world.settle(seconds=2)
    await world.settle(seconds=6)
    connection = await world.connection()
    assert (connection.deliveryCount, connection.failureCount) == (7, 5)


async def test_the_built_in_source_tells_nothing_of_its_own_connections(
    world: World, receiver: Receiver
) -> None:
    receiver.handler = answering(410)
    source_id = await world.relay.domain.source(UserId(ANN))
    made = await world.connect(receiver.url)
    moved = msgspec.structs.replace(made, sourceId=source_id, connectionId="conn_" + "9" * 16)
    sealed = world.sealer.seal(new_secret(), purpose=purpose_of(moved.connectionId))
    await world.db.create(msgspec.structs.replace(moved, signingSecret=sealed))
    async with world.db.transaction() as transaction:
        await world.relay.domain.publish(
            transaction, user_id=ANN, type_="fleet.device.offline", subject="dev", data={}
        )
    await world.settle()
    assert len(await Events(world.db).of_source(source_id).all()) == 1
    assert len(receiver.seen) == 1


async def test_an_outboxs_event_that_is_handed_on_twice_is_published_once(world: World) -> None:
    for _ in range(2):
        await world.relay.domain.publish_once(
            user_id=ANN, type_="fleet.device.online", subject="dev", data={}, id_="one", time="now"
        )
    assert len(await Events(world.db).of_source(source_id_of(ANN)).all()) == 1


async def test_domain_events_are_counted_by_their_source(world: World) -> None:
    world.relay.domain.count = Counters(world.db, world.work).note
    async with world.db.transaction() as transaction:
        await world.relay.domain.publish(
            transaction, user_id=ANN, type_="fleet.device.offline", subject="dev", data={}
        )
    await world.settle(seconds=2)
    assert (await Sources(world.db).one(ANN, source_id_of(ANN)).required()).eventCount == 1
