"""Jobs over HTTP: how far they are, and stopping them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar import delete, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery

from entrepot.http.caller import Caller, reader, writer
from entrepot.http.pages import limit_within, page
from entrepot.http.problems import NotFound
from entrepot.work import Job, Work
from entrepot.work.model import JobStatus

PAGE = 20
PAGE_MAX = 100

# Who owns the jobs of the operator's token, which is no person.
OPERATOR = "operator"


class JobView(msgspec.Struct, frozen=True, omit_defaults=False):
    """A job as its owner sees it; `total` is null until it is known."""

    id: str
    kind: str
    status: JobStatus
    total: int | None
    done: int
    failed: int
    message: str | None
    created_at: str
    updated_at: str


def owner_of(caller: Caller) -> str:
    """Under whom a caller's jobs are kept."""
    return caller.user_id or OPERATOR


def view_of(job: Job) -> JobView:
    """A job as the API shows it; services show theirs the same way."""
    return JobView(
        id=job.jobId,
        kind=job.kind,
        status=job.status,
        total=job.total,
        done=job.done,
        failed=job.failed,
        message="It stops after this step." if job.cancelling and job.status == "running" else job.message,
        created_at=job.createdAt,
        updated_at=job.updatedAt,
    )


def job_routes(work: Work) -> list[HTTPRouteHandler]:
    """The routes of jobs, for their owners."""

    @get("/jobs", guards=[reader], tags=["Jobs"], summary="List jobs")
    async def list_jobs(
        caller: NamedDependency[Caller],
        limit: FromQuery[int | None] = None,
        cursor: FromQuery[str | None] = None,
    ) -> dict[str, Any]:
        """The caller's jobs, the latest first; they are kept for 30 days."""
        size = limit_within(limit, default=PAGE, most=PAGE_MAX)
        jobs = work.jobs.jobs.of_owner(owner_of(caller))
        found = await jobs.page(limit=size, cursor=cursor)
        return page("jobs", [view_of(job) for job in found.items], found.cursor)

    @get("/jobs/{job_id:str}", guards=[reader], tags=["Jobs"], summary="How far is a job?")
    async def get_job(caller: NamedDependency[Caller], job_id: FromPath[JobId]) -> JobView:
        """Its status is waiting, running, done, failed or cancelled."""
        job = await work.jobs.jobs.one(owner_of(caller), job_id).get()
        if job is None:
            raise _not_found(job_id)
        return view_of(job)

    @delete("/jobs/{job_id:str}", guards=[writer], tags=["Jobs"], summary="Cancel a job")
    async def cancel_job(caller: NamedDependency[Caller], job_id: FromPath[JobId]) -> None:
        """It stops before its next step; one that has ended stays as it is."""
        if await work.jobs.cancel(owner_of(caller), job_id) is None:
            raise _not_found(job_id)

    return [list_jobs, get_job, cancel_job]


JobId = Annotated[str, msgspec.Meta(max_length=64)]


def _not_found(job_id: str) -> NotFound:
    return NotFound(f"There is no job {job_id} of yours.", code="JOB_NOT_FOUND")
