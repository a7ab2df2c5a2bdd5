"""What the fleet's routes share: the owner, cursors, times, and its errors as problems."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Request
from litestar.params import QueryParameter

from entrepot.clock import Clock
from entrepot.fleet.bell import Bell
from entrepot.fleet.errors import (
    Exhausted,
    FleetError,
    NotFound,
    Refused,
    Taken,
    Unavailable,
    WrongValue,
)
from entrepot.fleet.rules import read_time
from entrepot.fleet.service import Devices, History, People, Projects
from entrepot.http import problems
from entrepot.http.caller import Caller
from entrepot.http.stores import problem_of
from entrepot.tables import InvalidCursor
from entrepot.tables.cursors import Cursors

TAGS = ["Fleet"]
PAGE_DEFAULT = 50
PAGE_MAX = 200
HEARTBEATS_MAX = 1000
RETRY_AFTER_SECONDS = 5

AnyRequest = Request[Any, Any, Any]
Owners = Callable[[Caller], Awaitable[UUID | None]]

Limit = Annotated[int | None, QueryParameter(description="How many at most.", required=False)]
Cursor = Annotated[str | None, QueryParameter(description="Where a list goes on.", required=False)]


class Context(msgspec.Struct, frozen=True):
    """What the routes need."""

    projects: Projects
    devices: Devices
    history: History
    people: People
    bell: Bell
    clock: Clock
    cursors: Cursors
    owners: Owners
    """The UUID by which PostgreSQL knows a caller's person; None when the caller is none."""

    async def owner(self, caller: Caller) -> UUID:
        """The person whose boards these are."""
        found = await self.owners(caller)
        if found is None:
            raise problems.Forbidden("Boards belong to people; this caller is none.")
        return found

    def sealed(self, scope: str, owner: UUID, *values: str | int) -> str:
        """A cursor that leads past these values in this owner's list."""
        return self.cursors.seal(
            f"fleet {scope} {owner}", {str(at): value for at, value in enumerate(values)}
        )

    def unsealed(self, scope: str, owner: UUID, cursor: str) -> list[Any]:
        """What a cursor of this list leads past."""
        try:
            item = self.cursors.open(f"fleet {scope} {owner}", cursor)
        except InvalidCursor as error:
            raise problem_of(error) or error from None
        return [item[str(at)] for at in range(len(item))]


@contextmanager
def answered() -> Iterator[None]:
    """The fleet's errors as problems."""
    try:
        yield
    except FleetError as error:
        raise _problem(error) from error


def time_of(field: str, given: str | None, default: datetime) -> datetime:
    """A time of a query, or the default."""
    return read_time(field, given) if given is not None else default


def _problem(error: FleetError) -> problems.Problem:
    if isinstance(error, Unavailable):
        return problems.Unavailable(error.message, retry_after_seconds=RETRY_AFTER_SECONDS, code=error.code)
    if isinstance(error, WrongValue):
        return problems.Invalid([problems.FieldError(error.field, error.complaint)])
    if isinstance(error, NotFound):
        return problems.NotFound(error.message, code=error.code)
    if isinstance(error, Taken | Exhausted | Refused):
        return problems.Conflict(error.message, code=error.code)
    return problems.internal()
