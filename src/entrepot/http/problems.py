"""What an answer says when it can't be what was asked for (RFC 9457).

Problem                    any status, with a stable CODE
├── Invalid                400, with the fields that are wrong
├── Unauthenticated        401
├── Forbidden              403
├── NotFound               404
├── MethodNotAllowed       405, with the methods that are
├── Conflict               409
├── BodyTooLarge           413
├── WrongType              415
├── TooMany                429, with when to come back
└── Unavailable            503, with when to come back
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

MEDIA_TYPE = "application/problem+json"

# The codes of errors that no service has a word of its own for.
CODES = {
    400: "BAD_REQUEST",
    401: "UNAUTHENTICATED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    408: "REQUEST_TIMEOUT",
    409: "CONFLICT",
    413: "BODY_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    429: "TOO_MANY_REQUESTS",
    431: "HEADERS_TOO_LARGE",
    500: "INTERNAL_ERROR",
    503: "UNAVAILABLE",
    504: "TIMEOUT",
}


class FieldError(msgspec.Struct, frozen=True):
    """What is wrong with one field; `field` is its path, as in `readings[0].batch_id`."""

    field: str
    message: str


class Problem(Exception):
    """An answer that is an error; raise it anywhere in a request."""

    status = 400

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        status: int | None = None,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status or self.status
        self.code = code or CODES.get(self.status, "ERROR")
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        self.more = dict(more or {})


class Invalid(Problem):
    def __init__(self, errors: Sequence[FieldError], message: str = "", *, code: str = "INVALID") -> None:
        text = message or "; ".join(f"{error.field}: {error.message}" for error in errors)
        super().__init__(text, code=code, errors=errors)


class Unauthenticated(Problem):
    status = 401

    def __init__(self, message: str = "Sign in, or send a key.", *, code: str | None = None) -> None:
        super().__init__(message, code=code, headers={"WWW-Authenticate": "Bearer"})


class Forbidden(Problem):
    status = 403


class NotFound(Problem):
    status = 404


class MethodNotAllowed(Problem):
    status = 405

    def __init__(self, method: str, allowed: Iterable[str]) -> None:
        names = ", ".join(sorted(allowed))
        super().__init__(f"{method} is not possible here; {names} is.", headers={"Allow": names})


class Conflict(Problem):
    status = 409


class BodyTooLarge(Problem):
    status = 413

    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"The body is larger than {bytes_max} bytes.")


class WrongType(Problem):
    status = 415

    def __init__(self, given: str, expected: str) -> None:
        super().__init__(
            f"The body is {given or 'of no type'}; {expected} is expected.", headers={"Accept": expected}
        )


class TooMany(Problem):
    status = 429

    def __init__(self, message: str, *, retry_after_seconds: int, code: str | None = None) -> None:
        super().__init__(message, code=code, headers={"Retry-After": str(retry_after_seconds)})


class Unavailable(Problem):
    status = 503

    def __init__(self, message: str, *, retry_after_seconds: int = 1, code: str | None = None) -> None:
        super().__init__(message, code=code, headers={"Retry-After": str(retry_after_seconds)})


def internal() -> Problem:
    """The problem of an error that is ours; what it was is in the log alone."""
    return Problem("Something went wrong on our side; the log has it under this request id.", status=500)


def document(problem: Problem, *, request_id: str, instance: str) -> bytes:
    """The problem as the body of an answer."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": title_of(problem.status),
        "status": problem.status,
        "detail": problem.message,
        "instance": instance,
        "error": problem.code,
        "message": problem.message,
        "request_id": request_id,
        **problem.more,
    }
    if problem.errors:
        body["errors"] = problem.errors
    return msgspec.json.encode(body)


def title_of(status: int) -> str:
    """The standard words of a status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
