"""Receiving in one process: exact counts, plans and billing, and a store that lags, throttles and conflicts."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from entrepot.accounts.deletion import Leaving
from entrepot.accounts.model import Email, User, UserId, Users, main
from entrepot.accounts.sealing import Sealer
from entrepot.accounts.trail import Trail
from entrepot.clock import Clock
from entrepot.engine import Chaos, Engine
from entrepot.relay.billing import Billing, Subscription, plan_of
from entrepot.relay.deletion import RelayDeletion
from entrepot.relay.deliveries import DISPATCH, dispatch_of
from entrepot.relay.destinations import Destinations
from entrepot.relay.errors import NotFound, PlanLimit, Rejected
from entrepot.relay.ingest import Answer, Arrival
from entrepot.relay.model import Events, Rollups, Source, SourceId, events
from entrepot.relay.notify import DomainEvents
from entrepot.relay.plans import PlanBook
from entrepot.relay.receiving import Receiving
from entrepot.relay.requests import purpose_of
from entrepot.relay.settings import Allowance, Plans, Relay
from entrepot.tables import Database, provision
from entrepot.work import DONE, Lease, Outcome, Work, WorkItem
from entrepot.work.model import work as work_table

pytestmark = pytest.mark.anyio

ANN = UserId("usr_" + "a" * 16)
UNKIND = "index_lag_ms=200,stale=0.3,throttle=0.05,conflict=0.1,in_progress=0.05,unprocessed=0.2,short_pages=0.2,seed=5"
ROUNDS_MAX = 200
SMALL = Allowance(
    events_per_month=5,
    sources=2,
    connections_per_source=2,
    inbound_per_minute=100_000,
    retention_seconds=3600,
)


class Dock:
    """The receiving half on a store, and what was dispatched."""

    def __init__(self, engine: Engine, clock: Clock, settings: Relay) -> None:
        self.clock = clock
        self.db = Database(engine, clock=clock)
        self.work = Work(self.db)
        self.dispatched: list[str] = []
        self.work.handle(DISPATCH, self._dispatch, shards=4)
        self.plans = PlanBook(self.db, settings)
        self.receiving = Receiving(
            self.db,
            self.work,
            settings=settings,
            plans=self.plans,
            sealer=Sealer([b"k" * 32]),
            trail=Trail(self.db, CollectorRegistry()),
            destinations=Destinations(),
            public_url=None,
        )

    async def _dispatch(self, item: WorkItem, _: Lease) -> Outcome:
        self.dispatched.append(dispatch_of(item).eventId)
        return DONE

    async def take(
        self, source: Source, body: bytes = b"{}", headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> Answer:
        found = await self.receiving.sources.receiving(source.sourceId)
        assert found is not None
        arrival = Arrival(
            method="POST",
            path="",
            query="",
            headers=headers,
            body=body,
            source_ip="192.0.2.1",
            url="https://x/",
        )
        return await self.receiving.ingest.take(found, await self.plans.standing(source.userId), arrival)

    async def settle(self) -> None:
        """Do all work, also what is due later."""
        for _ in range(ROUNDS_MAX):
            if not await self.work.run_due():
                return
            self.clock.advance(61)

    async def source(self, **fields: Any) -> Source:
        return await self.receiving.sources.create(ANN, {"name": "s", "provider": "custom", **fields})

    async def seen(self, source: Source) -> Source:
        return await self.receiving.sources.get(ANN, source.sourceId)

    async def owner(self) -> User:
        return await Users(self.db).one(ANN).required()


@asynccontextmanager
async def docked(settings: Relay | None = None) -> AsyncIterator[tuple[Dock, Engine]]:
    clock = Clock()
    engine = await Engine.open(":memory:", clock=lambda: clock.epoch_ms() / 1000)
    try:
        dock = Dock(engine, clock, settings or Relay())
        await provision(dock.db, [main, events, work_table])
        now = clock.stamp()
        await dock.db.create(
            User(
                userId=ANN, email=Email("ann@example.com"), name="Ann", plan="free", stripeCustomerId="cus_1",
                usagePeriodStart=f"{now[:7]}-01", createdAt=now, updatedAt=now,
            )
        )  # fmt: skip
        yield dock, engine
    finally:
        await engine.close()


@pytest.fixture
async def dock() -> AsyncIterator[Dock]:
    async with docked() as (made, _):
        yield made


async def test_an_event_costs_one_transaction(dock: Dock) -> None:
    source = await dock.source(provider="github")
    await dock.take(source, headers=[(b"x-github-delivery", b"0")])
    calls: list[str] = []
    call = dock.db._call

    async def counting(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        calls.append(f"{operation} {len(request.get('TransactItems', ()))}")
        return await call(operation, request)

    dock.db._call = counting
    await dock.take(source, headers=[(b"x-github-delivery", b"1")])
    # The event, the guard, its dispatch and its count; the second's requests to count were put before, or are two more.
    assert len(calls) == 1
    assert calls[0] in ("TransactWriteItems 4", "TransactWriteItems 5", "TransactWriteItems 6")


async def test_counts_end_exact_and_repeats_and_rejections_are_not_events(dock: Dock) -> None:
    source = await dock.source(provider="github", signingSecret="s")
    plain = await dock.source(provider="github")
    for number in range(250):
        await dock.take(plain, headers=[(b"x-github-delivery", str(number % 200).encode())])
    for _ in range(7):
        with pytest.raises(Rejected):
            await dock.take(source)
    await dock.settle()
    assert (await dock.seen(plain)).eventCount == 200
    assert (await dock.seen(plain)).lastEventAt is not None
    assert ((await dock.seen(source)).eventCount, (await dock.seen(source)).rejectedCount) == (0, 7)
    assert (await dock.owner()).usageThisMonth == 200
    assert len(dock.dispatched) == len(set(dock.dispatched)) == 200
    days = await Rollups(dock.db).of_user_between(ANN, "day", 0, 9_999_999_999).all()
    assert sum(day.received for day in days) == 200


@pytest.mark.parametrize("written", [False, True])
async def test_a_count_that_is_cut_off_is_neither_lost_nor_doubled(dock: Dock, written: bool) -> None:
    source = await dock.source()
    for _ in range(100):
        await dock.take(source)
    call, left = dock.db._call, [12]

    async def mortal(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == "TransactWriteItems":
            left[0] -= 1
            if left[0] % 3 == 0 and left[0] > 0:
                if written:
                    await call(operation, request)
                raise OSError("cut off")
        return await call(operation, request)

    dock.db._call = mortal
    await dock.settle()
    dock.db._call = call
    await dock.settle()
    assert (await dock.seen(source)).eventCount == 100
    assert (await dock.owner()).usageThisMonth == 100


async def test_domain_events_are_counted_and_use_up_nothing(dock: Dock) -> None:
    domain = DomainEvents(dock.db, dock.work, retention=dock.plans.retention)
    domain.count = dock.receiving.counters.note
    for number in range(3):
        async with dock.db.transaction() as transaction:
            await domain.publish(
                transaction, user_id=ANN, type_="fleet.device.offline", subject=str(number), data={}
            )
    await dock.settle()
    (source,) = await dock.receiving.sources.of_user(ANN)
    assert (source.provider, source.eventCount) == ("entrepot", 3)
    assert (await dock.owner()).usageThisMonth == 0
    # Nobody else may speak for us.
    assert await dock.receiving.sources.receiving(source.sourceId) is None


async def test_a_new_month_counts_anew() -> None:
    async with docked() as (dock, _):
        source = await dock.source()
        await dock.take(source)
        await dock.settle()
        assert (await dock.owner()).usageThisMonth == 1
        dock.clock.advance(32 * 86_400)
        dock.plans.forget(ANN)
        assert (await dock.plans.standing(ANN)).used == 0
        await dock.take(source)
        await dock.settle()
        assert (await dock.owner()).usageThisMonth == 1
        assert (await dock.seen(source)).eventCount == 2


async def test_a_used_up_month_takes_no_more() -> None:
    async with docked(Relay(plans=Plans(team=SMALL))) as (dock, _):
        source = await dock.source()
        for _ in range(5):
            await dock.take(source)
        await dock.settle()
        dock.plans.forget(ANN)
        with pytest.raises(PlanLimit):
            await dock.take(source)


async def test_repeats_at_once_are_one_event_on_an_unkind_store() -> None:
    async with docked() as (dock, engine):
        source = await dock.source(provider="github")
        engine.set_chaos(Chaos.parse(UNKIND))
        taken = await asyncio.gather(
            *(
                dock.take(source, headers=[(b"x-github-delivery", str(number % 10).encode())])
                for number in range(80)
            )
        )
        engine.set_chaos(None)
        assert sorted(answer.status for answer in taken) == [200] * 70 + [202] * 10
        assert len({answer.event_id for answer in taken}) == 10
        await dock.settle()
        assert len(await Events(dock.db).of_source(source.sourceId).all()) == 10
        assert sorted(dock.dispatched) == sorted({str(answer.event_id) for answer in taken})
        assert (await dock.seen(source)).eventCount == 10


async def test_a_new_source_takes_events_while_indexes_lag() -> None:
    async with docked() as (dock, engine):
        engine.set_chaos(Chaos.parse("index_lag_ms=60000"))
        source = await dock.source()
        taken = await dock.take(source)
        assert taken.status == 202
        assert taken.event_id is not None
        assert (await dock.receiving.events.get(ANN, taken.event_id)).sourceId == source.sourceId
        with pytest.raises(NotFound):
            await dock.receiving.events.get(UserId("usr_" + "b" * 16), taken.event_id)


async def test_what_is_deleted_here_is_refused_at_once(dock: Dock) -> None:
    source = await dock.source()
    assert (await dock.take(source)).status == 202
    await dock.receiving.sources.delete(ANN, source.sourceId)
    assert await dock.receiving.sources.receiving(source.sourceId) is None
    assert await dock.receiving.sources.receiving(SourceId("src_" + "0" * 16)) is None


async def test_of_two_rotations_at_once_one_is_told_to_look_again(dock: Dock) -> None:
    source = await dock.source()
    book = dock.receiving.connections
    made, first, _ = await book.create(
        ANN, source.sourceId, {"name": "x", "destinationUrl": "https://192.0.78.9/"}
    )
    ends = await asyncio.gather(
        *(book.rotate_secret(ANN, made.connectionId) for _ in range(2)), return_exceptions=True
    )
    assert sorted(type(end).__name__ for end in ends) == ["Changed", "tuple"]
    kept = await book.get(ANN, made.connectionId)
    opened = Sealer([b"k" * 32]).open(kept.previousSecret or "", purpose=purpose_of(made.connectionId))
    assert opened == first


async def test_secrets_are_sealed_at_rest(dock: Dock) -> None:
    source = await dock.source(provider="github", signingSecret="hunter2")
    made, secret, _ = await dock.receiving.connections.create(
        ANN,
        source.sourceId,
        {"name": "x", "destinationUrl": "https://192.0.78.9/", "headers": {"authorization": "hunter3"}},
    )
    for stored in (source.signingSecret, made.signingSecret, made.headers):
        assert stored is not None
        assert stored.startswith("s1.")
        assert all(word not in stored for word in ("hunter2", "hunter3", secret))
    assert dock.receiving.sources.secret_of(source) == "hunter2"


async def test_what_has_expired_is_gone_and_its_delivery_id_is_free_again() -> None:
    async with docked(Relay(plan="free")) as (dock, _):
        source = await dock.source(provider="github")
        headers = [(b"x-github-delivery", b"one")]
        first = await dock.take(source, headers=headers)
        dock.clock.advance(86_401)
        assert await Events(dock.db).of_source(source.sourceId).all() == []
        again = await dock.take(source, headers=headers)
        assert (again.status, again.event_id == first.event_id) == (202, False)


async def test_who_leaves_leaves_nothing_behind(dock: Dock) -> None:
    source = await dock.source(provider="github")
    guarded = await dock.source(provider="github", signingSecret="s")
    for number in range(60):
        await dock.take(source, headers=[(b"x-github-delivery", str(number).encode())])
    with pytest.raises(Rejected):
        await dock.take(guarded)
    await dock.receiving.connections.create(
        ANN, source.sourceId, {"name": "x", "destinationUrl": "https://192.0.78.9/"}
    )
    await dock.settle()
    deletion, cursor = RelayDeletion(dock.db), None
    for _ in range(ROUNDS_MAX):
        cursor = (await deletion.clean_up(Leaving(ANN), cursor)).cursor
        if cursor is None:
            break
    assert cursor is None
    await dock.db.delete(await dock.owner())
    await dock.settle()
    for table in (main, events, work_table):
        left = await dock.db.store.call("Scan", {"TableName": table.name})
        assert left["Items"] == [], table.name


# -- billing


def signed(dock: Dock, type_: str, **subscription: Any) -> tuple[dict[str, str], bytes]:
    whole = {"id": "sub_1", "customer": "cus_1", "status": "active", "metadata": {}, **subscription}
    body = msgspec.json.encode({"type": type_, "data": {"object": whole}})
    stamp = dock.clock.epoch_seconds()
    mac = hmac.new(b"whsec", f"{stamp}.".encode() + body, "sha256").hexdigest()
    return {"stripe-signature": f"t={stamp},v1={mac}"}, body


async def test_a_subscription_sets_the_plan_and_its_end_takes_it(dock: Dock) -> None:
    billing = Billing(dock.db, plans=dock.plans, secret="whsec")
    assert (await dock.plans.standing(ANN)).plan == "team"
    items = {"data": [{"price": {"lookup_key": "pro"}}]}
    assert await billing.take(*signed(dock, "customer.subscription.created", items=items)) == "pro"
    assert ((await dock.owner()).plan, (await dock.owner()).stripeSubId) == ("pro", "sub_1")
    assert (await dock.plans.standing(ANN)).plan == "pro"
    # One that was there before it ends late.
    assert await billing.take(*signed(dock, "customer.subscription.deleted", id="sub_0")) is None
    assert await billing.take(*signed(dock, "customer.subscription.deleted")) == "free"
    assert (await dock.plans.standing(ANN)).plan == "free"
    assert await billing.take(*signed(dock, "customer.subscription.updated", customer="cus_9")) is None


def test_a_plan_is_named_by_metadata_or_price() -> None:
    def named(**fields: Any) -> str | None:
        return plan_of(Subscription(id="s", customer="c", status="active", **fields))

    assert named(metadata={"plan": "team"}) == "team"
    assert named(items={"data": [{"price": {"metadata": {"plan": "starter"}}}]}) == "starter"
    assert named(items={"data": [{"price": {"lookup_key": "gold"}}, {}]}) is None
