"""A worker process of the relay, to be killed: python -m tests.relay.worker_process STORE CLOCK_OFFSET_SECONDS."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.work import Worker
from tests.relay.world import World


async def main(path: Path, offset_seconds: float) -> None:
    clock = Clock(offset_seconds=offset_seconds)
    engine = await Engine.open(path, clock=lambda: clock.epoch_ms() / 1000)
    world = World(engine, clock)
    worker = Worker(world.work)
    asked = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked.set)
    await worker.start()
    print("working", flush=True)
    await asked.wait()
    await worker.stop()
    await world.relay.stop()
    await engine.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2])))
