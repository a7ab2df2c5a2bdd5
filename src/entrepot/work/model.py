"""`entrepot-work`: what must still happen, what could not be done, jobs, and the answers of repeated calls."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from entrepot.tables import (
    Access,
    Entity,
    Index,
    Item,
    Many,
    Table,
    Update,
    attr,
    begins_with,
    between,
    item,
    query,
    update,
)

FAILED_SECONDS = 7 * 24 * 3600
JOB_SECONDS = 30 * 24 * 3600
IDEMPOTENCY_SECONDS = 24 * 3600
DEPTH_MAX = 10_000
JOBS_MAX = 1000

JobStatus = Literal["waiting", "running", "done", "failed", "cancelled"]

work = Table(
    "entrepot-work",
    "PK SK",
    # Work that is not due again, jobs and records have no place in it.
    indexes={"due": Index("duePk dueSk", project="KEYS_ONLY")},
    ttl="expiresAt",
    transactions=True,
)


@work.entity(PK="WORK#{workId}", SK="WORK")
class WorkItem(Entity):
    """Something that must still happen; `duePk` and `dueSk` are its place in the index, made by `rules`."""

    workId: str
    kind: str
    duePk: str
    dueSk: str
    subject: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    attempts: int = 0
    leaseId: str | None = None
    reason: Annotated[str, Meta(max_length=1000)] | None = None


class Place(Struct, frozen=True):
    """All that the index tells of work."""

    duePk: str
    dueSk: str


class WorkItems(Access[WorkItem]):
    def one(self, workId: str) -> Item[WorkItem]:
        """Get work by its id."""
        return item()

    def places_between(self, duePk: str, low: str, high: str) -> Many[Place]:
        """List the places of a partition, the earliest first."""
        return query(duePk=f"{duePk}", dueSk=between(f"{low}", f"{high}"), at_most=DEPTH_MAX)

    def claimed(self, workId: str, duePk: str, dueUntil: str, leaseId: str, leaseSk: str) -> Update[WorkItem]:
        """Take work that is still due, until the lease ends."""
        return update(
            attr(WorkItem.leaseId).set(leaseId),
            attr(WorkItem.dueSk).set(leaseSk),
            attr(WorkItem.attempts).add(1),
            when=(attr(WorkItem.duePk) == duePk) & (attr(WorkItem.dueSk) <= dueUntil),
        )

    def renewed(self, workId: str, leaseId: str, leaseSk: str) -> Update[WorkItem]:
        """Move the end of a lease."""
        return update(attr(WorkItem.dueSk).set(leaseSk), when=attr(WorkItem.leaseId) == leaseId)

    def progressed(self, workId: str, leaseId: str, leaseSk: str) -> Update[WorkItem]:
        """Move the end of a lease after a part of the work was done: attempts count from there."""
        return update(
            attr(WorkItem.dueSk).set(leaseSk),
            attr(WorkItem.attempts).set(1),
            when=attr(WorkItem.leaseId) == leaseId,
        )

    def placed(
        self, workId: str, leaseId: str, duePk: str, dueSk: str, attempts: int, reason: str | None
    ) -> Update[WorkItem]:
        """Give work back to the index: due again, or held."""
        return update(
            attr(WorkItem.duePk).set(duePk),
            attr(WorkItem.dueSk).set(dueSk),
            attr(WorkItem.attempts).set(attempts),
            attr(WorkItem.reason).set(reason),
            attr(WorkItem.leaseId).remove(),
            when=attr(WorkItem.leaseId) == leaseId,
        )

    def released(self, workId: str, heldPk: str, duePk: str, dueSk: str) -> Update[WorkItem]:
        """Make held work due."""
        return update(
            attr(WorkItem.duePk).set(duePk),
            attr(WorkItem.dueSk).set(dueSk),
            when=attr(WorkItem.duePk) == heldPk,
        )


@work.entity(PK="FAILED#{kind}", SK="{failedAtMs:013}#{workId}")
class FailedWork(Entity):
    """Work that was given up, kept for a week."""

    workId: str
    kind: str
    failedAtMs: int
    subject: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    attempts: int
    reason: Annotated[str, Meta(max_length=1000)]
    expiresAt: int


class FailedWorks(Access[FailedWork]):
    def one(self, kind: str, failedAtMs: int, workId: str) -> Item[FailedWork]:
        """Get failed work by all of its key."""
        return item()

    def of_kind(self, kind: str) -> Many[FailedWork]:
        """List failed work of a kind, the latest first."""
        return query(PK=f"FAILED#{kind}", descending=True)


@work.entity(PK="JOBS#{owner}", SK="JOB#{jobId}")
class Job(Entity):
    """Work with progress; `owner` is who may see and cancel it."""

    jobId: Annotated[str, Meta(pattern=r"^job_[0-9A-Z]{26}$")]
    owner: str
    kind: str
    status: JobStatus = "waiting"
    arguments: dict[str, Any] = field(default_factory=dict)
    cursor: Any = None
    total: int | None = None
    done: int = 0
    failed: int = 0
    message: Annotated[str, Meta(max_length=1000)] | None = None
    steps: int = 0
    cancelling: bool = False
    createdAt: str
    updatedAt: str
    expiresAt: int


class Jobs(Access[Job]):
    def one(self, owner: str, jobId: str) -> Item[Job]:
        """Get a job of its owner."""
        return item()

    def of_owner(self, owner: str) -> Many[Job]:
        """List the jobs of an owner, the latest first."""
        return query(PK=f"JOBS#{owner}", SK=begins_with("JOB#"), descending=True, at_most=JOBS_MAX)


@work.entity(PK="IDEMPOTENCY#{caller}#{key}", SK="IDEMPOTENCY")
class IdempotencyRecord(Entity):
    """A call that was made with an Idempotency-Key, and its answer once there is one."""

    caller: str
    key: str
    fingerprint: str
    leaseId: str | None = None
    leaseUntilMs: int = 0
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    expiresAt: int


class IdempotencyRecords(Access[IdempotencyRecord]):
    def one(self, caller: str, key: str) -> Item[IdempotencyRecord]:
        """Get the record of a caller's key."""
        return item()
