"""Routes of events and their attempts."""

from __future__ import annotations

from typing import Annotated

from litestar import delete, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, QueryParameter

from entrepot.accounts.api.requests import AnyRequest
from entrepot.http.caller import Caller, reader, writer
from entrepot.http.pages import limit_within
from entrepot.relay.api import answers
from entrepot.relay.api.context import (
    PAGE_DEFAULT,
    PAGE_MAX,
    TAGS,
    Context,
    Cursor,
    Limit,
    Time,
    answered,
    epoch_ms_of,
    owner_of,
)
from entrepot.relay.events import Selection
from entrepot.relay.model import EventId, EventStatus, SourceId

StatusQuery = Annotated[
    EventStatus | None, QueryParameter(description="Only events in this state.", required=False)
]
DeliveryId = Annotated[
    str | None, QueryParameter(description="The sender's own id of a delivery.", required=False)
]
From = Annotated[
    str | None, QueryParameter(name="from", description="Epoch milliseconds, or RFC 3339.", required=False)
]


def routes(context: Context) -> list[HTTPRouteHandler]:
    """The routes of events."""

    @get("/hooks/sources/{sourceId:str}/events", guards=[reader], tags=TAGS, summary="A source's events")
    async def of_source(
        caller: NamedDependency[Caller],
        sourceId: FromPath[str],
        status: StatusQuery = None,
        from_: From = None,
        to: Time = None,
        deliveryId: DeliveryId = None,
        limit: Limit = None,
        cursor: Cursor = None,
    ) -> answers.EventList:
        """Events, newest first, without headers and bodies.

        With `status` a page may be short: go on while there is a `next_cursor`.
        """
        size = limit_within(limit, default=PAGE_DEFAULT, most=PAGE_MAX)
        with answered():
            wanted = Selection(
                status=status,
                from_ms=epoch_ms_of("from", from_),
                to_ms=epoch_ms_of("to", to),
                delivery_id=deliveryId,
            )
            page = await context.events.page(
                owner_of(caller), SourceId(sourceId), wanted, limit=size, cursor=cursor
            )
        return answers.EventList(page.items, page.cursor)

    @get("/hooks/events/{eventId:str}", guards=[reader], tags=TAGS, summary="An event")
    async def one(caller: NamedDependency[Caller], eventId: FromPath[str]) -> answers.EventView:
        """An event with its headers and body, its deliveries and attempts."""
        with answered():
            event = await context.events.get(owner_of(caller), EventId(eventId))
        deliveries, attempts = await context.events.became(event)
        return answers.EventView.of(event, deliveries, attempts)

    @delete("/hooks/events/{eventId:str}", guards=[writer], tags=TAGS, summary="Erase an event")
    async def erase(request: AnyRequest, caller: NamedDependency[Caller], eventId: FromPath[str]) -> None:
        """Erases headers, body and the sender's address; that it was there, and what became of it, stays."""
        with answered():
            await context.events.erase(owner_of(caller), EventId(eventId))
        await context.trail.note(request, caller, "relay.event.erased", eventId)

    @get("/hooks/events/{eventId:str}/attempts", guards=[reader], tags=TAGS, summary="An event's attempts")
    async def attempts(caller: NamedDependency[Caller], eventId: FromPath[str]) -> answers.AttemptList:
        """Every attempt to deliver the event, by time."""
        with answered():
            event = await context.events.get(owner_of(caller), EventId(eventId))
        found = await context.events.attempts(event)
        return answers.AttemptList([answers.AttemptView.of(attempt) for attempt in found])

    return [of_source, one, erase, attempts]
