"""Routes of replays."""

from __future__ import annotations

from typing import Annotated

from litestar import delete, get, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from entrepot.accounts.api.requests import AnyRequest
from entrepot.accounts.trail import Trail
from entrepot.http.caller import Caller, reader, writer
from entrepot.http.jobs import JobView, view_of
from entrepot.relay.api.context import TAGS, answered, epoch_ms_of, owner_of
from entrepot.relay.model import ConnectionId, EventId, EventStatus, SourceId
from entrepot.relay.replays import LAST_MS, Replays, Selection

CONNECTIONS_MAX = 50

ConnectionIds = Annotated[list[str], Meta(min_length=1, max_length=CONNECTIONS_MAX)]
Time = int | Annotated[str, Meta(max_length=40)]


class ReplayRequest(Struct, forbid_unknown_fields=True):
    """To whom an event is delivered again; without `connectionIds` to all connections of its source."""

    connectionIds: ConnectionIds | None = None


class BulkRequest(Struct, forbid_unknown_fields=True, rename={"from_": "from"}):
    """Which events are delivered again; times are epoch milliseconds or RFC 3339."""

    sourceId: str
    status: EventStatus | None = None
    from_: Time | None = None
    to: Time | None = None
    connectionIds: ConnectionIds | None = None


class Replayed(Struct):
    """An event that is on its way again."""

    eventId: str
    status: EventStatus
    run: int


def routes(replays: Replays, trail: Trail) -> list[HTTPRouteHandler]:
    """The routes of replays."""

    @post(
        "/hooks/events/{eventId:str}/replay",
        guards=[writer],
        tags=TAGS,
        status_code=202,
        summary="Replay an event",
    )
    async def replay(
        request: AnyRequest,
        caller: NamedDependency[Caller],
        eventId: FromPath[str],
        data: JSONBody[ReplayRequest],
    ) -> Replayed:
        """Delivers an event again, as a new run with the same `webhook-id`."""
        with answered():
            event = await replays.one(owner_of(caller), EventId(eventId), _ids(data.connectionIds))
        await trail.note(request, caller, "relay.event.replayed", eventId)
        return Replayed(event.eventId, event.status, event.run)

    @post("/hooks/replays", guards=[writer], tags=TAGS, status_code=202, summary="Replay many events")
    async def replay_many(
        request: AnyRequest, caller: NamedDependency[Caller], data: JSONBody[BulkRequest]
    ) -> JobView:
        """Delivers again what is selected, the oldest first; with the status `failed` only where it failed."""
        with answered():
            selection = Selection(
                sourceId=SourceId(data.sourceId),
                status=data.status,
                from_ms=_ms("from", data.from_, 0),
                to_ms=_ms("to", data.to, LAST_MS),
                connectionIds=_ids(data.connectionIds),
            )
            job = await replays.many(owner_of(caller), selection)
        await trail.note(request, caller, "relay.replay.started", job.jobId)
        return view_of(job)

    @get("/hooks/replays/{replayId:str}", guards=[reader], tags=TAGS, summary="How far is a replay?")
    async def progress(caller: NamedDependency[Caller], replayId: FromPath[str]) -> JobView:
        """Its status is waiting, running, done, failed or cancelled."""
        with answered():
            return view_of(await replays.job(owner_of(caller), replayId))

    @delete("/hooks/replays/{replayId:str}", guards=[writer], tags=TAGS, summary="Cancel a replay")
    async def cancel(request: AnyRequest, caller: NamedDependency[Caller], replayId: FromPath[str]) -> None:
        """Stops before its next step; what was put until then goes out."""
        with answered():
            await replays.cancel(owner_of(caller), replayId)
        await trail.note(request, caller, "relay.replay.cancelled", replayId)

    return [replay, replay_many, progress, cancel]


def _ids(given: list[str] | None) -> tuple[ConnectionId, ...] | None:
    return None if given is None else tuple(ConnectionId(each) for each in given)


def _ms(field: str, given: Time | None, default: int) -> int:
    found = epoch_ms_of(field, None if given is None else str(given))
    return default if found is None else found
