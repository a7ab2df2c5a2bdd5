"""A dead destination harms no other."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from entrepot.relay.worker import CONCURRENCY, DESTINATION_CONCURRENCY
from entrepot.work import Worker
from tests.relay.world import Receiver, World

pytestmark = pytest.mark.anyio

SECONDS_MAX = 20


async def test_a_destination_that_hangs_leaves_the_slots_to_others(world: World, receiver: Receiver) -> None:
    released = asyncio.Event()

    async def hang(_: web.Request) -> web.Response:
        await released.wait()
        return web.Response()

    hanging = Receiver(hang)
    await hanging.start()
    only = '[{{"path":"$.to","operator":"equals","value":"{}"}}]'
    await world.connect(hanging.url, 1, filters=only.format("hanging"))
    await world.connect(receiver.url, 2, filters=only.format("live"))
    for _ in range(CONCURRENCY + 20):
        await world.receive('{"to":"hanging"}')
    worker = Worker(world.work)
    await worker.start()
    async with asyncio.timeout(SECONDS_MAX):
        while len(hanging.seen) < DESTINATION_CONCURRENCY:
            hanging.arrived.clear()
            await hanging.arrived.wait()
        event = await world.receive('{"to":"live"}')
        await receiver.arrived.wait()
    assert list(receiver.ids) == [event.eventId]
    assert len(hanging.seen) == DESTINATION_CONCURRENCY
    released.set()
    await worker.stop()
    await hanging.stop()
