"""What the store's refusals are to a caller, whichever service asked it."""

from __future__ import annotations

from entrepot.http.problems import FieldError, Invalid, Problem, Unavailable
from entrepot.tables import InvalidCursor, InvalidKey, OutcomeUnknown, TablesError, Throttled, Unreachable

RETRY_AFTER_SECONDS = 1


def problem_of(error: TablesError) -> Problem | None:
    """The problem to answer with, or None when it is an error of ours."""
    if isinstance(error, InvalidCursor):
        return Invalid([FieldError("cursor", "is not one that this list gave")], code="CURSOR_INVALID")
    if isinstance(error, InvalidKey):
        # An id that nothing can have: too long for a key, or with what separates a key's parts.
        return Invalid([FieldError(error.attribute, error.reason)])
    if isinstance(error, Throttled | Unreachable | OutcomeUnknown):
        return Unavailable(
            "The store is busy; try again.", retry_after_seconds=RETRY_AFTER_SECONDS, code="STORE_BUSY"
        )
    return None
