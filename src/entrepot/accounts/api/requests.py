"""What handlers ask of a request."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request
from litestar.params import QueryParameter

from entrepot.accounts.errors import NoAccount
from entrepot.accounts.model import UserId
from entrepot.accounts.sessions import Visit
from entrepot.http.caller import Caller
from entrepot.http.exchange import exchange_of

PAGE_DEFAULT = 20
PAGE_MAX = 100

HOME = "/docs"
"""Where someone goes who has just come in."""

AnyRequest = Request[Any, Any, Any]

Limit = Annotated[int, QueryParameter(ge=1, le=PAGE_MAX, description="How many at most.")]
Cursor = Annotated[str | None, QueryParameter(description="Where to go on: the `next_cursor` of a page.")]


def visit_of(request: AnyRequest) -> Visit:
    """Where the request comes from."""
    return Visit(exchange_of(request.scope).peer.address or None, request.headers.get("user-agent"))


def user_of(caller: Caller) -> UserId:
    """Whose account this is about."""
    if caller.user_id is None:
        raise NoAccount
    return UserId(caller.user_id)


def base_url(request: AnyRequest, public_url: str | None) -> str:
    """The address that people see, for links that are given to them."""
    if public_url is not None:
        return public_url.rstrip("/")
    return f"{exchange_of(request.scope).peer.scheme}://{request.headers.get('host', '')}"
