"""Time to the first answer and idle memory of `entrepot up`, beside a bare uvicorn + Litestar application.

Both are started in turn, several times; the medians and their ratio are printed.
"""

from __future__ import annotations

import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from typing import NamedTuple

import psutil

ROUNDS = 5
START_SECONDS_MAX = 30.0
POLL_SECONDS = 0.005
SETTLE_SECONDS = 0.5

BARE = """
import sys
import uvicorn
from litestar import Litestar, get

@get("/healthz")
async def healthz() -> dict[str, str]:
    return {"status": "alive"}

uvicorn.run(Litestar([healthz]), port=int(sys.argv[1]), log_level="warning")
"""


class Start(NamedTuple):
    seconds: float
    mebibytes: float


def main() -> None:
    ours: list[Start] = []
    bare: list[Start] = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            ours.append(measure(lambda port, folder=folder: up(port, folder)))  # type: ignore[misc]
        bare.append(measure(lambda port: [sys.executable, "-c", BARE, str(port)]))
    report("time to first answer, s", [start.seconds for start in ours], [start.seconds for start in bare])
    report(
        "idle resident memory, MiB", [start.mebibytes for start in ours], [start.mebibytes for start in bare]
    )


def up(port: int, folder: str) -> list[str]:
    command = [sys.executable, "-m", "entrepot", "up", "--port", str(port), "--data-dir", folder]
    return [*command, "--log-level", "error"]


def measure(command: Callable[[int], list[str]]) -> Start:
    port = free_port()
    began = time.perf_counter()
    process = subprocess.Popen(command(port), stdout=subprocess.DEVNULL)
    try:
        while not answers(port):
            if time.perf_counter() - began > START_SECONDS_MAX:
                raise TimeoutError("it does not answer")
            time.sleep(POLL_SECONDS)
        seconds = time.perf_counter() - began
        time.sleep(SETTLE_SECONDS)
        return Start(seconds, psutil.Process(process.pid).memory_info().rss / 1024**2)
    finally:
        process.terminate()
        process.wait()


def answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def report(what: str, ours: list[float], bare: list[float]) -> None:
    mine, other = statistics.median(ours), statistics.median(bare)
    print(f"{what:28} entrepot up {mine:7.2f}   bare Litestar {other:7.2f}   ratio {mine / other:.2f}")


if __name__ == "__main__":
    main()
