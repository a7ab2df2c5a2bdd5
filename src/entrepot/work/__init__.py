"""What must still happen, kept beside what happened: due lists, leases, retries, jobs, schedules.

work = Work(db)
work.handle("relay.deliver", deliver, concurrency=64, key_concurrency=8)

async with db.transaction() as t:
    t.create(event)
    work.put(t, kind="relay.deliver", subject=event.eventId, key=connectionId)

async def deliver(item: WorkItem, lease: Lease) -> Outcome:
    answer = await send(item.subject)
    lease.transaction.create(Attempt(...))    # happens with the outcome, or not at all
    return DONE if answer.ok else Again(at_ms, "503 from the destination")
"""

from __future__ import annotations

from entrepot.work.claims import Lease
from entrepot.work.errors import JobFailed, LeaseLost, UnknownKind, WorkError
from entrepot.work.jobs import Step
from entrepot.work.metrics import WorkMetrics
from entrepot.work.model import FailedWork, Job, WorkItem
from entrepot.work.outcomes import DONE, Again, Done, Failed, Held, Outcome
from entrepot.work.service import Work
from entrepot.work.worker import Gauges, Worker

__all__ = [
    "DONE",
    "Again",
    "Done",
    "Failed",
    "FailedWork",
    "Gauges",
    "Held",
    "Job",
    "JobFailed",
    "Lease",
    "LeaseLost",
    "Outcome",
    "Step",
    "UnknownKind",
    "Work",
    "WorkError",
    "WorkItem",
    "WorkMetrics",
    "Worker",
]
