"""What can go wrong in telemetry, in its own words.

TelemetryError
├── Unknown         no such device, reading, key or alert of this caller: 404
├── Taken           the device belongs to somebody else: 409
├── Full            there are as many as there may be: 409
├── Unfit           a value that breaks a rule, with its field: 400, or the rejection of one reading
└── BadKey          a device's key is missing, unknown or revoked: 401
"""

from __future__ import annotations

from entrepot.http.problems import Conflict, FieldError, Invalid, NotFound, Problem, Unauthenticated


class TelemetryError(Exception):
    """Anything that telemetry refuses; the message is for the caller."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Unknown(TelemetryError):
    pass


class Taken(TelemetryError):
    def __init__(self, hardware_id: str) -> None:
        super().__init__("DEVICE_TAKEN", f"The device {hardware_id} belongs to somebody else.")


class Full(TelemetryError):
    pass


class BadKey(TelemetryError):
    pass


class Unfit(TelemetryError):
    def __init__(self, code: str, field: str, message: str) -> None:
        super().__init__(code, f"{field}: {message}" if field else message)
        self.field = field
        self.complaint = message


def device_not_found(hardware_id: str) -> Unknown:
    return Unknown("DEVICE_NOT_FOUND", f"There is no device {hardware_id} of yours.")


def problem_of(error: TelemetryError) -> Problem:
    """The answer that says so."""
    if isinstance(error, Unknown):
        return NotFound(error.message, code=error.code)
    if isinstance(error, Taken | Full):
        return Conflict(error.message, code=error.code)
    if isinstance(error, BadKey):
        return Unauthenticated(error.message, code=error.code)
    if isinstance(error, Unfit) and error.field:
        return Invalid([FieldError(error.field, error.complaint)], code=error.code)
    return Problem(error.message, code=error.code)
