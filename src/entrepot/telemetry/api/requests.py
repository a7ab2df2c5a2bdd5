"""What telemetry's routes share: who asks, what they may see, ranges, and its errors as problems."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from litestar.handlers import BaseRouteHandler
from litestar.params import QueryParameter
from msgspec import Struct

from entrepot.accounts.model import UserId
from entrepot.clock import Clock
from entrepot.http import caller as callers
from entrepot.http.caller import Caller, Connection, Guard
from entrepot.http.problems import Forbidden, Unauthenticated
from entrepot.telemetry.alerts import AlertBook
from entrepot.telemetry.devices import DeviceBook
from entrepot.telemetry.errors import TelemetryError, problem_of
from entrepot.telemetry.keys import KeyRing
from entrepot.telemetry.readings import ReadingBook

TAGS = ["Telemetry"]
PAGE_DEFAULT = 50
PAGE_MAX = 200
READINGS_DEFAULT = 100
READINGS_MAX = 1000

Limit = Annotated[int | None, QueryParameter(description="How many at most.", required=False)]
Cursor = Annotated[
    str | None, QueryParameter(description="Where to go on: the `next_cursor` of a page.", required=False)
]
From = Annotated[
    int | None, QueryParameter(name="from", description="The earliest time, epoch ms.", required=False)
]
To = Annotated[
    int | None, QueryParameter(name="to", description="The latest time, epoch ms.", required=False)
]


class Context(Struct, frozen=True):
    """What the routes need."""

    devices: DeviceBook
    readings: ReadingBook
    keys: KeyRing
    alerts: AlertBook
    clock: Clock
    bounds_future_ms: int


class TelemetryGuard(Guard):
    """A guard that says in this service's words what is wrong with the caller's token."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard.name, lambda _: False)
        self._guard = guard

    async def __call__(self, connection: Connection, handler: BaseRouteHandler) -> None:
        try:
            await self._guard(connection, handler)
        except Unauthenticated as error:
            if connection.headers.get("authorization"):
                raise Unauthenticated("The token is not known.", code="INVALID_TOKEN") from error
            raise Unauthenticated("Sign in, or send a token.", code="MISSING_TOKEN") from error


reader = TelemetryGuard(callers.reader)
writer = TelemetryGuard(callers.writer)


def viewer_of(caller: Caller) -> UserId | None:
    """Whose things the caller sees; None is the operator, who sees all."""
    if caller.operator:
        return None
    return person_of(caller)


def person_of(caller: Caller) -> UserId:
    """The person that the caller is or acts for."""
    if caller.user_id is None:
        raise Forbidden("This belongs to people; this caller is none.")
    return UserId(caller.user_id)


@contextmanager
def answered() -> Iterator[None]:
    """Telemetry's errors as problems."""
    try:
        yield
    except TelemetryError as error:
        raise problem_of(error) from error
