"""Kinds of work: what is done, how much of it at once, and how long it may take."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from msgspec import Struct

from entrepot.work.claims import Lease
from entrepot.work.model import WorkItem
from entrepot.work.outcomes import Outcome

CONCURRENCY = 16
LEASE_SECONDS = 30.0
ATTEMPTS_MAX = 20
SHARDS_MAX = 64

_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,63}")

Handler = Callable[[WorkItem, Lease], Awaitable[Outcome]]


class Kind(Struct, frozen=True, kw_only=True):
    """One kind of work, as its part declared it; every process must declare the same number of shards."""

    name: str
    handler: Handler
    concurrency: int
    key_concurrency: int
    lease_seconds: float
    attempts_max: int | None
    shards: int

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"the kind {self.name!r}: a name has up to 64 of a-z 0-9 _ . -, a letter first")
        if min(self.concurrency, self.key_concurrency) < 1 or self.lease_seconds <= 0:
            raise ValueError(f"the kind {self.name}: concurrency and lease are more than 0")
        if not 1 <= self.shards <= SHARDS_MAX:
            raise ValueError(f"the kind {self.name}: 1 to {SHARDS_MAX} shards, not {self.shards}")

    @property
    def lease_ms(self) -> int:
        return round(self.lease_seconds * 1000)
