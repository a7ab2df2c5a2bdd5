"""The one place where settings become stores, services, routes and loops."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from litestar import Router

from entrepot.accounts import api as accounts_api
from entrepot.accounts import model as accounts_model
from entrepot.accounts import pages as accounts_pages
from entrepot.accounts.service import Accounts
from entrepot.accounts.settings import OAuth
from entrepot.clock import Clock
from entrepot.datadir import DataDir
from entrepot.engine import Chaos, ChaosError, Engine
from entrepot.engine.server import STORE_NAME
from entrepot.fleet.owners import FindUuid, Owners
from entrepot.fleet.part import FleetPart
from entrepot.fleet.settings import Fleet
from entrepot.http.idempotency import idempotent
from entrepot.http.jobs import job_routes
from entrepot.http.peer import Peers
from entrepot.relay import model as relay_model
from entrepot.relay.deletion import RelayDeletion
from entrepot.relay.delivering import Delivering
from entrepot.relay.destinations import Destinations
from entrepot.relay.notify import DomainEvents
from entrepot.relay.plans import PlanBook
from entrepot.relay.receiving import Receiving
from entrepot.relay.settings import Relay
from entrepot.settings import Core, Section, Settings, SettingsError
from entrepot.tables import Database, Table, provision
from entrepot.tables.stores import Store, open_store
from entrepot.telemetry import model as telemetry_model
from entrepot.telemetry.part import TelemetryPart
from entrepot.telemetry.settings import Telemetry
from entrepot.web.application import Application, assemble
from entrepot.web.edge import Limits
from entrepot.web.metrics import Metrics
from entrepot.work import Gauges, Work, Worker, WorkMetrics
from entrepot.work.model import work as work_table

SECTIONS: tuple[type[Section], ...] = (Core, OAuth, Fleet, Telemetry, Relay)
"""The settings of every part; a service adds its own here."""

TABLES: tuple[Table, ...] = (
    work_table,
    accounts_model.main,
    accounts_model.sessions,
    accounts_model.audit,
    *telemetry_model.TABLES,
    relay_model.events,
)
"""The tables of every service, made at the start where they are missing; a service adds its own here."""


def build(
    settings: Settings,
    data: DataDir,
    clock: Clock | None = None,
    *,
    works: bool = True,
    serves: bool = True,
) -> Application:
    """The application of these settings; nothing is opened before its lifespan starts.

    Without `works` this process only puts work, for others to do; without `serves` it only does it.
    """
    core = settings[Core]
    key = secret_key(core, data)
    clock = clock or Clock(offset_seconds=core.clock_offset_seconds)
    store = StorePart(connector(core, data, clock), tables=TABLES)
    db = Database(store, clock=clock, cursor_key=derived_key(key, "cursors"))
    metrics = Metrics()
    work = Work(db, metrics=WorkMetrics(metrics.registry))
    accounts = Accounts(
        db,
        work=work,
        registry=metrics.registry,
        secret_keys=[key, *(old.encode() for old in core.secret_keys_old)],
        signup=core.signup,
        public_url=core.public_url,
        admin_token=core.admin_token,
        oauth=settings[OAuth],
    )
    destinations = Destinations(
        allow_http=settings[Relay].allow_http, allow_networks=settings[Relay].allow_networks
    )
    plans = PlanBook(db, settings[Relay])
    delivering = Delivering(
        db, work, sealer=accounts.sealer, destinations=destinations, retention=plans.retention
    )
    fleet = FleetPart(
        settings=settings[Fleet],
        postgres_url=core.postgres_url,
        data_path=data.path,
        clock=clock,
        cursor_key=derived_key(key, "fleet cursors"),
        owners=Owners(uuid_finder(accounts, delivering.domain)),
        publish=delivering.domain.tell_by_uuid,
        serves=serves,
    )
    telemetry = TelemetryPart(
        db,
        work=work,
        settings=settings[Telemetry],
        pepper=derived_key(key, "telemetry pepper").hex(),
        registry=metrics.registry,
        serves=serves,
        publish=delivering.domain.tell,
    )
    accounts.deletion.register("fleet", fleet.clean_up)
    receiving = Receiving(
        db,
        work,
        settings=settings[Relay],
        plans=plans,
        sealer=accounts.sealer,
        trail=accounts.trail,
        destinations=destinations,
        public_url=core.public_url,
    )
    delivering.domain.count = receiving.counters.note
    accounts.deletion.register("telemetry", telemetry.clean_up)
    accounts.deletion.register("relay", RelayDeletion(db).clean_up)
    application = assemble(
        parts=[store, accounts, fleet, telemetry, delivering, Worker(work) if works else Gauges(work)],
        limits=Limits(
            body_bytes_max=core.body_bytes_max,
            header_bytes_max=core.header_bytes_max,
            timeout_seconds=core.request_timeout_seconds,
        ),
        authenticator=accounts.identity,
        log_key=derived_key(key, "log"),
        metrics=metrics,
        peers=Peers(core.trusted_proxies),
        routes=[
            Router(
                path="/",
                route_handlers=[
                    *accounts_api.routes(accounts),
                    *accounts_pages.routes(accounts),
                    *job_routes(work),
                    *receiving.routes,
                    *delivering.routes(
                        sources=receiving.sources,
                        connections=receiving.connections,
                        plans=plans,
                        trail=accounts.trail,
                    ),
                    *fleet.routes,
                    *telemetry.routes,
                ],
                middleware=[idempotent(work.idempotency, derived_key(key, "idempotency"))],
            )
        ],
        lanes={**receiving.lanes, **fleet.lanes, **telemetry.lanes},
    )
    application.first_path = lambda: accounts.first_path
    return application


def uuid_finder(accounts: Accounts, domain: DomainEvents) -> FindUuid:
    """How PostgreSQL's name of a person is found by ours; domain events find their way back by it."""

    async def find(user_id: str) -> str | None:
        owner = accounts_model.UserId(user_id)
        uuid = (await accounts.people.get(owner)).uuid
        if uuid is not None:
            await domain.know_uuid(owner, uuid)
        return uuid

    return find


Connector = Callable[[], Awaitable[Store]]


class StorePart:
    """The store as a part of the process: opened at the start with its tables made, asked for them, closed last.

    It is a store itself, so that services can be put together before it opens.
    """

    name = "store"

    def __init__(self, connect: Connector, *, tables: Sequence[Table] = ()) -> None:
        self._connect = connect
        self._tables = tables
        self._store: Store | None = None

    def call(self, operation: str, request: dict[str, Any]) -> Coroutine[Any, Any, dict[str, Any]]:
        if self._store is None:
            raise ConnectionError("the store is not open")
        return self._store.call(operation, request)

    async def start(self) -> None:
        self._store = await self._connect()
        await provision(Database(self._store), self._tables)

    async def check(self) -> None:
        await self.call("ListTables", {"Limit": 1})

    async def close(self) -> None:
        await self.stop()

    async def stop(self) -> None:
        if self._store is not None:
            store, self._store = self._store, None
            await store.close()


def connector(core: Core, data: DataDir, clock: Clock) -> Connector:
    """How the store of these settings is opened."""
    if core.store != "embedded":
        return lambda: open_store(core.store, path=data.path)
    try:
        chaos = Chaos.parse(core.chaos) if core.chaos else None
    except ChaosError as error:
        raise SettingsError(f"ENTREPOT_CHAOS ({core.chaos!r}): {error}") from None

    async def embedded() -> Store:
        # The file that `entrepot dynamo` opens too, so that one can look at the other's data.
        return await Engine.open(data.path / STORE_NAME, clock=lambda: clock.epoch_ms() / 1000, chaos=chaos)

    return embedded


def secret_key(core: Core, data: DataDir) -> bytes:
    """The installation's key: as given, or of the data directory when the store is there too."""
    if core.secret_key is not None:
        return core.secret_key.encode()
    if core.store != "embedded":
        raise SettingsError("ENTREPOT_SECRET_KEY: needed with a remote store, the same for every process")
    return data.secret_key()


def derived_key(key: bytes, purpose: str) -> bytes:
    """A key for one purpose alone, so that no two uses share one."""
    return hmac.new(key, f"entrepot {purpose}".encode(), hashlib.sha256).digest()
