"""Schedules: work that is due again and again, once at a time however many processes there are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from entrepot.tables import AlreadyExists, ConditionFailed, attr
from entrepot.work import rules
from entrepot.work.claims import Lease
from entrepot.work.errors import UnknownKind
from entrepot.work.model import WorkItem
from entrepot.work.outcomes import Again, Outcome

if TYPE_CHECKING:
    from entrepot.work.service import Work

SCHEDULE = "work.schedule"
# When a process that does not know a schedule met it, another will.
UNKNOWN_MS = 60_000

Run = Callable[[Lease], Awaitable[None]]


class Schedule(Struct, frozen=True, kw_only=True):
    """One of them: what is done, and when."""

    name: str
    run: Run
    every_ms: int
    offset_ms: int


class Schedules:
    """All schedules of the program."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._known: dict[str, Schedule] = {}

    def every(self, name: str, run: Run, *, seconds: float, offset_seconds: float = 0.0) -> None:
        """Run this on a grid of times: each multiple of `seconds` since 1970, moved by the offset.

        A time that was missed is made up for once. Effects added to the lease's transaction are written with the next
        due time; long ones renew the lease.
        """
        if name in self._known:
            raise ValueError(f"the schedule {name} is declared twice")
        if seconds <= 0:
            raise ValueError(f"the schedule {name}: every {seconds} s is no period")
        self._known[name] = Schedule(
            name=name, run=run, every_ms=round(seconds * 1000), offset_ms=round(offset_seconds * 1000)
        )

    async def ensure(self) -> None:
        """Put what is not there yet, and move what was declared with another period."""
        for schedule in self._known.values():
            await self._ensure(schedule)

    async def run(self, item: WorkItem, lease: Lease) -> Outcome:
        """Run one that is due, and be due again at its next time."""
        schedule = self._known.get(item.subject or "")
        if schedule is None:
            return Again(self._now() + UNKNOWN_MS, "not known to the process that met it", counts=False)
        await schedule.run(lease)
        return Again(self._next(schedule), counts=False)

    async def _ensure(self, schedule: Schedule) -> None:
        item = self._item(schedule)
        try:
            await self._work.db.create(item)
            return
        except AlreadyExists as exists:
            found = exists.item
        if not isinstance(found, WorkItem) or found.arguments == item.arguments:
            return
        try:
            await self._work.db.put(item, when=attr(WorkItem.leaseId) == None)  # noqa: E711
        except ConditionFailed:
            # It runs just now, by the old period; the next start moves it.
            return

    def _item(self, schedule: Schedule) -> WorkItem:
        id_ = f"schedule.{schedule.name}"
        return WorkItem(
            workId=id_,
            kind=SCHEDULE,
            duePk=rules.due_pk(SCHEDULE, 0),
            dueSk=rules.due_sk(self._next(schedule), id_),
            subject=schedule.name,
            arguments={"everyMs": schedule.every_ms, "offsetMs": schedule.offset_ms},
        )

    def _next(self, schedule: Schedule) -> int:
        return rules.next_run_ms(self._now(), every_ms=schedule.every_ms, offset_ms=schedule.offset_ms)

    def _now(self) -> int:
        return self._work.clock.epoch_ms()

    def known(self, name: str) -> Schedule:
        """A schedule by its name."""
        found = self._known.get(name)
        if found is None:
            raise UnknownKind(f"no part has declared the schedule {name!r}")
        return found
