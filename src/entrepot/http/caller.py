"""Who calls, and who may: a route declares its guard, an authenticator says who the caller is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from entrepot.http.exchange import exchange_of
from entrepot.http.problems import Forbidden, Unauthenticated

Connection = ASGIConnection[Any, Any, Any, Any]
Permission = Literal["read", "write", "admin"]

# Each permission includes those before it.
_RANK: dict[Permission, int] = {"read": 0, "write": 1, "admin": 2}


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who makes a request: nobody known, a signed-in person, a key of a person, or the operator's token."""

    kind: Literal["anonymous", "person", "key", "token"] = "anonymous"
    user_id: str | None = None
    key_id: str | None = None
    session_id: str | None = None
    permission: Permission | None = None
    operator: bool = False

    def may(self, permission: Permission) -> bool:
        """Whether the caller has this permission, or one that includes it."""
        return self.permission is not None and _RANK[self.permission] >= _RANK[permission]


ANONYMOUS = Caller()
OPERATOR = Caller(kind="token", permission="admin", operator=True)

Authenticator = Callable[[Connection], Awaitable[Caller]]


class Guard:
    """Decides whether a caller may use a route; routes name one of those below."""

    def __init__(self, name: str, allows: Callable[[Caller], bool], *, anonymous: bool = False) -> None:
        self.name = name
        self.anonymous = anonymous
        self._allows = allows

    async def __call__(self, connection: Connection, _handler: BaseRouteHandler) -> None:
        if self.anonymous:
            # Nobody is asked who they are where it does not matter; a handler that wants to know asks itself.
            return
        caller = await caller_of(connection)
        if self._allows(caller):
            return
        if caller.kind == "anonymous":
            raise Unauthenticated
        raise Forbidden(f"This needs {self.name}.")


anyone = Guard("nothing", lambda _: True, anonymous=True)
person = Guard("a signed-in person", lambda caller: caller.kind == "person")
reader = Guard("read permission", lambda caller: caller.may("read"))
writer = Guard("write permission", lambda caller: caller.may("write"))
admin = Guard("admin permission", lambda caller: caller.may("admin"))
operator = Guard("the operator", lambda caller: caller.operator)


async def caller_of(connection: Connection) -> Caller:
    """The caller of this request, found out once."""
    exchange = exchange_of(connection.scope)
    if exchange.caller is None:
        authenticator: Authenticator = connection.app.state.authenticator
        exchange.caller = await authenticator(connection)
    return exchange.caller


def bearer(connection: Connection) -> str | None:
    """The token of the `Authorization: Bearer` header."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
