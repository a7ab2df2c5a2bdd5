"""Ingest is a set: any order, duplication and split of readings stores the same; whatever fails is not acknowledged."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.tables import Throttled
from entrepot.telemetry.model import HardwareId, Readings
from tests.telemetry.floor import BOOT, MAC, OTHER_BOOT, Floor, floor_on, reading

MACS = [MAC, "AA:BB:CC:DD:EE:01", "AA:BB:CC:DD:EE:02"]
ALL_MS = 9_999_999_999_999


@st.composite
def _sent(draw: st.DrawFn) -> tuple[list[tuple[int, int, int, bool]], int]:
    """Readings by device, boot, number and whether their id is short; and a seed for order, repeats and split."""
    one = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 15), st.booleans())
    return draw(st.lists(one, min_size=1, max_size=40, unique=True)), draw(st.integers(0, 2**32))


def bodies_of(sketch: list[tuple[int, int, int, bool]], base_ms: int) -> list[dict[str, Any]]:
    bodies = []
    for device, boot, number, is_short in sketch:
        # A device is at one place in time: another boot means another time.
        at = base_ms - number * 300_000 - boot * 10_000_000
        body = reading(at, mac=MACS[device], boot=(BOOT, OTHER_BOOT)[boot], sensors={"t": number})
        if is_short:
            body["batch_id"] = f"device_u_{number}_{number + 1}"
        bodies.append(body)
    return bodies


async def stored(floor: Floor) -> set[tuple[Any, ...]]:
    found = [
        each for mac in MACS for each in await Readings(floor.db).between(HardwareId(mac), 0, ALL_MS).all()
    ]
    kept = {(each.hardware_id, each.timestamp_ms, each.batch_id, each.boot_id) for each in found}
    assert len(kept) == len(found)
    return kept


async def _plays(sketch: list[tuple[int, int, int, bool]], seed: int) -> None:
    clock = Clock()
    engine = await Engine.open(":memory:")
    try:
        floor = await floor_on(engine, clock)
        bodies = bodies_of(sketch, floor.now() - 1000)
        dice = random.Random(seed)
        sent = bodies + dice.choices(bodies, k=dice.randrange(len(bodies) + 1))
        dice.shuffle(sent)
        acknowledged = duplicates = 0
        while sent:
            size = dice.randint(1, 100)
            answer = await floor.send(*sent[:size])
            assert answer.rejected == []
            acknowledged += len(answer.acknowledged_batch_ids)
            duplicates += len(answer.duplicate_batch_ids)
            sent = sent[size:]
        expected = {
            (each["hardware_id"], each["timestamp_ms"], each["batch_id"], each["boot_id"]) for each in bodies
        }
        assert await stored(floor) == expected
        assert acknowledged == len(bodies)
    finally:
        await engine.close()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_sent())
def test_any_order_duplication_and_split_stores_the_same_set(
    sent: tuple[list[tuple[int, int, int, bool]], int],
) -> None:
    asyncio.run(_plays(*sent))


@pytest.mark.anyio
async def test_of_one_batch_from_many_at_once_one_is_acknowledged(floor: Floor) -> None:
    body = reading(floor.now())
    answers = await asyncio.gather(*(floor.send(body) for _ in range(32)))
    assert sum(len(answer.acknowledged_batch_ids) for answer in answers) == 1
    assert sum(len(answer.duplicate_batch_ids) for answer in answers) == 31


@pytest.mark.anyio
async def test_an_unkind_store_loses_and_doubles_nothing(floor: Floor) -> None:
    floor.engine.set_chaos("throttle=0.2,conflict=0.2,index_lag_ms=500")
    bodies = [reading(floor.now() - n * 1000, mac=MACS[n % 3]) for n in range(60)]
    answers = await asyncio.gather(*(floor.send(*bodies[n : n + 20]) for n in (0, 20, 40, 0, 20, 40)))
    assert sum(len(answer.acknowledged_batch_ids) for answer in answers) == 60
    assert sum(len(answer.duplicate_batch_ids) for answer in answers) == 60
    floor.engine.set_chaos(None)
    assert len(await stored(floor)) == 60


@pytest.mark.anyio
async def test_what_the_store_never_takes_is_neither_acknowledged_nor_a_duplicate(floor: Floor) -> None:
    await floor.send(reading(floor.now() - 5000))
    floor.db.deadline_seconds = 0.2
    floor.engine.set_chaos("conflict=1")
    with pytest.raises(Throttled):
        await floor.send(reading(floor.now()))
    floor.engine.set_chaos(None)
    assert len((await floor.send(reading(floor.now()))).acknowledged_batch_ids) == 1
