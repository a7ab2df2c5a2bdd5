"""What the relay deletes of a person who leaves: sources, connections, events and all that hangs on them."""

from __future__ import annotations

from typing import Any

from entrepot.accounts.deletion import Cleared, Leaving
from entrepot.accounts.model import UserId
from entrepot.relay.model import (
    Connections,
    Deliveries,
    Duplicates,
    Events,
    OwnersOfUuids,
    Rejections,
    Rollups,
    Source,
    Sources,
)
from entrepot.tables import Database

PAGE = 25
ROLLUPS_UNTIL_SECONDS = 9_999_999_999

# What is deleted is gone: the next call sees what is left, and begins there.
_MORE = "more"


class RelayDeletion:
    """Deletes a bounded part with each call; it may be cut off anywhere and called again."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._sources = Sources(db)
        self._connections = Connections(db)
        self._events = Events(db)
        self._deliveries = Deliveries(db)
        self._duplicates = Duplicates(db)
        self._rejections = Rejections(db)
        self._rollups = Rollups(db)
        self._owners = OwnersOfUuids(db)

    async def clean_up(self, leaving: Leaving, _: Any) -> Cleared:
        """Delete the next part of what is kept of a person."""
        source = await self._sources.of_user(leaving.userId).first()
        if source is None:
            if leaving.uuid is not None:
                await self._db.delete(self._owners.one(leaving.uuid))
            return await self._delete_rollups(leaving.userId)
        for delete in (self._delete_connections, self._delete_events, self._delete_rest):
            count = await delete(source)
            if count:
                return Cleared(count, _MORE)
        # Last of its own, so that a deletion that was cut off finds the way back to the rest.
        await self._db.delete(source)
        return Cleared(1, _MORE)

    async def _delete_connections(self, source: Source) -> int:
        page = await self._connections.of_source(source.sourceId).page(limit=PAGE)
        for connection in page.items:
            await self._db.delete(connection)
        return len(page.items)

    async def _delete_events(self, source: Source) -> int:
        page = await self._events.of_source(source.sourceId).page(limit=PAGE)
        for event in page.items:
            await self._db.delete_all(await self._deliveries.with_attempts(event.eventId).all())
        await self._db.delete_all(page.items)
        return len(page.items)

    async def _delete_rest(self, source: Source) -> int:
        rejections = await self._rejections.of_source(source.sourceId).page(limit=PAGE)
        duplicates = await self._duplicates.of_source(source.sourceId).page(limit=PAGE)
        await self._db.delete_all([*rejections.items, *duplicates.items])
        return len(rejections.items) + len(duplicates.items)

    async def _delete_rollups(self, user_id: UserId) -> Cleared:
        for period in ("hour", "day"):
            rollups = self._rollups.of_user_between(user_id, period, 0, ROLLUPS_UNTIL_SECONDS)
            page = await rollups.page(limit=PAGE)
            if page.items:
                await self._db.delete_all(page.items)
                return Cleared(len(page.items), _MORE)
        return Cleared()
