"""The delivering half of the relay, put together: what the application makes, starts and stops."""

from __future__ import annotations

import ssl

from litestar.handlers import HTTPRouteHandler

from entrepot.accounts.sealing import Sealer
from entrepot.accounts.trail import Trail
from entrepot.relay.analytics import Analytics
from entrepot.relay.api import analytics as analytics_api
from entrepot.relay.api import notify as notify_api
from entrepot.relay.api import replays as replays_api
from entrepot.relay.api import tail as tail_api
from entrepot.relay.attempts import Sender
from entrepot.relay.connections import ConnectionBook
from entrepot.relay.destinations import Destinations
from entrepot.relay.health import PAUSE_AFTER_SECONDS, Health
from entrepot.relay.notify import DomainEvents, Retention
from entrepot.relay.plans import PlanBook
from entrepot.relay.replays import Replays
from entrepot.relay.requests import Requests
from entrepot.relay.sources import SourceBook
from entrepot.relay.tail import Tails
from entrepot.relay.tallies import Tallies
from entrepot.relay.worker import DeliveryWork
from entrepot.tables import Database
from entrepot.work import Work


class Delivering:
    """Delivers what is dispatched; a part of the process, whose connections close at its end."""

    name = "relay"

    def __init__(
        self,
        db: Database,
        work: Work,
        *,
        sealer: Sealer,
        destinations: Destinations,
        retention: Retention,
        pause_after_seconds: float = PAUSE_AFTER_SECONDS,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self.destinations = destinations
        self.sender = Sender(destinations, ssl_context=ssl_context)
        self.requests = Requests(sealer, db.clock)
        self.domain = DomainEvents(db, work, retention=retention)
        self.tallies = Tallies(db, work)
        self.health = Health(db, self.domain, pause_after_seconds=pause_after_seconds)
        self.deliveries = DeliveryWork(
            db, work, sender=self.sender, requests=self.requests, health=self.health, tallies=self.tallies
        )

        self.replays = Replays(db, work)
        self.tails = Tails(db)
        self.analytics = Analytics(db)

    def routes(
        self, *, sources: SourceBook, connections: ConnectionBook, plans: PlanBook, trail: Trail
    ) -> list[HTTPRouteHandler]:
        """The routes of replays, the tail, analytics and notifying."""
        return [
            *notify_api.routes(
                connections=connections,
                domain=self.domain,
                requests=self.requests,
                sender=self.sender,
                trail=trail,
            ),
            *replays_api.routes(self.replays, trail),
            *tail_api.routes(sources, self.tails),
            *analytics_api.routes(self.analytics, plans),
        ]

    async def start(self) -> None:
        """Nothing is opened before the first attempt."""

    async def check(self) -> None:
        """All that it needs is the store, which is asked on its own."""

    async def stop(self) -> None:
        await self.tails.stop()
        await self.sender.close()
