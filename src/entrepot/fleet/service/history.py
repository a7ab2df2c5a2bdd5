"""What boards did: their heartbeats, changes of status, and uptime."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from entrepot.clock import Clock
from entrepot.fleet import queries
from entrepot.fleet.database import Database
from entrepot.fleet.errors import WrongValue
from entrepot.fleet.model import Heartbeat, StatusEvent, Uptime, precise
from entrepot.fleet.rules import SILENCE, Change, uptime_between
from entrepot.fleet.service.devices import checked_id, no_device

CHANGES_MAX = 20_000
# How far a live list looks back for changes that were committed after later ones.
OVERLAP = timedelta(seconds=60)
LIVE_EVENTS_MAX = 500


class History:
    """Reads what was recorded."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def heartbeats(
        self, owner: UUID, composite_id: str, *, start: datetime, before: tuple[datetime, int], limit: int
    ) -> tuple[list[Heartbeat], tuple[datetime, int] | None]:
        """Heartbeats, newest first, and where to go on when there are more."""
        async with self._database.person(owner) as connection:
            found = await connection.fetchrow(queries.DEVICE_HISTORY_START, checked_id(composite_id))
            if found is None:
                raise no_device(composite_id)
            rows = await connection.fetch(
                queries.HEARTBEATS_OF_DEVICE, found["id"], start, *before, limit + 1
            )
        last = rows[limit - 1] if len(rows) > limit else None
        beats = [
            Heartbeat(
                rssi=row["rssi"],
                ip_address=row["ip_address"],
                fw_version=row["fw_version"],
                ts=precise(row["ts"]),
            )
            for row in rows[:limit]
        ]
        return beats, (last["ts"], last["id"]) if last else None

    async def uptime(self, owner: UUID, composite_id: str, start: datetime, end: datetime) -> Uptime:
        """The uptime of a board from its first heartbeat on; the future does not count."""
        now = self._clock.utc()
        end = min(end, now)
        if start >= end:
            raise WrongValue("from", "must be before `to`, and in the past")
        async with self._database.person(owner) as connection:
            found = await connection.fetchrow(queries.DEVICE_HISTORY_START, checked_id(composite_id))
            if found is None:
                raise no_device(composite_id)
            rows = await connection.fetch(queries.CHANGES_BETWEEN, found["id"], start, end, CHANGES_MAX + 1)
        if len(rows) > CHANGES_MAX:
            raise WrongValue(
                "from", f"has more than {CHANGES_MAX} changes of status until `to`; ask for less time"
            )
        changes = [Change(row["at"], row["to_status"]) for row in rows]
        if found["status"] == "online" and found["heard_at"] < now - SILENCE:
            # The sweep is late; the board is silent all the same.
            changes.append(Change(found["heard_at"] + SILENCE, "offline"))
        return uptime_between(changes, start, end)

    async def events(self, owner: UUID, *, before: int, limit: int) -> tuple[list[StatusEvent], int | None]:
        """Changes of status of all boards, newest first, and where to go on when there are more."""
        async with self._database.person(owner) as connection:
            rows = await connection.fetch(queries.EVENTS_OF_USER, before, limit + 1)
        more = len(rows) > limit
        return [StatusEvent.of(row) for row in rows[:limit]], rows[limit - 1]["id"] if more else None

    async def latest_event(self, owner: UUID) -> int:
        """The number of the newest change; 0 when there is none."""
        async with self._database.person(owner) as connection:
            return int(await connection.fetchval(queries.EVENTS_LATEST) or 0)

    async def events_since(self, owner: UUID, after: int, recorded: datetime) -> list[StatusEvent]:
        """Changes after a number that were recorded after a time, oldest first."""
        async with self._database.person(owner) as connection:
            rows = await connection.fetch(queries.EVENTS_SINCE, after, recorded - OVERLAP, LIVE_EVENTS_MAX)
        return [StatusEvent.of(row) for row in rows]
