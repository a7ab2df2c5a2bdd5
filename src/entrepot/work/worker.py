"""The worker: the only loop of the product. It runs the lanes of all kinds in this process."""

from __future__ import annotations

import asyncio
import logging

from entrepot.engine.errors import DynamoError
from entrepot.log import fields
from entrepot.tables import TablesError
from entrepot.work.lanes import Lane
from entrepot.work.service import Work

MEASURE_SECONDS = 15.0
DRAIN_SECONDS = 2.0
RESTART_SECONDS = 1.0

log = logging.getLogger(__name__)


class Worker:
    """Does work until it is stopped; a part of the process."""

    name = "work"

    def __init__(self, work: Work) -> None:
        self._work = work
        self._gauges = Gauges(work)
        self._loops: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Put the schedules, and begin."""
        await self._work.schedules.ensure()
        for lane in self._work.lanes.values():
            lane.open = True
            self._loops.append(asyncio.create_task(self._keep_running(lane), name=f"work {lane.kind.name}"))
        await self._gauges.start()

    async def check(self) -> None:
        """Every loop must be alive."""
        for loop in self._loops:
            if loop.done():
                raise RuntimeError(f"the loop {loop.get_name()} has ended")
        await self._gauges.check()

    async def stop(self) -> None:
        """Take nothing more, let what is under way end, and give back what does not."""
        await self._gauges.stop()
        loops, self._loops = self._loops, []
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)
        await asyncio.gather(*(lane.drain(DRAIN_SECONDS) for lane in self._work.lanes.values()))

    async def _keep_running(self, lane: Lane) -> None:
        while True:
            try:
                await lane.run()
            except Exception:
                # The edge of the loop: a defect in finding work must not end all of it.
                log.exception("a lane failed", extra=fields(kind=lane.kind.name))
                await asyncio.sleep(RESTART_SECONDS)


class Gauges:
    """Measures how much is due and for how long; the part of a process that does no work itself."""

    name = "work"

    def __init__(self, work: Work) -> None:
        self._work = work
        self._loop: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._loop = asyncio.create_task(self._run(), name="work gauges")

    async def check(self) -> None:
        if self._loop is None or self._loop.done():
            raise RuntimeError("work is not measured")

    async def stop(self) -> None:
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.gather(self._loop, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            for lane in self._work.lanes.values():
                try:
                    await lane.measure()
                except (TablesError, DynamoError) as error:
                    log.warning("work can't be counted", exc_info=error, extra=fields(kind=lane.kind.name))
            await asyncio.sleep(MEASURE_SECONDS)
