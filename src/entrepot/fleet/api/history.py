"""Routes of a board's history."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

import msgspec
from litestar import get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, QueryParameter

from entrepot.fleet.api.requests import (
    HEARTBEATS_MAX,
    PAGE_DEFAULT,
    TAGS,
    Context,
    Cursor,
    Limit,
    answered,
    time_of,
)
from entrepot.fleet.errors import WrongValue
from entrepot.fleet.model import Heartbeat, Uptime
from entrepot.http.caller import Caller, reader
from entrepot.http.pages import limit_within

HISTORY_DEFAULT = timedelta(days=30)
UPTIME_DEFAULT = timedelta(days=1)
_LAST_ID = (1 << 63) - 1

From = Annotated[
    str | None, QueryParameter(name="from", description="The earliest time, RFC 3339.", required=False)
]
To = Annotated[
    str | None, QueryParameter(name="to", description="The latest time, RFC 3339.", required=False)
]


class HeartbeatPage(msgspec.Struct, omit_defaults=True):
    """Heartbeats, newest first."""

    heartbeats: list[Heartbeat]
    next_cursor: str | None = None


def routes(context: Context) -> list[HTTPRouteHandler]:
    """The routes of history."""

    @get(
        "/fleet/devices/{composite_device_id:str}/heartbeats",
        guards=[reader],
        tags=TAGS,
        summary="A board's heartbeats",
    )
    async def heartbeats(
        caller: NamedDependency[Caller],
        composite_device_id: FromPath[str],
        start: From = None,
        end: To = None,
        limit: Limit = None,
        cursor: Cursor = None,
    ) -> HeartbeatPage:
        """The heartbeats of a board, newest first; they are kept for 30 days."""
        owner = await context.owner(caller)
        now = context.clock.utc()
        scope = f"heartbeats {composite_device_id} {start} {end}"
        with answered():
            first = time_of("from", start, now - HISTORY_DEFAULT)
            before = (time_of("to", end, now), _LAST_ID)
            if first > before[0]:
                raise WrongValue("from", "must not be after `to`")
            if cursor is not None:
                at, number = context.unsealed(scope, owner, cursor)
                before = (datetime.fromisoformat(at), number)
            size = limit_within(limit, default=PAGE_DEFAULT, most=HEARTBEATS_MAX)
            found, more = await context.history.heartbeats(
                owner, composite_device_id, start=first, before=before, limit=size
            )
        if more is None:
            return HeartbeatPage(found)
        return HeartbeatPage(found, context.sealed(scope, owner, more[0].isoformat(), more[1]))

    @get(
        "/fleet/devices/{composite_device_id:str}/uptime",
        guards=[reader],
        tags=TAGS,
        summary="A board's uptime",
    )
    async def uptime(
        caller: NamedDependency[Caller],
        composite_device_id: FromPath[str],
        start: From = None,
        end: To = None,
    ) -> Uptime:
        """The share of time that a board was online, and its outages; of the last day unless told."""
        now = context.clock.utc()
        with answered():
            until = time_of("to", end, now)
            since = time_of("from", start, until - UPTIME_DEFAULT)
            return await context.history.uptime(
                await context.owner(caller), composite_device_id, since, until
            )

    return [heartbeats, uptime]
