"""What DynamoDB can answer instead of a result.

DynamoError                                    an error type, a message, an HTTP status
├── Validation                                 ValidationException: the request breaks a rule
├── Serialization                              SerializationException: the body is not of the right shape
├── ConditionFailed                            ConditionalCheckFailedException, with the old item when asked
├── TransactionCanceled                        a reason per action
├── Refused                                    every other client error, by its type
├── Throttled                                  try again later: throttling of any kind
└── Internal                                   InternalServerError: the store itself failed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class DynamoError(Exception):
    """An error as DynamoDB answers it: `type` is the name that SDKs map to an exception."""

    status = 400

    def __init__(self, type_: str, message: str) -> None:
        super().__init__(message)
        self.type = type_
        self.message = message

    def __str__(self) -> str:
        return f"{self.type}: {self.message}"


class Validation(DynamoError):
    def __init__(self, message: str) -> None:
        super().__init__("ValidationException", message)


class Serialization(DynamoError):
    def __init__(self, message: str) -> None:
        super().__init__("SerializationException", message)


class ConditionFailed(DynamoError):
    """A condition did not hold; `item` is the old item where the request asked for it."""

    def __init__(self, item: Mapping[str, Any] | None = None) -> None:
        super().__init__("ConditionalCheckFailedException", "The conditional request failed")
        self.item = item


class Reason:
    """Why one action of a transaction did not pass; `code` is "None" for those that did."""

    __slots__ = ("code", "item", "message")

    def __init__(
        self, code: str = "None", message: str | None = None, item: Mapping[str, Any] | None = None
    ) -> None:
        self.code = code
        self.message = message
        self.item = item

    def __repr__(self) -> str:
        return f"Reason({self.code!r}, {self.message!r})"


class TransactionCanceled(DynamoError):
    """A transaction changed nothing; `reasons` has one entry per action, in their order."""

    def __init__(self, reasons: Sequence[Reason]) -> None:
        codes = ", ".join(reason.code for reason in reasons)
        super().__init__(
            "TransactionCanceledException",
            f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        )
        self.reasons = reasons


class Refused(DynamoError):
    """Any other client error, named by its DynamoDB type."""


class Throttled(DynamoError):
    """The request may be sent again later, unchanged."""

    def __init__(self, message: str, type_: str = "ThrottlingException") -> None:
        super().__init__(type_, message)


class Internal(DynamoError):
    status = 500

    def __init__(self, message: str) -> None:
        super().__init__("InternalServerError", message)


def table_not_found(name: str | None = None) -> Refused:
    if name is None:
        return Refused("ResourceNotFoundException", "Requested resource not found")
    return Refused("ResourceNotFoundException", f"Requested resource not found: Table: {name} not found")
