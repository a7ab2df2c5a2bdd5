"""Routes of sources."""

from __future__ import annotations

from litestar import delete, get, patch, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody

from entrepot.accounts.api.requests import AnyRequest, base_url
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
    answered,
    owner_of,
)
from entrepot.relay.model import Source, SourceAnswer, SourceId


def routes(context: Context) -> list[HTTPRouteHandler]:
    """The routes of sources."""

    def view(source: Source, request: AnyRequest) -> answers.SourceView:
        return answers.SourceView.of(source, base_url(request, context.public_url))

    @post("/hooks/sources", guards=[writer], tags=TAGS, summary="Make a source")
    async def make(
        request: AnyRequest, caller: NamedDependency[Caller], data: JSONBody[answers.NewSource]
    ) -> answers.SourceView:
        """Makes a source; give its `url` to the sender. With a signing secret, only what is signed is taken."""
        with answered():
            source = await context.sources.create(owner_of(caller), _fields(data))
        await context.trail.note(request, caller, "relay.source.created", source.sourceId)
        return view(source, request)

    @get("/hooks/sources", guards=[reader], tags=TAGS, summary="One's sources")
    async def listed(
        request: AnyRequest, caller: NamedDependency[Caller], limit: Limit = None, cursor: Cursor = None
    ) -> answers.SourceList:
        """One's sources, the built-in one of domain events among them (provider `entrepot`)."""
        size = limit_within(limit, default=PAGE_DEFAULT, most=PAGE_MAX)
        page = await context.sources.page(owner_of(caller), limit=size, cursor=cursor)
        return answers.SourceList([view(source, request) for source in page.items], page.cursor)

    @get("/hooks/sources/{sourceId:str}", guards=[reader], tags=TAGS, summary="A source")
    async def one(
        request: AnyRequest, caller: NamedDependency[Caller], sourceId: FromPath[str]
    ) -> answers.SourceView:
        """One of one's sources."""
        with answered():
            return view(await context.sources.get(owner_of(caller), SourceId(sourceId)), request)

    @patch("/hooks/sources/{sourceId:str}", guards=[writer], tags=TAGS, summary="Change a source")
    async def change(
        request: AnyRequest,
        caller: NamedDependency[Caller],
        sourceId: FromPath[str],
        data: JSONBody[answers.SourceChange],
    ) -> answers.SourceView:
        """Changes what is given. A paused source takes events and holds them; resumed, they go out."""
        with answered():
            source = await context.sources.change(owner_of(caller), SourceId(sourceId), _fields(data))
        await context.trail.note(request, caller, "relay.source.changed", source.sourceId)
        return view(source, request)

    @delete("/hooks/sources/{sourceId:str}", guards=[writer], tags=TAGS, summary="Delete a source")
    async def end(request: AnyRequest, caller: NamedDependency[Caller], sourceId: FromPath[str]) -> None:
        """Takes nothing more for the source. Its events stay until their time has passed; its id is not used again."""
        with answered():
            await context.sources.delete(owner_of(caller), SourceId(sourceId))
        await context.trail.note(request, caller, "relay.source.deleted", sourceId)

    @get("/hooks/sources/{sourceId:str}/rejections", guards=[reader], tags=TAGS, summary="What was not taken")
    async def rejections(
        caller: NamedDependency[Caller], sourceId: FromPath[str], limit: Limit = None, cursor: Cursor = None
    ) -> answers.RejectionList:
        """Requests whose signature was wrong, newest first, with the cause."""
        size = limit_within(limit, default=PAGE_DEFAULT, most=PAGE_MAX)
        with answered():
            page = await context.sources.rejections(
                owner_of(caller), SourceId(sourceId), limit=size, cursor=cursor
            )
        return answers.RejectionList(
            [answers.RejectionView.of(rejection) for rejection in page.items], page.cursor
        )

    return [make, listed, one, change, end, rejections]


def _fields(data: answers.NewSource | answers.SourceChange) -> dict[str, object]:
    fields = answers.given(data)
    own = fields.get("answer")
    if own is not None:
        fields["answer"] = SourceAnswer(own.status, own.contentType, own.body)
    return fields
