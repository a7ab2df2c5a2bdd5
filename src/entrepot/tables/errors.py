"""What can go wrong with a declared model.

TablesError
├── DeclarationError        the model is wrong; says the file and the line
│   └── StaleKey            an update would leave an index key behind
├── InvalidValue            a value is wrong: entity, attribute, value; the store was not asked
│   └── InvalidKey          it can't be built into a key
├── ConditionFailed         a write's assumption did not hold; `.item` is the old item
│   ├── AlreadyExists       a `create` found its key taken
│   └── NotFound            a write or `required()` found no item
├── TransactionLost         a transaction changed nothing; says which action failed, and why
│   └── Repeated            the transaction was done before: its `once` record exists
├── Throttled               the store did not take the call before the deadline
├── OutcomeUnknown          the connection broke after a write was sent that can't be repeated safely
├── Unreachable             no answer from the store
├── InvalidCursor           a cursor that this query did not give
├── TooMany                 a list is longer than its declared bound
├── CorruptItem             a stored item does not fit its entity
└── StoreLacks              the store can't do what the models need
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from entrepot.tables.transaction import Action

VALUE_SHOWN_CHARACTERS = 80


class TablesError(Exception):
    """Anything that this library raises on its own account."""


class DeclarationError(TablesError):
    """A model that can't be right, with the place where it was declared."""

    def __init__(self, message: str, *, file: str = "?", line: int = 0) -> None:
        super().__init__(f"{file}:{line}: {message}")
        self.message = message
        self.file = file
        self.line = line


class StaleKey(DeclarationError):
    """An update that would leave an index key behind."""


class InvalidValue(TablesError):
    """A value that its attribute can't hold, found before the store was asked."""

    def __init__(self, entity: str, attribute: str, value: Any, reason: str) -> None:
        super().__init__(f"{entity}.{attribute} = {shown(value)}: {reason}")
        self.entity = entity
        self.attribute = attribute
        self.value = value
        self.reason = reason


class InvalidKey(InvalidValue):
    """A value that can't be built into a key."""


class ConditionFailed(TablesError):
    """A write's assumption did not hold; `item` is the entity as it was found, when there was one."""

    def __init__(self, message: str, item: Any = None) -> None:
        super().__init__(message)
        self.item = item


class AlreadyExists(ConditionFailed):
    """There is an item with this key already."""


class NotFound(ConditionFailed):
    """There is no item with this key."""


class Failure:
    """Why one action of a transaction did not pass."""

    __slots__ = ("action", "code", "item", "message")

    def __init__(self, action: Action, code: str, message: str | None, item: Any) -> None:
        self.action = action
        self.code = code
        self.message = message
        self.item = item

    def __repr__(self) -> str:
        return f"{self.action}: {self.code}"


class TransactionLost(TablesError):
    """A transaction changed nothing; `failures` names the actions that caused it."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        super().__init__("; ".join(repr(failure) for failure in failures))
        self.failures = failures

    def failure_of(self, action: Action) -> Failure | None:
        """Why this action failed, or None when it was not the cause."""
        return next((failure for failure in self.failures if failure.action is action), None)


class Repeated(TransactionLost):
    """The transaction was done before; `record` is what it left then."""

    def __init__(self, failures: Sequence[Failure], record: Any) -> None:
        super().__init__(failures)
        self.record = record


class Throttled(TablesError):
    """The store did not take the call before the deadline: try again later."""


class OutcomeUnknown(TablesError):
    """The answer to a write was lost, and sending it again could do it twice."""


class Unreachable(TablesError):
    """No answer came; `sent` says whether the store may have acted on the request."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class InvalidCursor(TablesError):
    """This cursor was not given by this query."""


class TooMany(TablesError):
    """A list is longer than the bound that its pattern declares."""


class ScanRefused(TablesError):
    """A request would read a table without saying a key."""


class CorruptItem(TablesError):
    """A stored item does not fit the entity that its key names."""


class StoreLacks(TablesError):
    """The store can't do what the models need."""


def shown(value: Any) -> str:
    """A value for a message, cut to a bearable length."""
    text = repr(value)
    return text if len(text) <= VALUE_SHOWN_CHARACTERS else f"{text[:VALUE_SHOWN_CHARACTERS]}…"
