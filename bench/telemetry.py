"""Telemetry beside PostgreSQL, InfluxDB 1.x and VictoriaMetrics: readings a second, and a series of thirty days.

Every request has 50 readings of five sensors, a fifth of them sent before. Ours are whole: HTTP, key, validation, one
transaction for each reading, and an answer for each. PostgreSQL is asked by its driver in this process, without HTTP,
for the same two tables: once with a statement for each reading, which tells which were duplicates, and once in bulk,
which does not; a request is one transaction in both. InfluxDB and VictoriaMetrics take the line protocol and know no
duplicates; they are Debian's packages, unpacked into the user's cache. What can't be had is left out with a line.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import asyncpg
import msgspec
import uvloop
from prometheus_client import CollectorRegistry

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.peers import Unavailable, cache, free_port, started
from entrepot.accounts.model import UserId
from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.engine.server import STORE_NAME
from entrepot.fleet.postgres import EmbeddedPostgres
from entrepot.tables import Database, provision
from entrepot.telemetry import model
from entrepot.telemetry.lane import decode_data
from entrepot.telemetry.part import TelemetryPart
from entrepot.telemetry.rollups import DAY_MS
from entrepot.telemetry.settings import Telemetry
from entrepot.work import Work
from entrepot.work.model import work as work_table

READINGS = 50
REPLAYED = 10
CONNECTIONS = 8
DEVICES = 40
SERIES_DAYS = 30
SERIES_MAC = "AA:BB:CC:00:00:01"
SERIES_STEP_MS = 300_000
TOKEN = "the operator's own token"
NOBODY: UserId | None = None
BOOT = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
REACH = 1.5

Body = dict[str, Any]
Send = Callable[[list[Body]], Awaitable[None]]
Ask = Callable[[], Awaitable[int]]


class System(NamedTuple):
    """One of those that are measured: how it takes a request, and how it answers for thirty days."""

    name: str
    send: Send
    series: dict[str, Ask]


def reading(mac: str, at_ms: int) -> Body:
    return {
        "batch_id": f"{mac}_{BOOT}_{at_ms - SERIES_STEP_MS}_{at_ms}", "hardware_id": mac, "boot_id": BOOT,
        "firmware_version": "1.0.16", "timestamp_ms": at_ms,
        "sensors": {
            "bme280_temp_c": 22.5 + at_ms % 97 / 10, "ds18b20_temp_c": 21.8, "humidity_pct": 45.2,
            "pressure_hpa": 1013.25, "soil_moisture_pct": 62.3,
        },
        "sensor_status": {"bme280": "ok", "ds18b20": "ok", "soil_moisture": "ok"},
    }  # fmt: skip


class Load:
    """Requests without end: each of one device, the newest first, a fifth of it a replay."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._next_ms = dict.fromkeys(
            (f"02:{seed:02X}:00:00:{n >> 8:02X}:{n & 255:02X}" for n in range(DEVICES)),
            int(time.time() * 1000) - 60 * DAY_MS,
        )
        self._before: dict[str, list[Body]] = {}

    def first(self) -> list[list[Body]]:
        """A request of each device."""
        return [self.request(mac) for mac in self._next_ms]

    def request(self, mac: str | None = None) -> list[Body]:
        mac = mac or self._dice.choice(list(self._next_ms))
        replayed = self._before.get(mac, [])[:REPLAYED]
        at_ms = self._next_ms[mac]
        fresh = [reading(mac, at_ms + n * SERIES_STEP_MS) for n in range(READINGS - len(replayed))]
        self._next_ms[mac] = at_ms + len(fresh) * SERIES_STEP_MS
        self._before[mac] = fresh
        return [*reversed(fresh), *replayed]


async def rate(system: System, load: Load, seconds: float) -> float:
    """Readings a second over so many connections; requests are made before the clock starts."""
    ready = [load.request() for _ in range(40)]
    began = time.perf_counter()
    done = 0

    async def work() -> None:
        nonlocal done
        while time.perf_counter() - began < seconds:
            body = ready.pop() if ready else load.request()
            await system.send(body)
            done += len(body)

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    return done / (time.perf_counter() - began)


# Ours


@asynccontextmanager
async def ours(home: Path) -> AsyncIterator[list[System]]:
    await fill_series(home / "data")
    settings = {"DATA_DIR": str(home / "data"), "ADMIN_TOKEN": TOKEN, "LOG_LEVEL": "error"}
    environment = {**os.environ, **{f"ENTREPOT_{name}": value for name, value in settings.items()}}
    port = free_port()
    command = [sys.executable, "-m", "entrepot", "up", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, cwd=home, stdout=subprocess.DEVNULL)
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as http:
            await answering(http, "/telemetry/health")
            operator = {"Authorization": f"Bearer {TOKEN}"}
            async with http.post("/telemetry/api-keys", json={}, headers=operator) as made:
                key = (await made.json())["api_key"]
            headers = {"X-API-Key": key, "Content-Type": "application/json"}

            async def send(body: list[Body]) -> None:
                data = msgspec.json.encode({"readings": body})
                async with http.post("/telemetry/data", data=data, headers=headers) as answer:
                    content = await answer.read()
                    assert answer.status == 200, content

            def series(points: int) -> Ask:
                async def ask() -> int:
                    now = int(time.time() * 1000)
                    query = f"metric=bme280_temp_c&from={now - SERIES_DAYS * DAY_MS}&to={now}&points={points}"
                    path = f"/telemetry/devices/{SERIES_MAC}/series?{query}"
                    async with http.get(path, headers=operator) as answer:
                        return len((await answer.json())["points"])

                return ask

            yield [System("entrepot", send, {"from hours": series(500), "from readings": series(2000)})]
    finally:
        process.terminate()
        process.wait(20)


async def fill_series(data: Path) -> None:
    """Thirty days of one device and their hours, through the service itself."""
    data.mkdir(mode=0o700)
    engine = await Engine.open(data / STORE_NAME)
    db = Database(engine, clock=Clock())
    await provision(db, [*model.TABLES, work_table])
    part = TelemetryPart(
        db, work=Work(db), settings=Telemetry(), pepper="bench" * 4, registry=CollectorRegistry()
    )
    bodies = series_bodies()
    for first in range(0, len(bodies), 100):
        envelope = msgspec.json.encode({"readings": bodies[first : first + 100]})
        await part.ingest.take(NOBODY, *decode_data(envelope))
    for day in {body["timestamp_ms"] // DAY_MS for body in bodies}:
        await part.rollups.roll_up(model.HardwareId(SERIES_MAC), day)
    await engine.close()


def series_bodies() -> list[Body]:
    now = int(time.time() * 1000)
    steps = SERIES_DAYS * DAY_MS // SERIES_STEP_MS
    return [reading(SERIES_MAC, now - n * SERIES_STEP_MS) for n in range(steps)]


# PostgreSQL

POSTGRES_TABLES = """
CREATE TABLE processed_batches (batch_id text PRIMARY KEY, hardware_id text NOT NULL, received_at timestamptz NOT NULL,
  expiration_time bigint NOT NULL);
CREATE TABLE device_readings (hardware_id text, ts_batch text, timestamp_ms bigint NOT NULL, batch_id text NOT NULL,
  boot_id uuid NOT NULL, firmware_version text NOT NULL, sensors jsonb NOT NULL, sensor_status jsonb NOT NULL,
  expiration_time bigint, PRIMARY KEY (hardware_id, ts_batch));
"""
POSTGRES_INSERT = """
WITH fresh AS (
  INSERT INTO processed_batches VALUES ($1, $2, now(), $3) ON CONFLICT DO NOTHING RETURNING batch_id)
INSERT INTO device_readings SELECT $2, $4, $5, batch_id, $6, $7, $8, $9, $10 FROM fresh ON CONFLICT DO NOTHING
"""
POSTGRES_SERIES = """
SELECT timestamp_ms / $3::bigint AS bucket, avg((sensors->>'bme280_temp_c')::float8) FROM device_readings
WHERE hardware_id = $1 AND ts_batch >= $2 GROUP BY 1 ORDER BY 1
"""


@asynccontextmanager
async def postgres(home: Path) -> AsyncIterator[list[System]]:
    server = EmbeddedPostgres(home / "postgres")
    url = server.start()
    try:
        async with asyncpg.create_pool(url, min_size=CONNECTIONS, max_size=CONNECTIONS) as pool:
            await pool.execute(POSTGRES_TABLES)

            # The rows are in the order of the key, or two replays would deadlock.
            async def send(body: list[Body]) -> None:
                async with pool.acquire() as connection, connection.transaction():
                    insert = await connection.prepare(POSTGRES_INSERT)
                    for row in sorted(_row(each) for each in body):
                        await insert.fetch(*row)

            async def send_bulk(body: list[Body]) -> None:
                async with pool.acquire() as connection:
                    await connection.executemany(POSTGRES_INSERT, sorted(_row(each) for each in body))

            await send_series(send_bulk)

            async def series() -> int:
                start = int(time.time() * 1000) - SERIES_DAYS * DAY_MS
                bucket = SERIES_DAYS * DAY_MS // 500
                return len(await pool.fetch(POSTGRES_SERIES, SERIES_MAC, f"{start:013}#", bucket))

            yield [
                System("PostgreSQL", send, {"two tables": series}),
                System("PostgreSQL, bulk", send_bulk, {}),
            ]
    finally:
        server.stop()


def _row(body: Body) -> tuple[Any, ...]:
    at_ms = body["timestamp_ms"]
    return (
        body["batch_id"], body["hardware_id"], at_ms // 1000 + 2_592_000, f"{at_ms:013}#{body['batch_id']}",
        at_ms, uuid.UUID(body["boot_id"]), body["firmware_version"],
        msgspec.json.encode(body["sensors"]).decode(), msgspec.json.encode(body["sensor_status"]).decode(),
        at_ms // 1000 + 7_776_000,
    )  # fmt: skip


# InfluxDB and VictoriaMetrics


@asynccontextmanager
async def influxdb(home: Path) -> AsyncIterator[list[System]]:
    program = unpacked("influxdb", "influxd")
    config = home / "influxdb.conf"
    directory = home / "influxdb"
    config.write_text(
        f'reporting-disabled = true\nbind-address = "127.0.0.1:{free_port()}"\n'
        f'[meta]\ndir = "{directory}/meta"\n[data]\ndir = "{directory}/data"\nwal-dir = "{directory}/wal"\n'
        '[monitor]\nstore-enabled = false\n[http]\nbind-address = "127.0.0.1:PORT"\nlog-enabled = false\n'
    )

    def command(port: int) -> list[str]:
        config.write_text(config.read_text().replace("PORT", str(port)))
        return [str(program), "-config", str(config)]

    with started("influxdb", command) as url:
        async with aiohttp.ClientSession(url) as http:
            async with http.post("/query", data={"q": "CREATE DATABASE bench"}) as made:
                assert made.status == 200, await made.text()
            where = f"mac='{SERIES_MAC}' AND time > now() - 30d"
            query = f"SELECT mean(bme280_temp_c) FROM r WHERE {where} GROUP BY time(87m)"

            async def series() -> int:
                async with http.post("/query", data={"db": "bench", "q": query}) as answer:
                    return len((await answer.json())["results"][0]["series"][0]["values"])

            send = line_sender(http, "/write?db=bench&precision=ms")
            await send_series(send)
            yield [System("InfluxDB", send, {"raw": series})]


@asynccontextmanager
async def victoria(home: Path) -> AsyncIterator[list[System]]:
    program = unpacked("victoria-metrics", "victoria-metrics")

    def command(port: int) -> list[str]:
        words = [f"-httpListenAddr=127.0.0.1:{port}", f"-storageDataPath={home / 'victoria'}"]
        return [str(program), *words, "-retentionPeriod=12"]

    with started("victoria-metrics", command) as url:
        async with aiohttp.ClientSession(url) as http:

            async def series() -> int:
                now = int(time.time())
                query = f'avg_over_time(r_bme280_temp_c{{mac="{SERIES_MAC}"}}[87m])'
                params = {
                    "query": query,
                    "start": str(now - SERIES_DAYS * 86400),
                    "end": str(now),
                    "step": "87m",
                }
                async with http.get("/api/v1/query_range", params={**params, "nocache": "1"}) as answer:
                    return len((await answer.json())["data"]["result"][0]["values"])

            send = line_sender(http, "/write?precision=ms")
            await send_series(send)
            async with http.get("/internal/force_flush"):
                pass
            yield [System("VictoriaMetrics", send, {"raw": series})]


def line_sender(http: aiohttp.ClientSession, path: str) -> Send:
    async def send(body: list[Body]) -> None:
        async with http.post(path, data="\n".join(map(_line, body)).encode()) as answer:
            assert answer.status == 204, await answer.text()

    return send


async def send_series(send: Send) -> None:
    bodies = series_bodies()
    for first in range(0, len(bodies), 500):
        await send(bodies[first : first + 500])


def _line(body: Body) -> str:
    fields = ",".join(f"{name}={value}" for name, value in body["sensors"].items())
    return f"r,mac={body['hardware_id']} {fields} {body['timestamp_ms']}"


def unpacked(package: str, program: str) -> Path:
    """A program of a Debian package, installed or unpacked into the cache."""
    installed = shutil.which(program)
    if installed is not None:
        return Path(installed)
    place = cache() / package
    found = place / "usr" / "bin" / program
    if found.exists():
        return found
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise Unavailable(f"{package} is not installed, and this is no Debian")
    place.mkdir(parents=True, exist_ok=True)
    fetched = subprocess.run(
        ["apt-get", "download", package], cwd=place, capture_output=True, text=True, check=False
    )
    archives = list(place.glob(f"{package}_*.deb"))
    if fetched.returncode != 0 or not archives:
        raise Unavailable(f"apt-get can't fetch {package}: {fetched.stderr.strip()[-200:]}")
    subprocess.run(["dpkg-deb", "-x", str(archives[0]), str(place)], check=True, capture_output=True)
    return found


async def answering(http: aiohttp.ClientSession, path: str) -> None:
    for _ in range(600):
        try:
            async with http.get(path) as answer:
                if answer.status == 200:
                    return
        except aiohttp.ClientError:
            await asyncio.sleep(0.05)
    raise Unavailable(f"{path} did not answer")


@contextmanager
def scratch() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="entrepot-bench-"))
    home.chmod(0o755)
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


async def main(rounds: int, seconds: float) -> None:
    with scratch() as home:
        async with AsyncExitStack() as stack:
            systems: list[System] = []
            for make in (ours, postgres, influxdb, victoria):
                try:
                    systems.extend(await stack.enter_async_context(make(home)))
                except Unavailable as reason:
                    print(f"{make.__name__} is left out: {reason}", file=sys.stderr)
            await measure_ingest(systems, rounds, seconds)
            await measure_series(systems)


async def measure_ingest(systems: list[System], rounds: int, seconds: float) -> None:
    loads = {system.name: Load(number) for number, system in enumerate(systems)}
    rates: dict[str, list[float]] = {system.name: [] for system in systems}
    for system in systems:
        # Every device has been heard once before the clock starts.
        for body in loads[system.name].first():
            await system.send(body)
    for _ in range(rounds):
        for system in systems:
            rates[system.name].append(await rate(system, loads[system.name], seconds))
    print(f"\n{READINGS} readings a request, {REPLAYED} of them replays, {CONNECTIONS} connections, durable")
    own = rates["entrepot"]
    for system in systems:
        ratio = statistics.median(mine / theirs for mine, theirs in zip(own, rates[system.name], strict=True))
        reach = (
            f"  (≥ {REACH}){'' if ratio >= REACH else '   not reached in this run'}"
            if system.name == "PostgreSQL"
            else ""
        )
        print(
            f"  {system.name:16} {statistics.median(rates[system.name]):9,.0f} readings/s   ratio {ratio:5.2f}{reach}"
        )


async def measure_series(systems: list[System]) -> None:
    print(f"\nA series of {SERIES_DAYS} days, one reading in five minutes")
    for system in systems:
        for name, ask in system.series.items():
            points = await ask()
            times = []
            for _ in range(9):
                began = time.perf_counter()
                await ask()
                times.append((time.perf_counter() - began) * 1000)
            print(
                f"  {system.name:16} {name:14} {points:5} points   median {statistics.median(times):7.1f} ms"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    uvloop.run(main(given.rounds, given.seconds))
