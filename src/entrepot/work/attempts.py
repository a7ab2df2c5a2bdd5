"""One attempt at work: the handler within its lease, and the end that it chose or that befell it."""

from __future__ import annotations

import asyncio
import logging
import random
import time

from entrepot.clock import Clock
from entrepot.engine.errors import DynamoError
from entrepot.log import bind, fields
from entrepot.tables import TablesError
from entrepot.work import rules
from entrepot.work.claims import Claims, Lease
from entrepot.work.errors import LeaseLost
from entrepot.work.kinds import Kind
from entrepot.work.metrics import KindMetrics
from entrepot.work.outcomes import Again, Failed, Held, Outcome

JITTER = 0.1

log = logging.getLogger(__name__)


class Attempts:
    """Makes attempts at the work of one kind."""

    def __init__(self, kind: Kind, claims: Claims, clock: Clock, metrics: KindMetrics) -> None:
        self._kind = kind
        self._claims = claims
        self._clock = clock
        self._metrics = metrics

    async def make(self, lease: Lease, *, due_at_ms: int) -> Outcome | None:
        """Handle claimed work and end it; None when the lease was lost or the work was given back."""
        metrics = self._metrics
        metrics.claims.inc()
        metrics.running.inc()
        metrics.wait_seconds.observe(max(0, self._clock.epoch_ms() - due_at_ms) / 1000)
        began = time.perf_counter()
        try:
            outcome = await self._outcome(lease)
            ended = None if outcome is None else await self._end(lease, outcome)
            metrics.ended("lost" if ended is None else _word(ended))
            return ended
        except asyncio.CancelledError:
            await self._give_back(lease)
            raise
        finally:
            metrics.running.dec()
            metrics.seconds.observe(time.perf_counter() - began)

    async def _outcome(self, lease: Lease) -> Outcome | None:
        item, most = lease.item, self._kind.attempts_max
        if most is not None and item.attempts > most:
            return Failed(f"given up after {most} attempts; the last: {item.reason or 'did not end'}")
        deadline = asyncio.timeout(max(lease.seconds_left, 0))
        lease.bind(deadline)
        try:
            async with deadline:
                return await self._kind.handler(item, lease)
        except LeaseLost:
            return None
        except Exception as error:
            if isinstance(error, TimeoutError) and deadline.expired():
                self._warn(lease, "work did not end within its lease")
                return None
            return self._again(lease, error)

    async def _end(self, lease: Lease, outcome: Outcome) -> Outcome | None:
        if lease.finished:
            return outcome
        try:
            await lease.finish(outcome)
            return outcome
        except LeaseLost:
            self._warn(lease, "work ended after its lease had passed; nothing was written")
            return None
        except (TablesError, DynamoError) as error:
            # An effect's condition failed, or the store is busy: the next attempt sees what is there then.
            again = self._again(lease, error)
        try:
            await lease.finish(again)
            return again
        except (LeaseLost, TablesError, DynamoError) as error:
            self._warn(lease, f"work could not be ended, and will be due when its lease ends: {error}")
            return None

    def _again(self, lease: Lease, error: Exception) -> Outcome:
        lease.drop_effects()
        self._metrics.ended("error")
        reason = f"{type(error).__name__}: {error}"
        with bind(work_id=lease.item.workId):
            log.error("work failed", exc_info=error, extra=self._fields(lease))
        attempts, most = lease.item.attempts, self._kind.attempts_max
        if most is not None and attempts >= most:
            return Failed(reason)
        wait_ms = rules.retry_ms(attempts) * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
        return Again(self._clock.epoch_ms() + round(wait_ms), reason)

    async def _give_back(self, lease: Lease) -> None:
        if lease.finished:
            return
        try:
            await self._claims.give_back(lease.item)
        except (LeaseLost, TablesError, DynamoError) as error:
            self._warn(lease, f"work could not be given back, and will be due when its lease ends: {error}")

    def _warn(self, lease: Lease, message: str) -> None:
        log.warning(message, extra=self._fields(lease))

    def _fields(self, lease: Lease) -> dict[str, object]:
        item = lease.item
        return dict(fields(kind=item.kind, work_id=item.workId, subject=item.subject, attempts=item.attempts))


def _word(outcome: Outcome) -> str:
    if isinstance(outcome, Again):
        return "again"
    if isinstance(outcome, Held):
        return "held"
    return "failed" if isinstance(outcome, Failed) else "done"
