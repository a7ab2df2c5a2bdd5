"""What can go wrong with work.

WorkError
├── UnknownKind     work of a kind that no part of this program has declared
├── JobFailed       raised by a job's step: it can't be done, and its owner is told why
└── LeaseLost       the work has been given to another: whatever was to be written with it was not
"""

from __future__ import annotations


class WorkError(Exception):
    """Anything that this package raises on its own account."""


class UnknownKind(WorkError):
    """Work of this kind, or a job or schedule of this name, was not declared."""


class LeaseLost(WorkError):
    """The lease has passed to another worker, or the work is done; nothing was written."""


class JobFailed(WorkError):
    """Ends a job; the message is for its owner."""
