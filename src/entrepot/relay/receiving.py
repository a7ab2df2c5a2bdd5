"""The receiving half of the relay, put together: what the application makes of it, its routes and its lane."""

from __future__ import annotations

from collections.abc import Mapping

from litestar.handlers import HTTPRouteHandler

from entrepot.accounts.sealing import Sealer
from entrepot.accounts.trail import Trail
from entrepot.http.asgi import ASGIApp
from entrepot.relay.api import billing, connections, events, sources
from entrepot.relay.api.context import Context
from entrepot.relay.billing import Billing
from entrepot.relay.connections import ConnectionBook
from entrepot.relay.counters import Counters
from entrepot.relay.destinations import Destinations
from entrepot.relay.events import EventLog
from entrepot.relay.ingest import Ingest
from entrepot.relay.lane import Lane, lanes
from entrepot.relay.plans import PlanBook
from entrepot.relay.settings import Relay
from entrepot.relay.sources import SourceBook
from entrepot.tables import Database
from entrepot.work import Work


class Receiving:
    """Give its routes and lanes to the application."""

    def __init__(
        self,
        db: Database,
        work: Work,
        *,
        settings: Relay,
        plans: PlanBook,
        sealer: Sealer,
        trail: Trail,
        destinations: Destinations,
        public_url: str | None,
    ) -> None:
        self.plans = plans
        self.sources = SourceBook(db, work, sealer=sealer, plans=plans)
        self.connections = ConnectionBook(
            db, work, sealer=sealer, plans=plans, sources=self.sources, destinations=destinations
        )
        self.events = EventLog(db, sources=self.sources)
        self.counters = Counters(db, work)
        self.ingest = Ingest(
            db, work, sources=self.sources, plans=plans, counters=self.counters, events=self.events
        )
        context = Context(
            sources=self.sources,
            connections=self.connections,
            events=self.events,
            billing=Billing(db, plans=plans, secret=settings.stripe_secret),
            trail=trail,
            public_url=public_url,
        )
        self.routes: list[HTTPRouteHandler] = [
            *sources.routes(context),
            *connections.routes(context),
            *events.routes(context),
            *billing.routes(context),
        ]
        self.lanes: Mapping[str, ASGIApp] = lanes(
            Lane(self.ingest, self.sources, plans, public_url=public_url)
        )
