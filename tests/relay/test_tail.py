"""The live tail."""

from __future__ import annotations

import msgspec
import pytest

from entrepot.relay.tail import TailedEvent, Tails
from tests.relay.world import SOURCE, World

pytestmark = pytest.mark.anyio


def read(part: bytes) -> TailedEvent:
    return msgspec.json.decode(part.partition(b"data: ")[2], type=TailedEvent)


async def test_events_appear_as_they_arrive_and_once_each(world: World) -> None:
    await world.receive('"before"')
    world.clock.advance(60)
    tails = Tails(world.db, poll_seconds=0.01)
    parts = tails.follow(SOURCE)
    assert (await anext(parts)).startswith(b":")
    seen = []
    for number in range(5):
        await world.receive(f'"{number}"', bodyBytes=b"\xff" if number == 4 else None)
        seen.append(read(await anext(parts)))
    assert [event.body for event in seen] == ['"0"', '"1"', '"2"', '"3"', '"4"']
    assert seen[4].bodyBase64 == "/w=="
    await tails.stop()
    assert [part async for part in parts] == []


async def test_a_tail_goes_on_after_the_event_that_was_seen_last(world: World) -> None:
    first = await world.receive('"first"')
    world.clock.advance(60)
    await world.receive('"second"')
    world.clock.advance(60)
    parts = Tails(world.db, poll_seconds=0.01).follow(SOURCE, after=first.eventId)
    await anext(parts)
    assert read(await anext(parts)).body == '"second"'
    await parts.aclose()
