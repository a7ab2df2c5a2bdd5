"""The relay: durable ingests, the time from ingest to delivery, and what a dead destination does to others.

python bench/relay.py [--events N]     beside Debian's `webhook` and n8n where they are installed

n8n is started from the PATH (npm install n8n@2.8.0). Neither peer keeps an event before it answers; `webhook` starts a
process for each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import uvloop
from aiohttp import web

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measuring import Row, at_least, show
from entrepot.accounts.model import main as main_table
from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.relay.model import events as events_table
from entrepot.tables import Database, provision
from entrepot.work import Worker
from entrepot.work.model import work as work_table
from tests.relay.world import World

CALLERS = 32
EVENTS = 1000
DEAD = "http://127.0.0.1:9/hook"
START_SECONDS_MAX = 90
BODY = json.dumps({"type": "paid", "text": "x" * 980}).encode()


class Arrivals:
    """A destination that notes when each event arrived."""

    def __init__(self) -> None:
        self.at: dict[str, float] = {}
        self.changed = asyncio.Event()
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        await request.read()
        self.at.setdefault(request.headers["webhook-id"], time.perf_counter())
        self.changed.set()
        return web.Response()

    async def wait_for(self, ids: set[str]) -> None:
        while not ids <= self.at.keys():
            self.changed.clear()
            await self.changed.wait()


@asynccontextmanager
async def arrivals() -> AsyncIterator[Arrivals]:
    made = Arrivals()
    app = web.Application()
    app.router.add_post("/hook", made.take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield made
    await runner.cleanup()


# -- ingest over HTTP, beside peers


async def ingests(url: str, count: int) -> float:
    """Requests a second that were answered well."""
    left = iter(range(count))

    async def caller(session: aiohttp.ClientSession) -> None:
        for _ in left:
            async with session.post(url, data=BODY, headers={"Content-Type": "application/json"}) as answer:
                await answer.read()
                if answer.status >= 300:
                    raise RuntimeError(f"{url} answered {answer.status}")

    async with aiohttp.ClientSession() as session:
        began = time.perf_counter()
        await asyncio.gather(*(caller(session) for _ in range(CALLERS)))
        return count / (time.perf_counter() - began)


def start(command: list[str], directory: Path, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        cwd=directory,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


async def ready(url: str, accept: Callable[[int], bool]) -> None:
    """Wait until a server answers."""
    deadline = time.monotonic() + START_SECONDS_MAX
    async with aiohttp.ClientSession() as session:
        while time.monotonic() < deadline:
            try:
                async with session.get(url) as answer:
                    if accept(answer.status):
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.2)
    raise TimeoutError(f"{url} did not start")


async def ours(directory: Path, port: int, count: int) -> float:
    """Durable ingests a second of `entrepot up`."""
    settings = {
        "ENTREPOT_SIGNUP": "open", "ENTREPOT_LOG_LEVEL": "error", "ENTREPOT_RELAY_PLAN": "team",
    }  # fmt: skip
    # The plan's own limit a minute is not what is measured.
    (directory / "entrepot.toml").write_text(
        "[relay.plans.team]\nevents_per_month = 1000000000\nsources = 10\nconnections_per_source = 10\n"
        "inbound_per_minute = 1000000000\nretention_seconds = 86400\n"
    )
    process = start([sys.executable, "-m", "entrepot", "up", "--port", str(port)], directory, **settings)
    url = f"http://127.0.0.1:{port}"
    try:
        await ready(f"{url}/healthz", lambda status: status == 200)
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(url, cookie_jar=jar) as session:
            who = {"email": "a@example.com", "name": "A", "password": "correct horse battery"}
            async with session.post("/accounts/signup", json=who) as answer:
                answer.raise_for_status()
            async with session.post("/hooks/sources", json={"name": "bench"}) as answer:
                answer.raise_for_status()
                source = (await answer.json())["sourceId"]
        await ingests(f"{url}/in/{source}", count // 10)
        return await ingests(f"{url}/in/{source}", count)
    finally:
        process.kill()
        process.wait()


async def webhook(directory: Path, port: int, count: int) -> float:
    """Requests a second of Debian's webhook, which starts /bin/true for each."""
    hooks = [{"id": "bench", "execute-command": "/bin/true"}]
    (directory / "hooks.json").write_text(json.dumps(hooks))
    command = ["webhook", "-hooks", "hooks.json", "-ip", "127.0.0.1", "-port", str(port)]
    process = start(command, directory)
    try:
        await ready(f"http://127.0.0.1:{port}/", lambda status: status == 200)
        return await ingests(f"http://127.0.0.1:{port}/hooks/bench", count)
    finally:
        process.kill()
        process.wait()


async def n8n(directory: Path, port: int, count: int) -> float:
    """Requests a second of an n8n workflow that is a webhook and nothing more."""
    node = {
        "parameters": {"httpMethod": "POST", "path": "bench", "options": {}},
        "type": "n8n-nodes-base.webhook", "typeVersion": 2, "position": [0, 0],
        "id": "5f0e3c9e-0000-4000-8000-000000000001", "name": "Webhook",
        "webhookId": "5f0e3c9e-0000-4000-8000-000000000002",
    }  # fmt: skip
    workflow = {"id": "bench", "name": "bench", "nodes": [node], "connections": {}, "active": True}
    (directory / "workflow.json").write_text(json.dumps(workflow))
    environment = {
        "N8N_USER_FOLDER": str(directory), "N8N_PORT": str(port), "N8N_LISTEN_ADDRESS": "127.0.0.1",
        "N8N_DIAGNOSTICS_ENABLED": "false",
    }  # fmt: skip
    for step in (["import:workflow", "--input=workflow.json"], ["update:workflow", "--all", "--active=true"]):
        start(["n8n", *step], directory, **environment).wait(START_SECONDS_MAX)
    process = start(["n8n", "start"], directory, **environment)
    try:
        await ready(f"http://127.0.0.1:{port}/healthz", lambda status: status == 200)
        return await ingests(f"http://127.0.0.1:{port}/webhook/bench", count)
    finally:
        process.kill()
        process.wait()


# -- deliveries, in this process


@asynccontextmanager
async def relay(directory: Path) -> AsyncIterator[World]:
    clock = Clock()
    engine = await Engine.open(directory / "store.db", clock=lambda: clock.epoch_ms() / 1000)
    await provision(Database(engine, clock=clock), [main_table, events_table, work_table])
    world = World(engine, clock)
    await world.make_source()
    worker = Worker(world.work)
    await worker.start()
    yield world
    await worker.stop()
    await world.relay.stop()
    await engine.close()


async def deliveries(directory: Path, count: int, dead_percent: int) -> tuple[float, float, float]:
    """Deliveries a second to a live destination, and their p50 and p99 in ms, beside a dead one.

    The dead destination gets so many percent of the events; with 100 it gets all, and the live one too.
    """
    async with arrivals() as live, relay(directory) as world:
        await world.connect(live.url, 1, filters=_dead_is(False) if dead_percent == 1 else "[]")
        if dead_percent:
            await world.connect(DEAD, 2, filters=_dead_is(True) if dead_percent == 1 else "[]")
        put_at: dict[str, float] = {}
        began = time.perf_counter()
        for number in range(count):
            dead = dead_percent == 1 and number % 100 == 0
            event = await world.receive(json.dumps({"dead": dead, "text": "x" * 980}))
            if not dead:
                put_at[event.eventId] = time.perf_counter()
        await live.wait_for(set(put_at))
        seconds = time.perf_counter() - began
        took = sorted((live.at[event_id] - at) * 1000 for event_id, at in put_at.items())
        return len(took) / seconds, statistics.median(took), took[int(len(took) * 0.99)]


def _dead_is(value: bool) -> str:
    return json.dumps([{"path": "$.dead", "operator": "equals", "value": value}])


class Counting:
    """A store that adds up the units that writes cost."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.units = 0.0

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        writes = operation in ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem")
        asked = {**request, "ReturnConsumedCapacity": "TOTAL"} if writes else request
        answer = await self._engine.call(operation, asked)
        if writes:
            found = answer.pop("ConsumedCapacity", None) or []
            for entry in found if isinstance(found, list) else [found]:
                self.units += float(entry.get("CapacityUnits", 0))
        return answer

    async def close(self) -> None:
        await self._engine.close()


async def units(body_bytes: int) -> float:
    """The write units of one delivered event with one connection, from its ingest to its counting."""
    clock = Clock()
    engine = await Engine.open(":memory:", clock=lambda: clock.epoch_ms() / 1000)
    store = Counting(engine)
    await provision(Database(store, clock=clock), [main_table, events_table, work_table])
    world = World(store, clock)
    await world.make_source()
    async with arrivals() as live:
        await world.connect(live.url)
        store.units = 0.0
        event = await world.receive("x" * body_bytes)
        for seconds in (0, 2, 6):
            await world.settle(seconds=seconds)
        if (await world.event(event)).status != "delivered":
            raise RuntimeError("the event was not delivered")
    await world.relay.stop()
    await store.close()
    return store.units


async def main(count: int) -> None:
    peers: list[tuple[str, Callable[[Path, int, int], Awaitable[float]]]] = [
        ("webhook", webhook),
        ("n8n", n8n),
    ]
    with tempfile.TemporaryDirectory() as directory:
        speed = await ours(Path(directory), 18_321, count)
    print(f"durable ingests of 1 KB: {speed:,.0f}/s")
    rows: list[Row] = []
    for number, (name, measure) in enumerate(peers):
        if shutil.which(name) is None:
            print(f"{name}: not installed, left out")
            continue
        with tempfile.TemporaryDirectory() as directory:
            theirs = await measure(Path(directory), 18_330 + number, min(count, 1000))
        bound = 10.0 if name == "n8n" else 1.0
        rows.append(at_least("ingests of 1 KB", "/s", (speed, theirs, speed / theirs), bound, name))
    alone = 0.0
    print("\ndeliveries of 1 KB, put one after the other")
    for dead, words in (
        (0, "no dead destination"),
        (1, "1 % to a dead one"),
        (100, "all to a dead one too"),
    ):
        with tempfile.TemporaryDirectory() as directory:
            rate, p50, p99 = await deliveries(Path(directory), count, dead)
        print(f"  {words:28} {rate:8,.0f}/s   p50 {p50:7.1f} ms   p99 {p99:7.1f} ms")
        if dead == 0:
            alone = p99
        if dead == 100:
            reached = p99 <= 2 * alone
            rows.append(
                Row(
                    "p99 beside a dead one",
                    f"{p99:.1f} ms",
                    f"alone {alone:.1f} ms",
                    p99 / alone,
                    "≤ 2",
                    reached,
                )
            )
    for body_bytes, words in ((1024, "1 KB"), (256 * 1024, "256 KB")):
        print(f"write units of one delivered event of {words}: {await units(body_bytes):,.0f}")
    show("The relay beside its peers", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    uvloop.run(main(parser.parse_args().events))
