"""The fleet beside PostgreSQL itself: heartbeats against pgbench, the sweep, and history at ten million rows.

The limit is the same statement by pgbench on the same server in the same run: what PostgreSQL can take when nothing but
its own C client stands before it. `--quick` has fewer rows, for a look.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import uvicorn

from entrepot.cli.server import listening_socket, server_config, url_of
from entrepot.clock import Clock
from entrepot.fleet import queries, schema
from entrepot.fleet.database import Database
from entrepot.fleet.part import FleetPart
from entrepot.fleet.postgres import EmbeddedPostgres, program
from entrepot.fleet.rules import key_hash
from entrepot.fleet.service import History
from entrepot.fleet.settings import Fleet
from entrepot.fleet.worker import Work
from entrepot.http.caller import ANONYMOUS, Caller, Connection
from entrepot.settings import Core
from entrepot.web.application import assemble
from entrepot.web.edge import Limits

PROJECTS_PER_OWNER = 5
KEY = "ab" * 32
BOARDS = 2_000
CLIENTS = (16, 64)
SECONDS = 10
SWEPT = 100_000
ASKED = 300
PAGE = 100
REACH = 0.3


async def nobody(_: Connection) -> Caller:
    return ANONYMOUS


async def no_owner(_: Caller) -> UUID | None:
    return None


def serve(url: str) -> None:
    """The application with the fleet alone, in a process of its own."""
    part = FleetPart(
        settings=Fleet(sweep_seconds=3600), postgres_url=url, data_path=Path("/nowhere"), clock=Clock(),
        cursor_key=b"bench", owners=no_owner,
    )  # fmt: skip
    limits = Limits(body_bytes_max=1 << 20, header_bytes_max=32768, timeout_seconds=30.0)
    application = assemble(
        parts=[part], limits=limits, authenticator=nobody, log_key=b"k", routes=part.routes, lanes=part.lanes
    )
    listener = listening_socket("127.0.0.1", 0)
    print(url_of(listener), flush=True)
    uvicorn.Server(server_config(application, Core())).run(sockets=[listener])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve", metavar="URL")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("heartbeats", "sweep", "history"))
    parser.add_argument("--heartbeats", type=int, default=10_000_000)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve)
        return
    home = Path(tempfile.mkdtemp(prefix="entrepot-bench-"))
    server = EmbeddedPostgres(home / "postgres")
    url = server.start()
    try:
        schema.prepare(url)
        if given.only in (None, "heartbeats"):
            measure_heartbeats(server, url, seconds=3 if given.quick else SECONDS)
        if given.only in (None, "sweep"):
            asyncio.run(measure_sweep(url, SWEPT // 10 if given.quick else SWEPT))
        if given.only in (None, "history"):
            asyncio.run(measure_history(url, 200_000 if given.quick else given.heartbeats))
    finally:
        server.stop()
        shutil.rmtree(home)


# Heartbeats


def measure_heartbeats(server: EmbeddedPostgres, url: str, *, seconds: int) -> None:
    # All online already: a change of status costs more, and is rare.
    fill(url, BOARDS, silent_minutes=0)
    limits = {}
    for clients in CLIENTS:
        limits[clients], late = pgbench(server, clients, seconds)
        print(
            f"pgbench, the same statement   {clients:3} clients  {limits[clients]:8.0f}/s  p99 {late:6.1f} ms"
        )
    serving = subprocess.Popen(
        [sys.executable, __file__, "--serve", url], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        assert serving.stdout is not None
        address = serving.stdout.readline().strip()
        asyncio.run(load(address, 4, 1))
        for clients in CLIENTS:
            rate, late = asyncio.run(load(address, clients, seconds))
            ratio = rate / limits[clients]
            print(f"POST /fleet/device-heartbeat  {clients:3} clients  {rate:8.0f}/s  p99 {late:6.1f} ms"
                  f"  ratio {ratio:.2f}")  # fmt: skip
            if clients == CLIENTS[0]:
                print(
                    f"reach: at least {REACH} of pgbench at {clients} clients: {'yes' if ratio >= REACH else 'NO'}"
                )
    finally:
        serving.terminate()
        serving.wait(20)


def fill(url: str, boards: int, *, silent_minutes: int) -> None:
    """Projects full of boards, all with one key."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "TRUNCATE projects, devices, device_heartbeats, device_status_events, fleet_outbox"
        )
        connection.execute(
            "INSERT INTO auth.users SELECT lpad(to_hex(n), 32, '0')::uuid FROM generate_series(0, %s) AS n"
            " ON CONFLICT DO NOTHING",
            [-(-boards // 20) // PROJECTS_PER_OWNER],
        )
        connection.execute(
            "INSERT INTO projects (project_id, name, user_id) SELECT CASE WHEN n < 1000 THEN 'PROJ' ELSE 'P' END || n,"
            " 'Bench ' || n, lpad(to_hex((n - 1) / %s), 32, '0')::uuid FROM generate_series(1, %s) AS n",
            [PROJECTS_PER_OWNER, -(-boards // 20)],
        )
        connection.execute(
            "INSERT INTO devices (composite_device_id, project_id, device_number, name, device_key, device_key_hash,"
            " user_id, status, last_seen_at) SELECT project_id || '-ESP' || n, project_id, n, 'Board', '…', %s, "
            "user_id, 'online', now() - %s * interval '1 minute' FROM projects, generate_series(1, 20) AS n",
            [key_hash(KEY), silent_minutes],
        )
        connection.execute("VACUUM ANALYZE projects, devices")


def pgbench(server: EmbeddedPostgres, clients: int, seconds: int) -> tuple[float, float]:
    """Rate and p99 (ms) of the statement, one heartbeat each time."""
    values = {
        "$1": "ARRAY['PROJ' || (:n::integer / 20 + 1)::text || '-ESP' || (:n::integer % 20 + 1)::text]",
        "$2": f"ARRAY['{key_hash(KEY)}']", "$3": "ARRAY[-60]", "$4": "ARRAY['192.168.1.20']",
        "$5": "ARRAY['3.1.0']", "$6": "ARRAY[now()]", "$7": "'0123456789abcdef'", "$8": "now()",
    }  # fmt: skip
    statement = re.sub(r"\$[1-8]", lambda found: values[found[0]], queries.HEARTBEATS_BY_NAME)
    # pgbench would take these colons for variables of its own.
    statement = statement.replace("HH24:MI:SS", "HH24-MI-SS")
    with tempfile.TemporaryDirectory(prefix="entrepot-pgbench-") as folder:
        script = Path(folder) / "heartbeat.sql"
        script.write_text(f"\\set n random(0, {BOARDS - 1})\n{statement};\n")
        options = [
            "-n",
            "-M",
            "prepared",
            "-c",
            str(clients),
            "-j",
            "2",
            "-T",
            str(seconds),
            "-f",
            str(script),
            "-l",
        ]
        address = server.url(user="authenticator")
        done = subprocess.run(
            [program("pgbench"), *options, "--log-prefix", f"{folder}/times", address], capture_output=True, text=True,
            env={**os.environ, "PGOPTIONS": "-c role=service_role"}, check=False,
        )  # fmt: skip
        found = re.search(r"tps = ([0-9.]+)", done.stdout)
        if found is None:
            raise SystemExit(f"pgbench failed: {done.stdout}{done.stderr}")
        micros = [
            int(line.split()[2])
            for path in Path(folder).glob("times*")
            for line in path.read_text().splitlines()
        ]
    return float(found[1]), percentile(micros, 99) / 1000


async def load(address: str, clients: int, seconds: float) -> tuple[float, float]:
    """Rate and p99 (ms) over HTTP, each client with one kept connection."""
    host, port = address.removeprefix("http://").split(":")
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        body = b'{"rssi":-60,"ip_address":"192.168.1.20","fw_version":"3.1.0"}'
        board = number
        while time.perf_counter() < end:
            board = (board + 37) % BOARDS
            head = (
                f"POST /fleet/device-heartbeat HTTP/1.1\r\nHost: {host}\r\nx-composite-device-id: "
                f"PROJ{board // 20 + 1}-ESP{board % 20 + 1}\r\nx-device-key: {KEY}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            began = time.perf_counter()
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            said = await reader.readexactly(length)
            if not answer.startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"a heartbeat was refused: {said!r}")
            times.append(time.perf_counter() - began)
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(clients)))
    return len(times) / (time.perf_counter() - began), percentile(times, 99) * 1000


# The sweep


async def measure_sweep(url: str, boards: int) -> None:
    fill(url, boards, silent_minutes=5)
    bare = timed_sql(url, "UPDATE devices SET status = 'offline' WHERE status = 'online'"
                          " AND last_seen_at < now() - interval '2 minutes'")  # fmt: skip
    fill(url, boards, silent_minutes=5)
    clock = Clock()
    database = Database(url=url, embedded=None)
    work = Work(database, clock)
    await work.listen(fresh=True)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE fleet_listening SET since = now() - interval '1 hour'")
    began = time.perf_counter()
    swept = await work.sweep()
    took = time.perf_counter() - began
    began = time.perf_counter()
    await work.sweep()
    idle = time.perf_counter() - began
    await database.close()
    print(f"sweep of {swept} silent boards  {took:.2f} s with an event and an outbox row each; the bare UPDATE "
          f"{bare:.2f} s, ratio {bare / took:.2f}; with nothing to do {idle * 1000:.1f} ms")  # fmt: skip


def timed_sql(url: str, statement: str) -> float:
    with psycopg.connect(url, autocommit=True) as connection:
        began = time.perf_counter()
        connection.execute(statement.encode())
        return time.perf_counter() - began


# History


async def measure_history(url: str, rows: int) -> None:
    fill(url, BOARDS, silent_minutes=0)
    took = timed_sql(url, f"""
        SET session_replication_role = replica;
        INSERT INTO device_heartbeats (device_id, composite_device_id, rssi, ip_address, fw_version, ts)
        SELECT d.id, d.composite_device_id, -60, '192.168.1.20', '3.1.0', now() - n * interval '28 days' / {rows}
        FROM generate_series({rows}, 1, -1) AS n
        JOIN (SELECT id, composite_device_id, row_number() OVER () - 1 AS place FROM devices) d
          ON d.place = n % {BOARDS}""")  # fmt: skip
    timed_sql(url, "VACUUM ANALYZE device_heartbeats")
    print(f"{rows} heartbeats written in {took:.0f} s")
    clock = Clock()
    database = Database(url=url, embedded=None)
    history = History(database, clock)
    start = clock.utc() - timedelta(days=30)

    async def page(number: int) -> None:
        project = number % (BOARDS // 20)
        owner, name = UUID(int=project // PROJECTS_PER_OWNER), f"PROJ{project + 1}-ESP{number % 20 + 1}"
        found, _ = await history.heartbeats(
            owner, name, start=start, before=(clock.utc(), 1 << 62), limit=PAGE
        )
        assert len(found) == min(PAGE, rows // BOARDS)

    ours = await timed(page)
    async with database.service() as connection:
        ids = [row[0] for row in await connection.fetch("SELECT id FROM devices LIMIT 500")]

        async def bare(number: int) -> None:
            device = ids[number % len(ids)]
            await connection.fetch(queries.HEARTBEATS_OF_DEVICE, device, start, clock.utc(), 1 << 62, PAGE)

        limit = await timed(bare)
    tell("history of one board, a page of 100 under row-level security", ours, limit)
    seed = 'CREATE POLICY "Users can view their device heartbeats" ON device_heartbeats FOR SELECT USING '
    drop = 'DROP POLICY "Users can view their device heartbeats" ON device_heartbeats; '
    timed_sql(url, f"{drop}{seed} (device_id IN (SELECT id FROM devices WHERE user_id = auth.uid()))")
    seeds = await timed(page)
    print(f"  with the seed's policy as it stands  p50 {percentile(seeds, 50) * 1000:.2f} ms")
    await database.close()


async def timed(ask: Callable[[int], Awaitable[Any]]) -> list[float]:
    times = []
    for number in range(ASKED):
        began = time.perf_counter()
        await ask(number)
        times.append(time.perf_counter() - began)
    return times[ASKED // 10 :]


def tell(what: str, ours: list[float], limit: list[float]) -> None:
    ratio = percentile(limit, 50) / percentile(ours, 50)
    print(f"{what}  p50 {percentile(ours, 50) * 1000:.2f} ms, p99 {percentile(ours, 99) * 1000:.2f} ms; the bare "
          f"query p50 {percentile(limit, 50) * 1000:.2f} ms, ratio {ratio:.2f}")  # fmt: skip


def percentile(values: list[Any], percent: int) -> float:
    return float(statistics.quantiles(values, n=100)[percent - 1])


if __name__ == "__main__":
    main()
