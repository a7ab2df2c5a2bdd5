"""What can go wrong in the fleet, in its own words; `api.py` makes problems of them.

FleetError
├── Unavailable        PostgreSQL can't be used now; it heals by itself
│   └── NotMigrated    the database holds a legacy fleet that nobody has migrated yet
├── NotFound           no such project, board or event of this caller
├── Taken              a name or a number that is in use
├── Exhausted          no id or number is left
├── Refused            what the state of things does not allow
└── WrongValue         a value that breaks a rule, with its field
"""

from __future__ import annotations


class FleetError(Exception):
    """Anything that the fleet refuses or can't do; the message is for the caller."""

    code = "FLEET_ERROR"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code


class Unavailable(FleetError):
    code = "FLEET_UNAVAILABLE"


class NotMigrated(Unavailable):
    code = "FLEET_NOT_MIGRATED"


class NotFound(FleetError):
    code = "NOT_FOUND"


class Taken(FleetError):
    code = "TAKEN"


class Exhausted(FleetError):
    code = "EXHAUSTED"


class Refused(FleetError):
    code = "REFUSED"


class WrongValue(FleetError):
    code = "INVALID"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.complaint = message
