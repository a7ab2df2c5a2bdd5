"""Changes of status: as a list, and live as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from uuid import UUID

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.datastructures import ResponseSpec
from litestar.response import Stream

from entrepot.fleet.api.requests import (
    PAGE_DEFAULT,
    PAGE_MAX,
    TAGS,
    AnyRequest,
    Context,
    Cursor,
    Limit,
    answered,
)
from entrepot.fleet.errors import Unavailable
from entrepot.fleet.model import StatusEvent
from entrepot.fleet.service.history import LIVE_EVENTS_MAX
from entrepot.http.caller import Caller, reader
from entrepot.http.pages import limit_within
from entrepot.http.problems import TooMany

STREAM_TYPE = "text/event-stream"
STREAMS_MAX = 200
QUIET_SECONDS_MAX = 15.0
# So many of the last numbers are remembered, for the window in which changes are read again.
SENT_MAX = 10_000
LONG_AGO = datetime(1970, 1, 2, tzinfo=UTC)
_LAST_ID = (1 << 63) - 1


class EventPage(msgspec.Struct, omit_defaults=True):
    """Changes of status, newest first."""

    events: list[StatusEvent]
    next_cursor: str | None = None


def routes(context: Context) -> list[HTTPRouteHandler]:
    """The routes of events."""
    live = Live(context)

    @get(
        "/fleet/events",
        guards=[reader],
        tags=TAGS,
        summary="Changes of status",
        responses={200: ResponseSpec(data_container=EventPage, description="A page, or a stream of events.")},
    )
    async def events(
        request: AnyRequest, caller: NamedDependency[Caller], limit: Limit = None, cursor: Cursor = None
    ) -> Response[EventPage] | Stream:
        """Changes of status, newest first; with `Accept: text/event-stream` as they happen.

        A stream goes on behind `Last-Event-ID`, as browsers send it.
        """
        owner = await context.owner(caller)
        if STREAM_TYPE in request.headers.get("accept", ""):
            last = request.headers.get("last-event-id", "")
            with answered():
                return await live.stream(owner, int(last) if last.isdigit() and len(last) < 19 else None)
        with answered():
            before = context.unsealed("events", owner, cursor)[0] if cursor is not None else _LAST_ID
            size = limit_within(limit, default=PAGE_DEFAULT, most=PAGE_MAX)
            found, more = await context.history.events(owner, before=before, limit=size)
        return Response(EventPage(found, context.sealed("events", owner, more) if more is not None else None))

    return [events]


class Live:
    """Streams of events."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._open = 0

    async def stream(self, owner: UUID, after: int | None) -> Stream:
        """An answer that goes on until the caller leaves, from this event or from now."""
        if self._open >= STREAMS_MAX:
            raise TooMany("Too many streams are open.", retry_after_seconds=30)
        since = self._context.clock.utc()
        if after is None:
            after = await self._context.history.latest_event(owner)
        else:
            # Who comes back gets everything since, however long ago.
            since = LONG_AGO
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return Stream(self._parts(owner, after, since), media_type=STREAM_TYPE, headers=headers)

    async def _parts(self, owner: UUID, after: int, since: datetime) -> AsyncIterator[bytes]:
        self._open += 1
        sent: dict[int, None] = {}
        try:
            yield b": listening\n\n"
            while True:
                # What rings from here on is heard, even before we wait.
                next_ring = self._context.bell.next_ring()
                now = self._context.clock.utc()
                found = await self._context.history.events_since(owner, after, since)
                fresh = [event for event in found if event.id not in sent]
                for event in fresh:
                    sent[event.id] = None
                    yield _message(event)
                while len(sent) > SENT_MAX:
                    del sent[next(iter(sent))]
                if len(found) < LIVE_EVENTS_MAX:
                    since = now
                    await self._context.bell.wait(next_ring, QUIET_SECONDS_MAX)
                    yield b": still here\n\n"
                else:
                    after = found[-1].id
        except Unavailable:
            # The caller comes back with the number of the last event, and finds the database again by then.
            return
        finally:
            self._open -= 1


def _message(event: StatusEvent) -> bytes:
    return b"id: %d\nevent: status\ndata: %s\n\n" % (event.id, msgspec.json.encode(event))
