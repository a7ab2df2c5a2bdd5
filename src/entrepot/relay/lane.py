"""`/in/{sourceId}[/{path}]`, the address that senders call all day, as a plain ASGI function."""

from __future__ import annotations

import re

from entrepot.http.asgi import ASGIApp, Receive, Scope, Send
from entrepot.http.exchange import Exchange, exchange_of
from entrepot.http.problems import Forbidden, MethodNotAllowed, NotFound, Problem, TooMany
from entrepot.http.stores import problem_of
from entrepot.relay.errors import PlanLimit, Rejected
from entrepot.relay.ingest import BODY_BYTES_MAX, Answer, Arrival, Ingest
from entrepot.relay.model import Source, SourceId
from entrepot.relay.plans import PlanBook, Standing
from entrepot.relay.rules import HEADERS_BYTES_MAX, json_text, kept_headers
from entrepot.relay.sources import SourceBook
from entrepot.tables import TablesError

PREFIX = "/in/"
METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")

_SOURCE_ID = re.compile(r"src_[A-Za-z0-9_-]{16}")


class Lane:
    """Reads requests of senders, gives them to the ingest, and answers."""

    def __init__(
        self, ingest: Ingest, sources: SourceBook, plans: PlanBook, *, public_url: str | None
    ) -> None:
        self._ingest = ingest
        self._sources = sources
        self._plans = plans
        self._public_url = public_url.rstrip("/") if public_url else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in METHODS:
            raise MethodNotAllowed(scope["method"], METHODS)
        try:
            answer = await self._take(scope, receive)
        except TablesError as error:
            raise problem_of(error) or error from None
        except Rejected as rejected:
            raise Problem(rejected.message, status=401, code=rejected.code) from None
        except PlanLimit as limit:
            raise Forbidden(limit.message, code=limit.code) from None
        if answer is not None:
            await _send(send, answer)

    async def _take(self, scope: Scope, receive: Receive) -> Answer | None:
        exchange = exchange_of(scope)
        exchange.body_bytes_max = BODY_BYTES_MAX
        source, standing, path = await self._source_of(scope)
        exchange.facts["source"] = source.sourceId
        if wait_seconds := self._plans.room_in_minute(source.sourceId, standing):
            raise TooMany(
                f"The plan {standing.plan} takes {standing.allowance.inbound_per_minute} requests a minute.",
                retry_after_seconds=wait_seconds,
                code="PLAN_RATE_REACHED",
            )
        headers, query = scope["headers"], scope["query_string"].decode("latin-1")
        if len(json_text(kept_headers(headers))) + len(path) + len(query) > HEADERS_BYTES_MAX:
            raise Problem(f"The headers are larger than {HEADERS_BYTES_MAX} bytes.", status=431)
        body = await _body(receive, exchange)
        if body is None:
            return None
        arrival = Arrival(
            method=scope["method"],
            path=path,
            query=query,
            headers=headers,
            body=body,
            source_ip=exchange.peer.address,
            url=self._url_of(scope, exchange),
        )
        answer = await self._ingest.take(source, standing, arrival)
        if answer.event_id is not None:
            exchange.facts["event"] = answer.event_id
        return answer

    async def _source_of(self, scope: Scope) -> tuple[Source, Standing, str]:
        id_, _, path = scope["path"].removeprefix(PREFIX).partition("/")
        # Nothing else can be a source's id, and the store need not be asked.
        source = await self._sources.receiving(SourceId(id_)) if _SOURCE_ID.fullmatch(id_) else None
        if source is not None:
            standing = await self._plans.standing(source.userId)
            if not standing.closed:
                return source, standing, path
        raise NotFound("There is no such source.", code="SOURCE_NOT_FOUND")

    def _url_of(self, scope: Scope, exchange: Exchange) -> str:
        """The address that the sender called, as far as can be told behind proxies."""
        base = self._public_url
        if base is None:
            host = next((value for name, value in scope["headers"] if name == b"host"), b"")
            base = f"{exchange.peer.scheme}://{host.decode('latin-1')}"
        query = scope["query_string"].decode("latin-1")
        return f"{base}{scope['raw_path'].decode('latin-1')}{'?' if query else ''}{query}"


def lanes(lane: Lane) -> dict[str, ASGIApp]:
    """The lane by its path."""
    return {PREFIX: lane}


async def _body(receive: Receive, exchange: Exchange) -> bytes | None:
    """The whole body, or None when the sender left before its end: half an event is none."""
    parts: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if exchange.client_left:
            return None
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def _send(send: Send, answer: Answer) -> None:
    headers = [
        (b"content-type", answer.content_type.encode("latin-1", "ignore")),
        (b"content-length", str(len(answer.body)).encode()),
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})
