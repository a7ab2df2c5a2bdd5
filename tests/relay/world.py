"""A relay on a real store, a real receiver that can fail in every way, and a clock that tests move."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from entrepot.accounts.model import UserId
from entrepot.accounts.sealing import Sealer
from entrepot.clock import Clock
from entrepot.ids import nanoid
from entrepot.relay.deliveries import Dispatch, put_dispatch
from entrepot.relay.delivering import Delivering
from entrepot.relay.destinations import Destinations
from entrepot.relay.model import (
    Attempt,
    Attempts,
    Connection,
    ConnectionId,
    Connections,
    Deliveries,
    Delivery,
    Event,
    EventId,
    Events,
    Source,
    SourceId,
)
from entrepot.relay.requests import purpose_of
from entrepot.relay.signing import new_secret
from entrepot.tables import Database
from entrepot.tables.stores import Store
from entrepot.work import Work

ANN = UserId("usr_" + "a" * 16)
SOURCE = SourceId("src_" + "1" * 16)
NOW = "2026-01-02T03:04:05Z"
KEY = b"k" * 32
RETENTION_SECONDS = 90 * 86_400

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Receiver:
    """A real HTTP server; what it does is a function of the test, what it saw is kept."""

    def __init__(self, handler: Handler | None = None) -> None:
        self.handler = handler
        self.seen: list[tuple[dict[str, str], bytes, str]] = []
        self.ids: Counter[str] = Counter()
        self.arrived = asyncio.Event()
        self.url = ""
        self._runner: web.AppRunner | None = None

    async def start(self, ssl_context: Any = None) -> None:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{path:.*}", self._take)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=ssl_context)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"{'https' if ssl_context else 'http'}://127.0.0.1:{port}/hook"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _take(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.seen.append(({k.lower(): v for k, v in request.headers.items()}, body, request.method))
        self.ids[request.headers.get("webhook-id", "")] += 1
        self.arrived.set()
        return await self.handler(request) if self.handler is not None else web.Response(text="thanks")


class World:
    """One process of the relay, and shortcuts to what it keeps."""

    def __init__(self, store: Store, clock: Clock, **options: Any) -> None:
        self.clock = clock
        self.db = Database(store, clock=clock)
        self.work = Work(self.db)
        self.sealer = Sealer([KEY])

        async def retention(_: UserId) -> int:
            return RETENTION_SECONDS

        allowed = options.pop("allow_networks", ["127.0.0.0/8"])
        self.relay = Delivering(
            self.db,
            self.work,
            sealer=self.sealer,
            destinations=Destinations(allow_http=True, allow_networks=allowed),
            retention=retention,
            **options,
        )
        self.events = Events(self.db)
        self.connections = Connections(self.db)
        self.deliveries = Deliveries(self.db)

    async def make_source(self) -> None:
        await self.db.create(
            Source(sourceId=SOURCE, userId=ANN, name="Shop", provider="custom", createdAt=NOW)
        )

    async def connect(self, url: str, number: int = 1, **more: Any) -> Connection:
        connection_id = ConnectionId(f"conn_{number:016}")
        secret = more.pop("secret", None) or new_secret()
        connection = Connection(
            connectionId=connection_id,
            sourceId=SOURCE,
            userId=ANN,
            name="to a shop",
            destinationUrl=url,
            signingSecret=self.sealer.seal(secret, purpose=purpose_of(connection_id)),
            createdAt=NOW,
            updatedAt=NOW,
            **more,
        )
        await self.db.create(connection)
        return connection

    async def receive(self, body: str = '{"type":"paid"}', **more: Any) -> Event:
        """What ingestion does: the event and its work in one transaction."""
        now = self.clock.epoch_ms()
        event = Event(
            eventId=EventId("evt_" + nanoid(16)),
            sourceId=SOURCE,
            userId=ANN,
            headers=more.pop("headers", '{"content-type":"application/json","x-topic":"orders"}'),
            body=body,
            sourceIp="192.0.2.1",
            contentType=more.pop("contentType", "application/json"),
            method=more.pop("method", "POST"),
            receivedAt=now,
            expiresAt=more.pop("expiresAt", now // 1000 + RETENTION_SECONDS),
            **more,
        )
        async with self.db.transaction() as transaction:
            transaction.create(event)
            place = Dispatch(sourceId=SOURCE, receivedAt=now, eventId=event.eventId)
            put_dispatch(self.work, transaction, place)
        return event

    async def event(self, event: Event) -> Event:
        return await self.events.one(event.sourceId, event.receivedAt, event.eventId).required()

    async def delivery(self, event: Event, number: int = 1) -> Delivery:
        return await self.deliveries.one(event.eventId, ConnectionId(f"conn_{number:016}")).required()

    async def attempts(self, event: Event) -> list[Attempt]:
        return await Attempts(self.db).of_event(event.eventId).all()

    async def connection(self, number: int = 1) -> Connection:
        return await self.connections.one(SOURCE, ConnectionId(f"conn_{number:016}")).required()

    async def settle(self, *, seconds: float = 0) -> None:
        """Do what is due, after so much time."""
        self.clock.advance(seconds)
        await self.work.run_due()
