"""Routes of connections."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import delete, get, patch, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody

from entrepot.accounts.api.requests import AnyRequest
from entrepot.accounts.model import UserId
from entrepot.http.caller import Caller, reader, writer
from entrepot.relay.api import answers
from entrepot.relay.api.context import TAGS, Context, answered, owner_of
from entrepot.relay.connections import DryRun, dry_run
from entrepot.relay.errors import WrongValue
from entrepot.relay.model import Connection, ConnectionId, EventId, SourceId
from entrepot.relay.views import EventView, view_of


def routes(context: Context) -> list[HTTPRouteHandler]:
    """The routes of connections."""

    def view(
        connection: Connection, *, secret: str | None = None, warning: str | None = None
    ) -> answers.ConnectionView:
        names = context.connections.header_names(connection)
        return answers.ConnectionView.of(connection, names, secret=secret, warning=warning)

    @post(
        "/hooks/sources/{sourceId:str}/connections",
        guards=[writer],
        tags=TAGS,
        summary="Connect a destination",
        opt={"shown_once": ("signingSecret",)},
    )
    async def make(
        request: AnyRequest,
        caller: NamedDependency[Caller],
        sourceId: FromPath[str],
        data: JSONBody[answers.NewConnection],
    ) -> answers.ConnectionView:
        """Connects a destination. Deliveries are signed by Standard Webhooks; `signingSecret` is shown this once."""
        with answered():
            connection, secret, warning = await context.connections.create(
                owner_of(caller), SourceId(sourceId), _fields(data)
            )
        await context.trail.note(request, caller, "relay.connection.created", connection.connectionId)
        return view(connection, secret=secret, warning=warning)

    @get(
        "/hooks/sources/{sourceId:str}/connections",
        guards=[reader],
        tags=TAGS,
        summary="A source's connections",
    )
    async def of_source(caller: NamedDependency[Caller], sourceId: FromPath[str]) -> answers.ConnectionList:
        """All connections of a source."""
        with answered():
            found = await context.connections.of_source(owner_of(caller), SourceId(sourceId))
        return answers.ConnectionList([view(connection) for connection in found])

    @get("/hooks/connections/{connectionId:str}", guards=[reader], tags=TAGS, summary="A connection")
    async def one(caller: NamedDependency[Caller], connectionId: FromPath[str]) -> answers.ConnectionView:
        """One of one's connections."""
        with answered():
            return view(await context.connections.get(owner_of(caller), ConnectionId(connectionId)))

    @patch("/hooks/connections/{connectionId:str}", guards=[writer], tags=TAGS, summary="Change a connection")
    async def change(
        request: AnyRequest,
        caller: NamedDependency[Caller],
        connectionId: FromPath[str],
        data: JSONBody[answers.ConnectionChange],
    ) -> answers.ConnectionView:
        """Changes what is given. `status: paused` holds deliveries, `status: active` lets them go, the oldest first."""
        with answered():
            connection, warning = await context.connections.change(
                owner_of(caller), ConnectionId(connectionId), _fields(data)
            )
        await context.trail.note(request, caller, "relay.connection.changed", connectionId)
        return view(connection, warning=warning)

    @delete(
        "/hooks/connections/{connectionId:str}", guards=[writer], tags=TAGS, summary="Delete a connection"
    )
    async def end(request: AnyRequest, caller: NamedDependency[Caller], connectionId: FromPath[str]) -> None:
        """Delivers nothing more there."""
        with answered():
            await context.connections.delete(owner_of(caller), ConnectionId(connectionId))
        await context.trail.note(request, caller, "relay.connection.deleted", connectionId)

    @post(
        "/hooks/connections/{connectionId:str}/rotate-secret",
        guards=[writer],
        tags=TAGS,
        summary="A new signing secret",
        status_code=200,
    )
    async def rotate(
        request: AnyRequest, caller: NamedDependency[Caller], connectionId: FromPath[str]
    ) -> answers.ConnectionView:
        """Gives a new `signingSecret`, shown this once; for 24 hours the old one signs beside it."""
        with answered():
            connection, secret = await context.connections.rotate_secret(
                owner_of(caller), ConnectionId(connectionId)
            )
        await context.trail.note(request, caller, "relay.connection.secret_rotated", connectionId)
        return view(connection, secret=secret)

    @post(
        "/hooks/connections/{connectionId:str}/dry-run",
        guards=[reader],
        tags=TAGS,
        summary="Try an event",
        status_code=200,
    )
    async def try_event(
        caller: NamedDependency[Caller], connectionId: FromPath[str], data: JSONBody[answers.DryRunRequest]
    ) -> DryRun:
        """Says whether an event would pass, what each rule found, and what would be sent; sends nothing."""
        user_id = owner_of(caller)
        with answered():
            connection = await context.connections.get(user_id, ConnectionId(connectionId))
            return dry_run(connection, await _view(context, user_id, data))

    return [make, of_source, one, change, end, rotate, try_event]


async def _view(context: Context, user_id: UserId, data: answers.DryRunRequest) -> EventView:
    if data.eventId is not msgspec.UNSET:
        return view_of(await context.events.get(user_id, EventId(data.eventId)))
    if data.body is msgspec.UNSET:
        raise WrongValue("eventId", "is missing; give it, or a body")
    headers = {name.lower(): value for name, value in data.headers.items()}
    if isinstance(data.body, str):
        body, content_type = data.body.encode(), headers.get("content-type", "text/plain")
    else:
        body, content_type = msgspec.json.encode(data.body), headers.get("content-type", "application/json")
    return EventView(
        method=data.method, headers=headers, query=data.query, body=body, content_type=content_type
    )


def _fields(data: answers.NewConnection | answers.ConnectionChange) -> dict[str, Any]:
    fields = answers.given(data)
    if "rateLimit" in fields:
        rate = fields.pop("rateLimit")
        fields["ratePerSecond"] = None if rate is None else rate.perSecond
    return fields
