"""The route of the live tail."""

from __future__ import annotations

from typing import Annotated

from litestar import get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, HeaderParameter
from litestar.response import Stream

from entrepot.http.caller import Caller, reader
from entrepot.http.problems import Unavailable
from entrepot.relay.api.context import TAGS, answered, owner_of
from entrepot.relay.model import EventId, SourceId
from entrepot.relay.sources import SourceBook
from entrepot.relay.tail import Tails, TailsFull

LastEventId = Annotated[
    str | None,
    HeaderParameter(name="Last-Event-ID", description="The event that was seen last.", required=False),
]


def routes(sources: SourceBook, tails: Tails) -> list[HTTPRouteHandler]:
    """The route of the live tail."""

    @get("/hooks/sources/{sourceId:str}/tail", guards=[reader], tags=TAGS, summary="Events as they arrive")
    async def tail(
        caller: NamedDependency[Caller], sourceId: FromPath[str], last_event_id: LastEventId = None
    ) -> Stream:
        """Server-sent events: `event`, each with an event's headers and body, from now on.

        With `Last-Event-ID` it goes on where it was cut off.
        """
        with answered():
            source = await sources.get(owner_of(caller), SourceId(sourceId))
        try:
            after = EventId(last_event_id) if last_event_id else None
            parts = tails.follow(source.sourceId, after=after)
        except TailsFull:
            raise Unavailable("Too many tails are open here.", retry_after_seconds=10) from None
        return Stream(parts, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    return [tail]
