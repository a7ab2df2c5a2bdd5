"""Jobs: work with progress, done in steps that leave a cursor, and cancelled between them."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from entrepot.ids import Ulids
from entrepot.log import fields
from entrepot.tables import Change, ConditionFailed, Transaction, attr
from entrepot.work import rules
from entrepot.work.claims import Lease
from entrepot.work.errors import JobFailed, LeaseLost, UnknownKind
from entrepot.work.model import JOB_SECONDS, Job, Jobs, JobStatus, WorkItem
from entrepot.work.outcomes import DONE, Again, Outcome, cut

if TYPE_CHECKING:
    from entrepot.work.service import Work

JOB = "work.job"
# A job gives its slot to others after this time, and goes on after them.
TURN_SECONDS = 10.0
STEP_TRIES_MAX = 10
UNKNOWN_MS = 60_000
ENDED = ("done", "failed", "cancelled")

log = logging.getLogger(__name__)


class Step(Struct, frozen=True, kw_only=True):
    """What a step did: counts are added to the job's, the cursor is what the next step begins from."""

    cursor: Any = None
    done: int = 0
    failed: int = 0
    total: int | None = None
    message: str | None = None
    finished: bool = False


StepFunction = Callable[[Job, Lease], Awaitable[Step]]


class JobRunner:
    """Starts, runs, shows and cancels jobs."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._kinds: dict[str, StepFunction] = {}
        self._ulids = Ulids()
        self.jobs = Jobs(work.db)

    def handle(self, kind: str, step: StepFunction) -> None:
        """Declare a kind of job by its step.

        A step does a bounded part (under a minute, or it renews the lease) from `job.cursor` on, and may be run again
        when the process dies in it. What it adds to the lease's transaction happens once, with its progress.
        """
        if kind in self._kinds:
            raise ValueError(f"the job {kind} is declared twice")
        self._kinds[kind] = step

    def start(
        self,
        transaction: Transaction,
        *,
        kind: str,
        owner: str,
        arguments: Mapping[str, Any] | None = None,
        total: int | None = None,
    ) -> Job:
        """Add a job to a transaction; an owner's jobs share two slots, so that nobody waits long for another's."""
        if kind not in self._kinds:
            raise UnknownKind(f"no part has declared the job {kind!r}")
        clock = self._work.clock
        job = Job(
            jobId=f"job_{self._ulids.make(clock.epoch_ms())}",
            owner=owner,
            kind=kind,
            arguments=dict(arguments or {}),
            total=total,
            createdAt=clock.stamp(),
            updatedAt=clock.stamp(),
            expiresAt=clock.epoch_seconds() + JOB_SECONDS,
        )
        transaction.create(job)
        self._work.put(transaction, kind=JOB, subject=job.jobId, arguments={"owner": owner}, key=owner)
        return job

    async def cancel(self, owner: str, job_id: str) -> Job | None:
        """Stop a job before its next step; one that has ended stays as it is. None when there is no such job."""
        target = self.jobs.one(owner, job_id)
        if await target.get() is None:
            return None
        try:
            return await self._work.db.update(
                target,
                attr(Job.cancelling).set(True),
                when=attr(Job.status).one_of(["waiting", "running"]),
            )
        except ConditionFailed:
            return await target.get()

    async def run(self, item: WorkItem, lease: Lease) -> Outcome:
        """Do steps of one job until it ends or its turn does."""
        target = self.jobs.one(str(item.arguments["owner"]), item.subject or "")
        job = await target.get()
        if job is None or job.status in ENDED:
            return DONE
        step = self._kinds.get(job.kind)
        if step is None:
            return Again(self._now() + UNKNOWN_MS, "not known to the process that met it", counts=False)
        if job.status == "waiting" and not job.cancelling:
            job = await self._work.db.update(target, attr(Job.status).set("running"))
        until = time.monotonic() + TURN_SECONDS
        while True:
            if job.cancelling:
                return self._end(job, lease, "cancelled", job.message)
            if item.attempts > STEP_TRIES_MAX:
                return self._end(job, lease, "failed", job.message or "The job did not get on.")
            try:
                did = await step(job, lease)
                if did.finished:
                    self._advance(job, did, lease, "done")
                    return DONE
                over = time.monotonic() >= until
                self._advance(job, did, lease, "waiting" if over else "running")
                if over:
                    return Again(self._now(), counts=False)
                await lease.checkpoint()
            except LeaseLost:
                raise
            except JobFailed as failed:
                return self._end(job, lease, "failed", str(failed))
            except Exception as error:
                # The edge of a step: its owner sees that it is tried again, the log says why.
                return self._stumble(job, lease, error)
            job = await target.required()

    def _advance(self, job: Job, did: Step, lease: Lease, status: JobStatus) -> None:
        changes = [
            attr(Job.status).set(status),
            attr(Job.cursor).set(did.cursor),
            attr(Job.steps).set(job.steps + 1),
            attr(Job.done).set(job.done + did.done),
            attr(Job.failed).set(job.failed + did.failed),
            attr(Job.message).set(cut(did.message)),
            attr(Job.updatedAt).set(self._work.clock.stamp()),
        ]
        if did.total is not None:
            changes.append(attr(Job.total).set(did.total))
        self._change(job, lease, changes)

    def _end(self, job: Job, lease: Lease, status: JobStatus, message: str | None) -> Outcome:
        lease.drop_effects()
        stamp = self._work.clock.stamp()
        changes = [attr(Job.status).set(status), attr(Job.updatedAt).set(stamp)]
        self._change(job, lease, [*changes, attr(Job.message).set(cut(message))])
        return DONE

    def _stumble(self, job: Job, lease: Lease, error: Exception) -> Outcome:
        attempts = lease.item.attempts
        log.error("a job's step failed", exc_info=error, extra=fields(job=job.jobId, kind=job.kind))
        if attempts >= STEP_TRIES_MAX:
            message = f"A step failed {attempts} times; the log has it under {job.jobId}."
            return self._end(job, lease, "failed", message)
        message = f"A step failed and is tried again (attempt {attempts} of {STEP_TRIES_MAX})."
        self._end(job, lease, "waiting", message)
        return Again(self._now() + rules.retry_ms(attempts), f"{type(error).__name__}: {error}")

    def _change(self, job: Job, lease: Lease, changes: list[Change]) -> None:
        # On condition of the step count, so that no step is counted twice.
        target = self.jobs.one(job.owner, job.jobId)
        lease.transaction.update(target, *changes, when=attr(Job.steps) == job.steps)

    def _now(self) -> int:
        return self._work.clock.epoch_ms()
