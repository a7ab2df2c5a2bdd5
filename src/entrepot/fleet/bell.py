"""Tells those who wait in this process that a board's status changed, whichever process recorded it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

import asyncpg

from entrepot.fleet.database import CONNECT_SECONDS_MAX, Database

CHANNEL = "fleet_events"
RECONNECT_SECONDS = 2.0
# A connection that died without a word is noticed by asking.
ASK_SECONDS = 20.0

log = logging.getLogger(__name__)


class Bell:
    """Rings at every change; who missed a ring finds out at the latest after the time they chose to wait."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wake all who wait."""
        rung, self._rung = self._rung, asyncio.Event()
        rung.set()

    def next_ring(self) -> asyncio.Event:
        """What to wait for; ask for it before looking, so that no ring between the two is missed."""
        return self._rung

    async def wait(self, ring: asyncio.Event, timeout_seconds: float) -> None:
        """Return when it rang, or when the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await ring.wait()

    async def listen(self) -> None:
        """Pass PostgreSQL's notices on, for ever; reconnects by itself."""
        while True:
            try:
                await self._listen_once()
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                log.debug("not listening for changes: %s", error)
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen_once(self) -> None:
        connection: asyncpg.Connection[Any] = await asyncpg.connect(
            self._database.service_url, timeout=CONNECT_SECONDS_MAX, command_timeout=CONNECT_SECONDS_MAX
        )
        try:
            await connection.add_listener(CHANNEL, self._heard)
            # Something may have happened before.
            self.ring()
            while True:
                await asyncio.sleep(ASK_SECONDS)
                await connection.execute("SELECT 1")
        finally:
            connection.terminate()

    def _heard(self, *_: Any) -> None:
        self.ring()
