"""Routes of notifying, and of trying a connection out."""

from __future__ import annotations

import msgspec
from litestar import post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody

from entrepot.accounts.api.requests import AnyRequest
from entrepot.accounts.trail import Trail
from entrepot.http.caller import Caller, writer
from entrepot.http.problems import FieldError, Invalid
from entrepot.relay.api import answers
from entrepot.relay.api.context import TAGS, answered, owner_of
from entrepot.relay.attempts import Sender
from entrepot.relay.connections import ConnectionBook
from entrepot.relay.model import ConnectionId
from entrepot.relay.notify import DomainEvents
from entrepot.relay.presets import Notify, TopicMissing, connection_of
from entrepot.relay.requests import Requests


class Tried(msgspec.Struct):
    """What a destination answered to a sample; `statusCode` is 0 when no answer came."""

    statusCode: int
    latencyMs: int
    responseBody: str | None
    error: str | None


def routes(
    *,
    connections: ConnectionBook,
    domain: DomainEvents,
    requests: Requests,
    sender: Sender,
    trail: Trail,
) -> list[HTTPRouteHandler]:
    """The routes of notifying, and of trying a connection out."""

    @post(
        "/hooks/notify",
        guards=[writer],
        tags=TAGS,
        summary="Notify me",
        opt={"shown_once": ("signingSecret",)},
    )
    async def notify(
        request: AnyRequest, caller: NamedDependency[Caller], data: JSONBody[Notify]
    ) -> answers.ConnectionView:
        """Connects ntfy, Slack or Home Assistant to the built-in source, for events of some types or of all."""
        owner = owner_of(caller)
        try:
            fields = connection_of(data)
        except TopicMissing:
            raise Invalid([FieldError("topic", "is missing; ntfy needs one")]) from None
        with answered():
            source_id = await domain.source(owner)
            connection, secret, warning = await connections.create(owner, source_id, fields)
        await trail.note(request, caller, "relay.connection.created", connection.connectionId)
        names = connections.header_names(connection)
        return answers.ConnectionView.of(connection, names, secret=secret, warning=warning)

    @post(
        "/hooks/connections/{connectionId:str}/test",
        guards=[writer],
        tags=TAGS,
        status_code=200,
        summary="Send a sample",
    )
    async def test(caller: NamedDependency[Caller], connectionId: FromPath[str]) -> Tried:
        """Sends a signed sample to the destination now, as the connection reshapes it, and says what came of it."""
        owner = owner_of(caller)
        with answered():
            connection = await connections.get(owner, ConnectionId(connectionId))
            sample = await domain.sample(owner)
            answer = await sender.send(requests.build(sample, connection))
        return Tried(answer.status, answer.latency_ms, answer.body, answer.error)

    return [notify, test]
