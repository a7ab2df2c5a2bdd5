"""The one place where settings become stores, services, routes and loops."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable

from entrepot.clock import Clock
from entrepot.datadir import DataDir
from entrepot.engine import Chaos, ChaosError, Engine
from entrepot.engine.server import STORE_NAME
from entrepot.http.caller import token_authenticator
from entrepot.http.peer import Peers
from entrepot.settings import Core, Section, Settings, SettingsError
from entrepot.tables.stores import Store, open_store
from entrepot.web.application import Application, assemble
from entrepot.web.edge import Limits

SECTIONS: tuple[type[Section], ...] = (Core,)
"""The settings of every part; a service adds its own here."""


def build(settings: Settings, data: DataDir) -> Application:
    """The application of these settings; nothing is opened before its lifespan starts."""
    core = settings[Core]
    key = secret_key(core, data)
    clock = Clock(offset_seconds=core.clock_offset_seconds)
    return assemble(
        parts=[StorePart(connector(core, data, clock))],
        limits=Limits(
            body_bytes_max=core.body_bytes_max,
            header_bytes_max=core.header_bytes_max,
            timeout_seconds=core.request_timeout_seconds,
        ),
        authenticator=token_authenticator(core.admin_token),
        log_key=derived_key(key, "log"),
        peers=Peers(core.trusted_proxies),
    )


Connector = Callable[[], Awaitable[Store]]


class StorePart:
    """The store as a part of the process: opened at the start, asked for its tables, closed last."""

    name = "store"

    def __init__(self, connect: Connector) -> None:
        self._connect = connect
        self._store: Store | None = None

    async def start(self) -> None:
        self._store = await self._connect()

    async def check(self) -> None:
        if self._store is None:
            raise ConnectionError("the store is not open")
        await self._store.call("ListTables", {"Limit": 1})

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
