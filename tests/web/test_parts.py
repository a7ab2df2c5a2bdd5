"""Parts start in order and stop in reverse, within bounds."""

from __future__ import annotations

import asyncio

import pytest

from entrepot.web.parts import Parts


class Recorded:
    """A part that notes what happens to it."""

    def __init__(self, name: str, events: list[str], *, start_error: str = "", hangs: bool = False) -> None:
        self.name = name
        self._events = events
        self._start_error = start_error
        self._hangs = hangs

    async def start(self) -> None:
        if self._start_error:
            raise OSError(self._start_error)
        self._events.append(f"start {self.name}")

    async def check(self) -> None:
        return

    async def stop(self) -> None:
        self._events.append(f"stop {self.name}")
        if self._hangs:
            await asyncio.Event().wait()


@pytest.mark.anyio
async def test_parts_start_in_order_and_stop_in_reverse() -> None:
    events: list[str] = []
    parts = Parts([Recorded("store", events), Recorded("loop", events)])

    await parts.start()
    await parts.stop()

    assert events == ["start store", "start loop", "stop loop", "stop store"]


@pytest.mark.anyio
async def test_a_part_that_can_not_start_stops_those_before_it() -> None:
    events: list[str] = []
    parts = Parts([Recorded("store", events), Recorded("loop", events, start_error="no")])

    with pytest.raises(OSError, match="no"):
        await parts.start()

    assert events == ["start store", "stop store"]


@pytest.mark.anyio
async def test_a_part_that_does_not_stop_keeps_no_other_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entrepot.web.parts.STOP_SECONDS_MAX", 0.05)
    events: list[str] = []
    parts = Parts([Recorded("store", events), Recorded("loop", events, hangs=True)])
    await parts.start()

    await parts.stop()

    assert events[-2:] == ["stop loop", "stop store"]
