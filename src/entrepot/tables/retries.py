"""Retries: what may be sent again, how long to wait, and when to give up."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

from entrepot.engine import errors as dynamo
from entrepot.tables.errors import OutcomeUnknown, Throttled, Unreachable

DEADLINE_SECONDS = 10.0
DELAY_SECONDS_FIRST = 0.025
DELAY_SECONDS_MAX = 1.0

# Refusals that say "not now", beside throttling proper.
_LATER = {
    "TransactionConflictException",
    "TransactionInProgressException",
    "LimitExceededException",
    "ServiceUnavailable",
}
_LATER_REASONS = {"None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}

Sleep = Callable[[float], Awaitable[Any]]


class Deadline:
    """Waits between tries with full jitter, until the deadline."""

    def __init__(self, *, seconds: float = DEADLINE_SECONDS, sleep: Sleep = asyncio.sleep) -> None:
        self._sleep = sleep
        self._seconds = seconds
        self._ends = time.monotonic() + seconds
        self._waited = 0.0
        self._tries = 0

    async def wait(self, what: str, cause: Exception | None) -> None:
        """Wait for the next try, or raise Throttled when the time is up."""
        ceiling = min(DELAY_SECONDS_MAX, DELAY_SECONDS_FIRST * 2**self._tries)
        delay = random.uniform(0, ceiling)  # noqa: S311 - jitter, not a secret.
        self._tries += 1
        self._waited += ceiling
        if self._waited > self._seconds or time.monotonic() + delay > self._ends:
            message = f"{what}: not taken in {self._seconds} s and {self._tries} tries"
            raise Throttled(f"{message}: {cause}" if cause else message) from cause
        await self._sleep(delay)


def is_later(error: Exception) -> bool:
    """Whether the same request may pass if sent again, and has certainly not been done."""
    if isinstance(error, dynamo.Throttled):
        return True
    if isinstance(error, dynamo.TransactionCanceled):
        return all(reason.code in _LATER_REASONS for reason in error.reasons)
    if isinstance(error, Unreachable):
        return not error.sent
    return isinstance(error, dynamo.Refused) and error.type in _LATER


def is_lost(error: Exception) -> bool:
    """Whether the request may have been done although no answer says so."""
    return isinstance(error, dynamo.Internal) or (isinstance(error, Unreachable) and error.sent)


class Unsettled(Exception):
    """A condition failed, but an earlier try of the same write may have been the one that made it fail."""

    def __init__(self, failed: dynamo.ConditionFailed) -> None:
        super().__init__(str(failed))
        self.failed = failed


async def send(
    call: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]],
    operation: str,
    request: dict[str, Any],
    error: Exception,
    deadline: Deadline,
    *,
    repeatable: bool,
) -> dict[str, Any]:
    """Send again after an error; raises Unsettled when a condition fails after an answer was lost."""
    lost = False
    while True:
        if is_lost(error):
            lost = True
            if not repeatable:
                raise OutcomeUnknown(f"{operation}: {error}") from error
        elif not is_later(error):
            raise error
        await deadline.wait(operation, error)
        try:
            return await call(operation, request)
        except dynamo.ConditionFailed as failed:
            if not lost:
                raise
            raise Unsettled(failed) from None
        except (dynamo.DynamoError, Unreachable) as again:
            error = again
