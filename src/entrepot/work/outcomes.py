"""How an attempt at work can end; what the handler added to the lease's transaction happens with it."""

from __future__ import annotations

from msgspec import Struct

REASON_CHARACTERS_MAX = 1000


class Done(Struct, frozen=True):
    """The work is done, and removed."""


class Again(Struct, frozen=True):
    """Try again at this time. An attempt that `counts` brings the work nearer to being given up."""

    at_ms: int
    reason: str | None = None
    counts: bool = True


class Held(Struct, frozen=True):
    """Wait until the key is released.

    Add to the transaction a check of what the key stands for (the connection is still paused), or work that is
    being held while its key is released would wait for the next release.
    """

    key: str


class Failed(Struct, frozen=True):
    """Give up; the work is kept for a week to be looked at."""

    reason: str


Outcome = Done | Again | Held | Failed

DONE = Done()


def cut(reason: str | None) -> str | None:
    """A reason in the length that is kept."""
    return reason if reason is None else reason[:REASON_CHARACTERS_MAX]
