"""The parts of a running process: started in order, asked whether they work, drained in reverse."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from entrepot.log import fields

START_SECONDS_MAX = 60.0
CHECK_SECONDS_MAX = 2.0
STOP_SECONDS_MAX = 3.0

log = logging.getLogger(__name__)


class Part(Protocol):
    """A store, a service or a loop."""

    @property
    def name(self) -> str:
        """What `/readyz` calls it."""
        ...

    async def start(self) -> None:
        """Begin; raise when it can't."""
        ...

    async def check(self) -> None:
        """Really use it; raise when it does not work."""
        ...

    async def stop(self) -> None:
        """Finish what is under way, then let go of everything."""
        ...


class Parts:
    """All parts of this process."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = list(parts)
        self._started: list[Part] = []
        self.draining = False

    async def start(self) -> None:
        """Start each in its order; when one can't, stop those before it and raise."""
        for part in self._parts:
            try:
                async with asyncio.timeout(START_SECONDS_MAX):
                    await part.start()
            except BaseException:
                await self.stop()
                raise
            self._started.append(part)

    async def check(self) -> dict[str, str | None]:
        """What is wrong with each part; None for those that work."""
        return dict(await asyncio.gather(*(_complaint(part) for part in self._parts)))

    async def stop(self) -> None:
        """Stop each in reverse order, within a bound that they share."""
        loop = asyncio.get_running_loop()
        until = loop.time() + STOP_SECONDS_MAX
        while self._started:
            part = self._started.pop()
            try:
                async with asyncio.timeout_at(until):
                    await part.stop()
            except Exception as error:
                # One part that can't stop must not keep the others from it.
                log.exception("a part did not stop", extra=fields(part=part.name, cause=type(error).__name__))


async def _complaint(part: Part) -> tuple[str, str | None]:
    try:
        async with asyncio.timeout(CHECK_SECONDS_MAX):
            await part.check()
    except TimeoutError:
        return part.name, f"no answer within {CHECK_SECONDS_MAX:g} s"
    except Exception as error:
        log.warning("a part does not work", exc_info=error, extra=fields(part=part.name))
        return part.name, "does not work; the log says why"
    return part.name, None
