"""Events as their owners see them: lists, one with what became of it, and erasing what it held."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from entrepot.accounts.model import UserId
from entrepot.relay.errors import NotFound, WrongValue
from entrepot.relay.model import (
    Attempt,
    Attempts,
    Deliveries,
    Delivery,
    Duplicates,
    Event,
    EventId,
    EventLine,
    Events,
    EventStatus,
    SourceId,
)
from entrepot.relay.rules import delivery_key
from entrepot.relay.sources import SourceBook
from entrepot.tables import Database, Page, attr
from entrepot.tables import NotFound as NoItem

# A sender that asks for what it has just sent asks the process that took it, mostly.
RECENT_MAX = 10_000
LATEST_MS = 9_999_999_999_999


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which events of a source are wanted."""

    status: EventStatus | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    delivery_id: str | None = None


class EventLog:
    """The events of all sources."""

    def __init__(self, db: Database, *, sources: SourceBook) -> None:
        self._db = db
        self._sources = sources
        self._events = Events(db)
        self._deliveries = Deliveries(db)
        self._attempts = Attempts(db)
        self._duplicates = Duplicates(db)
        self._recent: OrderedDict[EventId, tuple[SourceId, int]] = OrderedDict()

    def remember(self, event: Event) -> None:
        """Know where an event is before the index does."""
        self._recent[event.eventId] = (event.sourceId, event.receivedAt)
        if len(self._recent) > RECENT_MAX:
            self._recent.popitem(last=False)

    async def page(
        self, user_id: UserId, source_id: SourceId, wanted: Selection, *, limit: int, cursor: str | None
    ) -> Page[EventLine]:
        """Events of a source, newest first; with a status a page may be short, and lead on all the same."""
        await self._sources.get(user_id, source_id, deleted=True)
        if wanted.delivery_id is not None:
            return Page(await self._delivered_as(source_id, wanted))
        listed = self._events.of_source(source_id)
        if wanted.from_ms is not None or wanted.to_ms is not None:
            from_ms, to_ms = wanted.from_ms or 0, LATEST_MS if wanted.to_ms is None else wanted.to_ms
            if from_ms > to_ms:
                raise WrongValue("from", "is after `to`")
            listed = self._events.of_source_between(source_id, from_ms, to_ms)
        if wanted.status is not None:
            listed = listed.where(attr(Event.status) == wanted.status)
        return await listed.only(EventLine).page(limit=limit, cursor=cursor)

    async def get(self, user_id: UserId, event_id: EventId) -> Event:
        """One of an owner's events; raises NotFound."""
        place = self._recent.get(event_id)
        if place is not None:
            found = await self._events.one(*place, event_id)
        else:
            found = await self._events.by_id(event_id)
        if found is None or found.userId != user_id:
            raise NotFound("event", event_id)
        return found

    async def became(self, event: Event) -> tuple[list[Delivery], list[Attempt]]:
        """What became of an event: its deliveries, and its attempts by time."""
        found = await self._deliveries.with_attempts(event.eventId).all()
        deliveries = [entry for entry in found if isinstance(entry, Delivery)]
        attempts = [entry for entry in found if isinstance(entry, Attempt)]
        return deliveries, sorted(attempts, key=_by_time)

    async def attempts(self, event: Event) -> list[Attempt]:
        """The attempts to deliver an event, by time."""
        return sorted(await self._attempts.of_event(event.eventId).all(), key=_by_time)

    async def erase(self, user_id: UserId, event_id: EventId) -> None:
        """Forget what an event held; that it was there stays known."""
        event = await self.get(user_id, event_id)
        try:
            await self._db.update(
                self._events.one(event.sourceId, event.receivedAt, event.eventId),
                attr(Event.headers).set("{}"),
                attr(Event.body).set(""),
                attr(Event.bodyBytes).remove(),
                attr(Event.path).remove(),
                attr(Event.query).remove(),
                attr(Event.sourceIp).set(""),
                attr(Event.erasedAt).set(self._db.clock.epoch_ms()),
            )
        except NoItem:
            raise NotFound("event", event_id) from None

    async def _delivered_as(self, source_id: SourceId, wanted: Selection) -> list[EventLine]:
        key = delivery_key(wanted.delivery_id or "")
        guard = await self._duplicates.one(source_id, key) if wanted.delivery_id else None
        if guard is None:
            return []
        line = await self._events.one(source_id, guard.receivedAt, guard.eventId).only(EventLine)
        if line is None or (wanted.status is not None and line.status != wanted.status):
            return []
        if not (wanted.from_ms or 0) <= line.receivedAt <= (wanted.to_ms or LATEST_MS):
            return []
        return [line]


def _by_time(attempt: Attempt) -> tuple[int, int, str]:
    return attempt.attemptedAt, attempt.attemptNumber, attempt.connectionId
