"""The fleet as a part of the process: its database, its loops, its routes and its lane."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from litestar.handlers import HTTPRouteHandler

from entrepot.accounts.deletion import Cleared, Leaving
from entrepot.clock import Clock
from entrepot.fleet.api import Context, fleet_routes
from entrepot.fleet.api.requests import Owners
from entrepot.fleet.bell import Bell
from entrepot.fleet.database import Database
from entrepot.fleet.heartbeats import Heartbeats
from entrepot.fleet.lane import PATH, heartbeat_lane
from entrepot.fleet.postgres import EmbeddedPostgres
from entrepot.fleet.service import Devices, History, People, Projects
from entrepot.fleet.settings import Fleet
from entrepot.fleet.worker import Loops, Publish, Work
from entrepot.http.asgi import ASGIApp
from entrepot.tables.cursors import Cursors

DIRECTORY_NAME = "postgres"


class FleetPart:
    """Give its routes and lanes to the application, and itself as a part.

    With an embedded server nothing is started before the service is first used, unless it has data from before:
    then its boards may go silent, and someone has to notice. A process that does not serve HTTP sweeps too, but says
    nothing of listening.
    """

    name = "fleet"

    def __init__(
        self,
        *,
        settings: Fleet,
        postgres_url: str | None,
        data_path: Path,
        clock: Clock,
        cursor_key: bytes,
        owners: Owners,
        publish: Publish | None = None,
        serves: bool = True,
    ) -> None:
        embedded = None if postgres_url else EmbeddedPostgres(data_path / DIRECTORY_NAME)
        self.database = Database(url=postgres_url or None, embedded=embedded)
        self.people = People(self.database)
        self.heartbeats = Heartbeats(self.database, clock)
        self.work = Work(self.database, clock)
        bell = Bell(self.database)
        self._loops = Loops(
            self.work, bell, sweep_seconds=settings.sweep_seconds, publish=publish, listens=serves
        )
        self._serves = serves
        self._listened = False
        self.database.opened.append(self._opened)
        context = Context(
            projects=Projects(self.database, self.people, clock),
            devices=Devices(self.database, clock),
            history=History(self.database, clock),
            people=self.people,
            bell=bell,
            clock=clock,
            cursors=Cursors(cursor_key),
            owners=owners,
        )
        self.routes: list[HTTPRouteHandler] = fleet_routes(context)
        self.lanes: Mapping[str, ASGIApp] = {PATH: heartbeat_lane(self.heartbeats)}

    async def start(self) -> None:
        if self.database.in_use:
            self.database.warm()

    async def check(self) -> None:
        await self.database.check()

    async def stop(self) -> None:
        await self._loops.stop()
        await self.database.close()

    async def clean_up(self, leaving: Leaving, _: object) -> Cleared:
        """Delete all that is kept of a person who leaves."""
        if leaving.uuid is not None:
            await self.people.forget(UUID(leaving.uuid))
        return Cleared()

    async def _opened(self) -> None:
        if self._serves:
            # Nothing that happened before we listened counts as silence.
            await self.work.listen(fresh=not self._listened)
            self._listened = True
        self._loops.start()
