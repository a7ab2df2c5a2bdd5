"""What the routes of receiving share: the services, and the relay's errors as problems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from litestar.params import QueryParameter

from entrepot.accounts.model import UserId
from entrepot.accounts.trail import Trail
from entrepot.http import problems
from entrepot.http.caller import Caller
from entrepot.relay.billing import Billing
from entrepot.relay.connections import ConnectionBook
from entrepot.relay.errors import Changed, NotFound, PlanLimit, Rejected, RelayError, WrongValue
from entrepot.relay.events import EventLog
from entrepot.relay.sources import SourceBook

TAGS = ["Relay"]
PAGE_DEFAULT = 20
PAGE_MAX = 100

Limit = Annotated[int | None, QueryParameter(description="How many at most.", required=False)]
Cursor = Annotated[
    str | None, QueryParameter(description="Where to go on: the `next_cursor` of a page.", required=False)
]
Time = Annotated[str | None, QueryParameter(description="Epoch milliseconds, or RFC 3339.", required=False)]


class Context(msgspec.Struct, frozen=True):
    """What the routes need."""

    sources: SourceBook
    connections: ConnectionBook
    events: EventLog
    billing: Billing
    trail: Trail
    public_url: str | None


def owner_of(caller: Caller) -> UserId:
    """Whose sources these are."""
    if caller.user_id is None:
        raise problems.Forbidden("Sources belong to people; this caller is none.")
    return UserId(caller.user_id)


@contextmanager
def answered() -> Iterator[None]:
    """The relay's errors as problems."""
    try:
        yield
    except RelayError as error:
        raise problem_of(error) from error


def problem_of(error: RelayError) -> problems.Problem:
    """What a caller is answered."""
    if isinstance(error, NotFound):
        return problems.NotFound(error.message, code=error.code)
    if isinstance(error, WrongValue):
        return problems.Invalid([problems.FieldError(error.field, error.complaint)])
    if isinstance(error, Changed):
        return problems.Conflict(error.message, code=error.code)
    if isinstance(error, PlanLimit):
        return problems.Forbidden(error.message, code=error.code)
    if isinstance(error, Rejected):
        return problems.Problem(error.message, status=401, code=error.code)
    return problems.Problem(error.message, code=error.code)


_MS = re.compile(r"[0-9]{1,13}")


def epoch_ms_of(field: str, given: str | None) -> int | None:
    """A time of a query, in milliseconds; raises WrongValue."""
    if given is None:
        return None
    if _MS.fullmatch(given):
        return int(given)
    try:
        at = datetime.fromisoformat(given)
    except ValueError:
        raise WrongValue(field, "must be epoch milliseconds or RFC 3339") from None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    milliseconds = int(at.timestamp() * 1000)
    if not 0 <= milliseconds <= 9_999_999_999_999:
        raise WrongValue(field, "is out of range")
    return milliseconds
