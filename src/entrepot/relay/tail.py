"""The live tail: events of a source as they arrive, as server-sent events, whichever process took them."""

from __future__ import annotations

import asyncio
import base64
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator

import msgspec

from entrepot.relay.model import Event, EventId, Events, EventStatus, SourceId
from entrepot.relay.views import headers_of
from entrepot.tables import Database

POLL_SECONDS = 0.5
# As long after its time of receipt may an event still be on its way into the table.
LATE_MS = 5_000
BEAT_SECONDS = 15.0
TAILS_MAX = 64
PAGE = 50
SEEN_MAX = 10_000
HOURS_MAX = 12


class TailsFull(Exception):
    """So many tails are read in this process that one more would harm the others."""


class TailedEvent(msgspec.Struct, omit_defaults=True):
    """An event in the tail; a body that is no text comes as base64."""

    eventId: EventId
    status: EventStatus
    method: str
    headers: dict[str, str]
    contentType: str
    receivedAt: int
    body: str
    path: str | None = None
    query: str | None = None
    bodyBase64: str | None = None


class Tails:
    """Follows sources; `stop` ends all tails of this process."""

    def __init__(self, db: Database, *, poll_seconds: float = POLL_SECONDS) -> None:
        self._clock = db.clock
        self._events = Events(db)
        self._poll_seconds = poll_seconds
        self._open = 0
        self._stopping = asyncio.Event()

    def follow(self, source_id: SourceId, *, after: EventId | None = None) -> AsyncGenerator[bytes, None]:
        """Server-sent events from now on, or from after an event that was seen last; raises TailsFull.

        A comment now and then keeps it alive.
        """
        if self._open >= TAILS_MAX:
            raise TailsFull
        return self._following(source_id, self._clock.epoch_ms(), after)

    async def _following(
        self, source_id: SourceId, since: int, after: EventId | None
    ) -> AsyncGenerator[bytes, None]:
        self._open += 1
        try:
            yield b": following\n\n"
            async for part in self._parts(source_id, since, after):
                yield part
        finally:
            self._open -= 1

    async def stop(self) -> None:
        """End all tails."""
        self._stopping.set()

    async def _parts(self, source_id: SourceId, since: int, after: EventId | None) -> AsyncIterator[bytes]:
        seen: OrderedDict[str, None] = OrderedDict()
        if after is not None and (last := await self._events.by_id(after)) is not None:
            since, seen[after] = last.receivedAt, None
        silent = 0.0
        for _ in range(round(HOURS_MAX * 3600 / self._poll_seconds)):
            found = await self._new(source_id, since, seen)
            for event in found:
                yield _encoded(event)
            silent = 0.0 if found else silent + self._poll_seconds
            if silent >= BEAT_SECONDS:
                silent = 0.0
                yield b": still here\n\n"
            since = max(
                since, min(self._clock.epoch_ms() - LATE_MS, found[-1].receivedAt if found else since)
            )
            if await self._stopped():
                return

    async def _new(self, source_id: SourceId, since_ms: int, seen: OrderedDict[str, None]) -> list[Event]:
        until = self._clock.epoch_ms() + LATE_MS
        listed = self._events.of_source_between(source_id, since_ms, until).reversed()
        page = await listed.page(limit=PAGE)
        found = [event for event in page.items if event.eventId not in seen]
        # A page full of what was seen already is passed by.
        while page.cursor is not None and len(found) < PAGE:
            page = await listed.page(limit=PAGE, cursor=page.cursor)
            found += [event for event in page.items if event.eventId not in seen]
        for event in found:
            seen[event.eventId] = None
        while len(seen) > SEEN_MAX:
            seen.popitem(last=False)
        return found

    async def _stopped(self) -> bool:
        try:
            async with asyncio.timeout(self._poll_seconds):
                await self._stopping.wait()
        except TimeoutError:
            return False
        return True


def tailed(event: Event) -> TailedEvent:
    """An event as the tail shows it."""
    return TailedEvent(
        eventId=event.eventId,
        status=event.status,
        method=event.method,
        headers=headers_of(event),
        contentType=event.contentType,
        receivedAt=event.receivedAt,
        body=event.body,
        path=event.path,
        query=event.query,
        bodyBase64=base64.b64encode(event.bodyBytes).decode() if event.bodyBytes is not None else None,
    )


def _encoded(event: Event) -> bytes:
    return b"id: %b\nevent: event\ndata: %b\n\n" % (
        event.eventId.encode(),
        msgspec.json.encode(tailed(event)),
    )
