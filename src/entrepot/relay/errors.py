"""What can go wrong in the relay.

RelayError
├── NotFound             there is no such source, connection, event …, or it is someone else's
├── Changed              another change came between; nothing was written
├── WrongValue           a field is wrong; says which and why
├── PlanLimit            the owner's plan has no room for it
├── Rejected             a request of a sender was not taken; `cause` says why
└── TransformFailed      an event can't be reshaped as its connection says
"""

from __future__ import annotations


class RelayError(Exception):
    """Anything that the relay raises on its own account."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class NotFound(RelayError):
    def __init__(self, noun: str, id_: str) -> None:
        super().__init__(f"There is no {noun} {id_[:64]} of yours.", code=f"{noun.upper()}_NOT_FOUND")


class Changed(RelayError):
    def __init__(self, noun: str, id_: str) -> None:
        super().__init__(f"The {noun} {id_} was changed at the same moment; look again.", code="CHANGED")


class WrongValue(RelayError):
    def __init__(self, field: str, complaint: str) -> None:
        super().__init__(f"{field}: {complaint}", code="INVALID")
        self.field = field
        self.complaint = complaint


class PlanLimit(RelayError):
    def __init__(self, message: str) -> None:
        super().__init__(message, code="PLAN_LIMIT_REACHED")


class Rejected(RelayError):
    """`cause` is a short word that is kept with the rejection."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message, code="SIGNATURE_INVALID")
        self.cause = cause


class TransformFailed(RelayError):
    def __init__(self, message: str) -> None:
        super().__init__(message, code="TRANSFORM_FAILED")
