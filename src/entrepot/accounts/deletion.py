"""Deleting an account with everything of it: a job of steps, each of which may be run again from any point.

accounts.deletion.register("telemetry", clean_up)

async def clean_up(leaving: Leaving, cursor: Any) -> Cleared:
    ...                                             # a bounded part, from the cursor on
    return Cleared(count=25, cursor=next_cursor)    # None: nothing is left
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from entrepot.accounts import rules
from entrepot.accounts.errors import AccountChanged, DeletionNotFound
from entrepot.accounts.keys import KeyRing
from entrepot.accounts.model import Deletion, Deletions, Installation, Installations, User, UserId, Users
from entrepot.accounts.sessions import SessionBook
from entrepot.accounts.trail import Trail
from entrepot.tables import Database, TransactionLost, attr
from entrepot.work import DONE, Job, Lease, Outcome, Step, Work, WorkItem

JOB = "accounts.delete"
SWEEP = "accounts.sweep"
# By then every index shows what was written before the account was closed.
SWEEP_AFTER_MS = 60_000
REPORT_SECONDS = 30 * 24 * 3600
TOKEN_BYTES = 32


class Leaving(msgspec.Struct, frozen=True):
    """Whose things are to be deleted."""

    userId: UserId
    uuid: str | None = None


class Cleared(msgspec.Struct, frozen=True):
    """How much a call deleted, and where the next goes on; without a cursor nothing is left."""

    count: int = 0
    cursor: Any = None


CleanUp = Callable[[Leaving, Any], Awaitable[Cleared]]


class Place(msgspec.Struct):
    """How far a deletion is; the job's cursor."""

    step: str
    at: Any = None
    counts: dict[str, int] = {}


class AccountDeletion:
    """Begins deletions, and runs the steps that services register."""

    def __init__(
        self, db: Database, work: Work, *, sessions: SessionBook, keys: KeyRing, trail: Trail
    ) -> None:
        self._db = db
        self._work = work
        self._users = Users(db)
        self._deletions = Deletions(db)
        self._installations = Installations(db)
        self._sessions = sessions
        self._keys = keys
        self._trail = trail
        self._services: dict[str, CleanUp] = {}
        # Ours come last, so that a service can still ask who it was.
        self._own: dict[str, CleanUp] = {"keys": self._end_keys, "sessions": self._end_sessions}
        self._own["audit"] = self._forget_trail
        work.jobs.handle(JOB, self._step)
        work.handle(SWEEP, self._sweep)

    def register(self, name: str, clean_up: CleanUp) -> None:
        """Have a service delete what it keeps of a user, in the order of registration."""
        if name in self._services or name in self._own:
            raise ValueError(f"the deletion step {name} is registered twice")
        self._services[name] = clean_up

    async def begin(self, user: User) -> tuple[Job, str]:
        """Close the account at once and delete it from now on; the token shows how far that is."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        leaving = Leaving(user.userId, user.uuid)
        try:
            async with self._db.transaction() as t:
                t.update(
                    self._users.one(user.userId),
                    attr(User.deletingAt).set(self._db.clock.stamp()),
                    attr(User.generation).set(user.generation + 1),
                    when=(attr(User.generation) == user.generation) & attr(User.deletingAt).absent(),
                )
                job = self._work.jobs.start(
                    t, kind=JOB, owner=user.userId, arguments=msgspec.to_builtins(leaving)
                )
                t.create(
                    Deletion(
                        deletionId=rules.digest(token),
                        userId=user.userId,
                        uuid=user.uuid,
                        jobId=job.jobId,
                        expiresAtUtc=self._db.now() + REPORT_SECONDS,
                    )
                )
        except TransactionLost:
            raise AccountChanged from None
        return job, token

    async def progress(self, token: str) -> Job:
        """The job of a deletion, which ends with the report."""
        _, job = await self._find(token)
        return job

    async def again(self, token: str) -> Job:
        """Run a deletion again that failed; one that has not is left alone."""
        deletion, job = await self._find(token)
        if job.status not in ("failed", "cancelled"):
            return job
        leaving = Leaving(deletion.userId, deletion.uuid)
        try:
            async with self._db.transaction() as t:
                job = self._work.jobs.start(
                    t, kind=JOB, owner=deletion.userId, arguments=msgspec.to_builtins(leaving)
                )
                t.update(
                    deletion, attr(Deletion.jobId).set(job.jobId), when=attr(Deletion.jobId) == deletion.jobId
                )
        except TransactionLost:
            # Another asked at the same moment; that one's job is the job.
            return await self.progress(token)
        return job

    async def _find(self, token: str) -> tuple[Deletion, Job]:
        deletion = await self._deletions.one(rules.digest(token))
        job = await self._work.jobs.jobs.one(deletion.userId, deletion.jobId) if deletion else None
        if deletion is None or job is None:
            raise DeletionNotFound
        return deletion, job

    # -- the job

    async def _step(self, job: Job, lease: Lease) -> Step:
        leaving = msgspec.convert(job.arguments, Leaving)
        steps = {**self._services, **self._own}
        names = list(steps)
        place = msgspec.convert(job.cursor, Place) if job.cursor else Place(names[0])
        if place.step not in steps:
            # The program has changed meanwhile; every step can be run again.
            place = Place(names[0], counts=place.counts)
        cleared = await steps[place.step](leaving, place.at)
        place.counts[place.step] = place.counts.get(place.step, 0) + cleared.count
        place.at = cleared.cursor
        if cleared.cursor is None:
            following = names.index(place.step) + 1
            if following == len(names):
                await self._end_account(leaving, lease)
                place.counts["account"] = 1
                return Step(done=cleared.count + 1, finished=True, message=_report(place.counts))
            place.step = names[following]
        return Step(cursor=msgspec.to_builtins(place), done=cleared.count, message=_report(place.counts))

    async def _end_keys(self, leaving: Leaving, _: Any) -> Cleared:
        return Cleared(await self._keys.end_all(leaving.userId))

    async def _end_sessions(self, leaving: Leaving, _: Any) -> Cleared:
        return Cleared(await self._sessions.sweep(leaving.userId))

    async def _forget_trail(self, leaving: Leaving, cursor: Any) -> Cleared:
        page = await self._trail.forget(leaving.userId, cursor)
        return Cleared(len(page.items), page.cursor)

    async def _end_account(self, leaving: Leaving, lease: Lease) -> None:
        """The user and its guards go in the transaction that ends the job."""
        user = await self._users.one(leaving.userId)
        if user is not None:
            lease.transaction.delete(user)
            if user.role == "operator":
                # The next start offers the first link again.
                mine = attr(Installation.userId) == user.userId
                lease.transaction.delete(self._installations.one(), when=mine)
        due = self._db.clock.epoch_ms() + SWEEP_AFTER_MS
        self._work.put(lease.transaction, kind=SWEEP, subject=leaving.userId, due_at_ms=due)

    async def _sweep(self, item: WorkItem, _: Lease) -> Outcome:
        await self._sessions.sweep(UserId(item.subject or ""))
        return DONE


def _report(counts: dict[str, int]) -> str:
    return "Deleted: " + ", ".join(f"{name} {count}" for name, count in counts.items())
