"""The engine over HTTP, and from a Python program, beside dynalite, moto and dynoxide in the same run.

Every server is a process of its own on an empty store on disk (moto has only memory). The load comes over
kept connections from this process, or from boto3 as a program would use it.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import boto3
import uvloop
from botocore.config import Config

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.engine import INDEXED, TABLE, make_item
from bench.measuring import Row, alternate, at_least, at_most, show
from bench.measuring.load import Client, repeat
from bench.peers import Peer, running
from entrepot.engine import Engine
from entrepot.engine.values import item_to_wire

CLIENTS = 16
ITEMS = 100
REQUESTS_MAX = 3_000
ROUND_SECONDS = 0.7
ROUNDS = 3

# By peer: the least ratio on the wire, and from a Python program for a get, a put and 64 puts at once.
REACH = {
    "dynalite": (2.0, 20.0, 4.0, 20.0),
    "moto": (10.0, 20.0, 4.0, 20.0),
    "dynoxide": (0.0, 20.0, 4.0, 20.0),
}


@contextmanager
def our_server(data: str) -> Iterator[Peer]:
    command = [sys.executable, "-m", "entrepot", "dynamo", "--port", "0", "--data", data]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.startswith("AWS_ENDPOINT_URL_DYNAMODB="):
                    yield Peer("entrepot", "", line.strip().partition("=")[2])
                    break
        finally:
            process.terminate()


class Loaded:
    """One server with tables and items in it, ready to be measured."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.client = Client(peer.url)
        self.numbers = count()
        self.fresh = count(ITEMS)

    async def fill(self) -> None:
        await self.client.call("CreateTable", TABLE)
        await self.client.call("CreateTable", INDEXED)
        await self.client.rate(repeat(self.put, self.numbers, ITEMS), 4)

    def put(self, number: int) -> bytes:
        return self.client.request("PutItem", {"TableName": "plain", "Item": item_to_wire(make_item(number))})

    def get(self, number: int) -> bytes:
        item = make_item(number % ITEMS)
        key = item_to_wire({"pk": item["pk"], "sk": item["sk"]})
        return self.client.request("GetItem", {"TableName": "plain", "Key": key})

    def query(self, number: int) -> bytes:
        values = item_to_wire({":p": f"USER#{number % 100}"})
        return self.client.request(
            "Query",
            {
                "TableName": "plain",
                "KeyConditionExpression": "pk = :p",
                "ExpressionAttributeValues": values,
                "Limit": 5,
            },
        )

    def transact(self, number: int) -> bytes:
        first = item_to_wire({"pk": "A", "sk": str(number), "g": f"g{number}"})
        condition = "attribute_not_exists(pk)"
        puts = [
            {"Put": {"TableName": "indexed", "Item": first, "ConditionExpression": condition}},
            {"Put": {"TableName": "indexed", "Item": item_to_wire(make_item(number))}},
        ]
        return self.client.request("TransactWriteItems", {"TransactItems": puts})

    async def measure(self, work: str) -> Callable[[], Awaitable[float]]:
        """A measurement of one kind of request, as long on a slow server as on a fast one."""
        make = getattr(self, work)
        first = await self.client.rate(repeat(make, self.fresh, CLIENTS), CLIENTS)
        requests = max(CLIENTS, min(REQUESTS_MAX, int(first * ROUND_SECONDS)))
        return lambda: self.client.rate(repeat(make, self.fresh, requests), CLIENTS)


async def on_the_wire(home: str) -> None:
    rows: list[Row] = []
    with our_server(f"{home}/wire") as ours, running(on_disk=True) as peers:
        our = Loaded(ours)
        await our.fill()
        for peer in peers:
            their = Loaded(peer)
            await their.fill()
            works = ["get", "put", "query"] + (["transact"] if peer.name != "dynalite" else [])
            for work in works:
                measured = await alternate(await our.measure(work), await their.measure(work), ROUNDS)
                rows.append(
                    at_least(f"{work}, {CLIENTS} clients", "/s", measured, REACH[peer.name][0], peer.name)
                )
    show("On the wire, durable on our side", rows)
    print(
        "  dynalite has no transactions; moto keeps everything in memory; dynoxide is the ceiling to come near"
    )


def boto_client(peer: Peer) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=peer.url,
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(max_pool_connections=64),
    )


async def from_a_program(home: str) -> None:
    """What an operation costs a Python program: ours in process, theirs through boto3."""
    rows: list[Row] = []
    engine = await Engine.open(f"{home}/program.db")
    await engine.call("CreateTable", TABLE)
    ours = OurProgram(engine)
    with running(on_disk=True) as peers, ThreadPoolExecutor(64) as threads:
        for peer in peers:
            theirs = TheirProgram(boto_client(peer), threads)
            theirs.client.create_table(**TABLE)
            theirs.put_one()
            _, get, put, puts = REACH[peer.name]
            for work, our, their, reach in (
                ("GetItem", ours.get, theirs.get, get),
                ("single durable PutItem", ours.put, theirs.put, put),
                ("PutItem, 64 at once", ours.put_many, theirs.put_many, puts),
            ):
                name = f"boto3 on {peer.name}"
                rows.append(
                    at_least(f"{work}, per second", "/s", await alternate(our, their, ROUNDS), reach, name)
                )
    await engine.close()
    show("From a Python program: in process, against boto3 on a server", rows)


class OurProgram:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._numbers = count()

    async def get(self) -> float:
        await self._put()
        item = make_item(0)
        started = time.perf_counter()
        for _ in range(2_000):
            await self._engine.call(
                "GetItem", {"TableName": "plain", "Key": {"pk": item["pk"], "sk": item["sk"]}}
            )
        return 2_000 / (time.perf_counter() - started)

    async def put(self) -> float:
        started = time.perf_counter()
        for _ in range(300):
            await self._put()
        return 300 / (time.perf_counter() - started)

    async def put_many(self) -> float:
        started = time.perf_counter()
        for _ in range(30):
            await asyncio.gather(*(self._put() for _ in range(64)))
        return 30 * 64 / (time.perf_counter() - started)

    async def _put(self) -> None:
        item = make_item(next(self._numbers))
        await self._engine.call("PutItem", {"TableName": "plain", "Item": item})


class TheirProgram:
    def __init__(self, client: Any, threads: ThreadPoolExecutor) -> None:
        self.client = client
        self._threads = threads
        self._numbers = count()

    async def get(self) -> float:
        item = item_to_wire(make_item(0))
        started = time.perf_counter()
        for _ in range(100):
            self.client.get_item(TableName="plain", Key={"pk": item["pk"], "sk": item["sk"]})
        return 100 / (time.perf_counter() - started)

    async def put(self) -> float:
        started = time.perf_counter()
        for _ in range(100):
            self.put_one()
        return 100 / (time.perf_counter() - started)

    async def put_many(self) -> float:
        started = time.perf_counter()
        for future in [self._threads.submit(self.put_one) for _ in range(256)]:
            future.result()
        return 256 / (time.perf_counter() - started)

    def put_one(self) -> None:
        self.client.put_item(TableName="plain", Item=item_to_wire(make_item(next(self._numbers))))


async def durable_ingest(home: str) -> None:
    """One item written per request over bare ASGI, beside the same handler without the write."""
    rates: dict[str, list[float]] = {"write": [], "bare": []}
    handlers = {
        name: subprocess.Popen(
            [sys.executable, "-m", "bench.measuring.ingest", name, f"{home}/ingest.db"],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent,
        )
        for name in rates
    }
    try:
        clients = {}
        for name, process in handlers.items():
            assert process.stdout is not None
            clients[name] = Client(process.stdout.readline().strip())
        for _ in range(5):
            for name, client in clients.items():
                requests = iter([client.request("PutItem", {"a": "x" * 900})] * 4_000)
                rates[name].append(await client.rate(requests, 64))
    finally:
        for process in handlers.values():
            process.terminate()
    pairs = [ours / bare for ours, bare in zip(rates["write"], rates["bare"], strict=True)]
    measured = (statistics.median(rates["write"]), statistics.median(rates["bare"]), statistics.median(pairs))
    row = at_least("durable ingest over bare ASGI, 64 connections", "/s", measured, 0.35, "without the write")
    show("Ingest", [row])


def start_of_the_server(home: str) -> Row:
    """From the command to the first answer, beside dynalite's."""

    def ours() -> float:
        started = time.perf_counter()
        with our_server(f"{home}/start"):
            return (time.perf_counter() - started) * 1000

    def theirs() -> float:
        started = time.perf_counter()
        with running("dynalite") as peers:
            return (time.perf_counter() - started) * 1000 if peers else float("nan")

    pairs = [(ours(), theirs()) for _ in range(5)]
    measured = (
        statistics.median(pair[0] for pair in pairs),
        statistics.median(pair[1] for pair in pairs),
        statistics.median(pair[0] / pair[1] for pair in pairs),
    )
    return at_most("entrepot dynamo, to its first answer", "ms", measured, 2.0, "dynalite")


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="entrepot-bench-", dir=Path.cwd()) as home:
        await on_the_wire(home)
        await from_a_program(home)
        await durable_ingest(home)
        show("Start", [start_of_the_server(home)])


if __name__ == "__main__":
    uvloop.run(main())
