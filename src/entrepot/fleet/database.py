"""The way to PostgreSQL: opened on first use, each caller under a role, and back by itself after an outage."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, NamedTuple, Protocol, TypeAlias
from uuid import UUID

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from entrepot.fleet.errors import NotMigrated, Unavailable
from entrepot.fleet.phases import LAST_PHASE, VERSION_TABLE
from entrepot.fleet.postgres import EmbeddedPostgres, PostgresError
from entrepot.log import fields

PEOPLE_CONNECTIONS_MAX = 8
SERVICE_CONNECTIONS_MAX = 6
CONNECT_SECONDS_MAX = 5.0
ACQUIRE_SECONDS_MAX = 2.0
STATEMENT_SECONDS_MAX = 5.0
# The first request waits for the server to be made and started; a later one does not wait for a broken one.
OPEN_SECONDS_MAX = 25.0
RETRY_SECONDS = 1.0

# What says nothing of the statement, only that the server can't be asked now.
_OUTAGES = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.InternalClientError,
)

# In quotes: the driver's classes take types only in their stubs.
Connection: TypeAlias = "PoolConnectionProxy[Any]"
Pool: TypeAlias = "asyncpg.Pool[Any]"

log = logging.getLogger(__name__)


class Pools(NamedTuple):
    """Connections of people, and of the service."""

    people: Pool
    service: Pool


class Database:
    """Connections of two kinds: a person's, under row-level security, and the service's, which is above it."""

    def __init__(self, *, url: str | None, embedded: EmbeddedPostgres | None) -> None:
        if (url is None) == (embedded is None):
            raise ValueError("a database is either ours or at an address")
        self._url = url
        self._embedded = embedded
        self._pools: Pools | None = None
        self._opening: asyncio.Task[None] | None = None
        self._down: Unavailable | None = None
        self._settled = asyncio.Event()
        self._closed = False
        self.opened: list[Callable[[], Awaitable[None]]] = []
        """Called after each opening; for what must be known of it."""

    @property
    def in_use(self) -> bool:
        """Whether it was asked for in this process, or has data from before."""
        return (
            self._pools is not None
            or self._opening is not None
            or self._embedded is None
            or self._embedded.exists
        )

    @property
    def service_url(self) -> str:
        """Where the service connects; known once it is open."""
        if self._embedded is not None:
            return self._embedded.url(user="authenticator")
        return self._url or ""

    @asynccontextmanager
    async def person(self, uuid: UUID) -> AsyncIterator[Connection]:
        """A transaction in which this person sees and changes what is theirs."""
        pools = await self._open()
        with self._outages(pools):
            async with pools.people.acquire(timeout=ACQUIRE_SECONDS_MAX) as connection:
                claims = f'{{"sub":"{uuid}","role":"authenticated"}}'
                try:
                    # In one round trip, for it is before every other.
                    await connection.execute(
                        f"BEGIN; SET LOCAL ROLE authenticated; SET LOCAL request.jwt.claims = '{claims}'"
                    )
                    yield connection
                except BaseException:
                    await _roll_back(connection)
                    raise
                await connection.execute("COMMIT")

    @asynccontextmanager
    async def service(self) -> AsyncIterator[Connection]:
        """A connection of the service role, outside of a transaction: one statement is one round trip."""
        pools = await self._open()
        with self._outages(pools):
            async with pools.service.acquire(timeout=ACQUIRE_SECONDS_MAX) as connection:
                yield connection

    async def check(self) -> None:
        """Really ask it; nothing is wrong with one that nobody has used yet."""
        if not self.in_use:
            return
        async with self.service() as connection:
            await connection.fetchval("SELECT 1")

    def warm(self) -> None:
        """Begin to open it, without waiting."""
        if self._pools is None and self._opening is None and not self._closed:
            self._opening = asyncio.create_task(self._open_until_it_works())

    async def close(self) -> None:
        """Let go of everything; the last process stops a server of our own."""
        self._closed = True
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        self._drop_pools()
        if self._embedded is not None:
            await asyncio.to_thread(self._embedded.stop)

    async def _open(self) -> Pools:
        if self._pools is not None:
            return self._pools
        if self._closed:
            raise Unavailable("The fleet's database is closed.")
        if self._opening is None:
            self._opening = asyncio.create_task(self._open_until_it_works())
        # Whoever waits may be cancelled; the opening goes on for the others.
        with suppress(TimeoutError):
            async with asyncio.timeout(OPEN_SECONDS_MAX):
                await self._settled.wait()
        return self._opened_pools()

    def _opened_pools(self) -> Pools:
        if self._pools is None:
            down = self._down or Unavailable("The fleet's database is still starting.")
            raise Unavailable(down.message, code=down.code)
        return self._pools

    async def _open_until_it_works(self) -> None:
        while True:
            try:
                pools = await self._connect()
            except NotMigrated as error:
                self._complain(error)
            except (*_OUTAGES, PostgresError, asyncpg.PostgresError) as error:
                self._complain(Unavailable("The fleet's database can't be reached."), error)
            else:
                if await self._begin(pools):
                    return
            await asyncio.sleep(RETRY_SECONDS)

    async def _begin(self, pools: Pools) -> bool:
        self._pools = pools
        try:
            for listener in self.opened:
                await listener()
        except Unavailable as error:
            self._drop_pools()
            self._complain(error)
            return False
        if self._down is not None:
            log.info("the fleet's database is back")
        self._down, self._opening = None, None
        self._settled.set()
        return True

    def _complain(self, problem: Unavailable, cause: Exception | None = None) -> None:
        if self._down is None:
            log.error("the fleet's database is down", extra=fields(cause=str(cause or problem)))
        self._down = problem
        self._settled.set()

    async def _connect(self) -> Pools:
        owner_url = self._url
        if self._embedded is not None:
            owner_url = await asyncio.to_thread(self._start, self._embedded)
        if owner_url is None:
            raise Unavailable("The fleet's database has no address.")
        if not await _is_prepared(owner_url):
            await asyncio.to_thread(_prepare, owner_url)
        people = await _pool(self.service_url, PEOPLE_CONNECTIONS_MAX, _as_nobody)
        try:
            service = await _pool(self.service_url, SERVICE_CONNECTIONS_MAX, _as_service)
        except BaseException:
            people.terminate()
            raise
        return Pools(people, service)

    def _start(self, embedded: EmbeddedPostgres) -> str:
        if self._closed:
            raise PostgresError("it is being closed")
        return embedded.start()

    @contextmanager
    def _outages(self, pools: Pools) -> Iterator[None]:
        try:
            yield
        except _OUTAGES as error:
            if _is_slowness(error):
                raise Unavailable("The fleet's database does not answer in time.") from error
            self._lost(pools, error)
            raise Unavailable("The fleet's database can't be reached.") from error

    def _lost(self, pools: Pools, error: Exception) -> None:
        # What was lost may have been replaced already.
        if self._pools is not pools or self._closed:
            return
        log.warning("the way to the fleet's database was lost", extra=fields(cause=repr(error)))
        self._drop_pools()
        if self._opening is None:
            self._down = Unavailable("The fleet's database can't be reached.")
            self._opening = asyncio.create_task(self._open_until_it_works())

    def _drop_pools(self) -> None:
        pools, self._pools = self._pools or (), None
        for pool in pools:
            pool.terminate()


async def _roll_back(connection: Connection) -> None:
    try:
        await connection.execute("ROLLBACK")
    except BaseException as error:
        # Nobody may get a connection that is still in someone's transaction.
        connection.terminate()
        if not isinstance(error, Exception):
            raise


async def _is_prepared(url: str) -> bool:
    connection: asyncpg.Connection[Any] = await asyncpg.connect(
        url, timeout=CONNECT_SECONDS_MAX, command_timeout=STATEMENT_SECONDS_MAX
    )
    try:
        if await connection.fetchval("SELECT to_regclass($1)", f"public.{VERSION_TABLE}") is None:
            return False
        return bool(await connection.fetchval(f"SELECT version_num = $1 FROM {VERSION_TABLE}", LAST_PHASE))
    finally:
        connection.terminate()


def _prepare(url: str) -> None:
    # Alembic takes a second to import, and is needed once in the life of a database.
    from entrepot.fleet import schema

    schema.prepare(url)


def _is_slowness(error: BaseException) -> bool:
    # asyncio's TimeoutError is an OSError too.
    return isinstance(error, TimeoutError | asyncpg.QueryCanceledError)


class Init(Protocol):
    """What is done with each new connection."""

    async def __call__(self, connection: asyncpg.Connection[Any], /) -> None: ...


async def _pool(url: str, size: int, init: Init) -> Pool:
    return await asyncpg.create_pool(
        url,
        min_size=1,
        max_size=size,
        timeout=CONNECT_SECONDS_MAX,
        command_timeout=STATEMENT_SECONDS_MAX,
        init=init,
        reset=_nothing,
        server_settings={"application_name": "entrepot"},
    )


async def _as_service(connection: asyncpg.Connection[Any]) -> None:
    await connection.execute("SET ROLE service_role")


async def _as_nobody(connection: asyncpg.Connection[Any]) -> None:
    # Whoever forgets to say for whom it asks sees nothing.
    await connection.execute("SET ROLE anon")


async def _nothing(_: asyncpg.Connection[Any]) -> None:
    """Roles and claims are set per transaction, so a connection that is given back holds nothing to reset."""
