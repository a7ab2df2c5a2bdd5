"""Work on the embedded store, beside the bare writes that it can't do without.

python bench/work.py            one process and two, and the latency of the wake-up
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import uvloop

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measuring import Row, alternate, at_least, at_most, show
from entrepot.engine import Engine
from entrepot.tables import Database, provision
from entrepot.work import DONE, Lease, Outcome, Work, Worker, WorkItem
from entrepot.work.model import work as work_table

WAITING = 64
CONCURRENCY = 256
ITEMS = 3_000
LATENCIES = 400
KEYS = 50
ROUNDS = 5


class Bench:
    """One store with a worker, and bare requests on the same store."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.db = Database(engine)
        self.work = declared(self.db, self.act)
        self.numbers = count()
        self.left = 0
        self.ended = asyncio.Event()
        self.started_at: dict[str, float] = {}

    async def act(self, item: WorkItem, lease: Lease) -> Outcome:
        if item.subject is not None:
            self.started_at[item.subject] = time.perf_counter()
        self.left -= 1
        if self.left == 0:
            self.ended.set()
        return DONE

    async def woken(self) -> float:
        """Put in a transaction, handed over already claimed, done, removed; items a second."""
        self._expect(ITEMS)
        started = time.perf_counter()
        await self._callers(ITEMS, self._put)
        await self.ended.wait()
        return ITEMS / (time.perf_counter() - started)

    async def bare(self) -> float:
        """A transaction with the same item, and its conditional removal; no work at all."""
        started = time.perf_counter()
        await self._callers(ITEMS, self._put_and_delete)
        return ITEMS / (time.perf_counter() - started)

    async def found(self) -> float:
        """What waits in the index: found, claimed, done and removed; items a second."""
        await put_many(self.work, ITEMS)
        self._expect(ITEMS)
        for lane in self.work.lanes.values():
            lane.open = True
        worker = Worker(self.work)
        started = time.perf_counter()
        await worker.start()
        await self.ended.wait()
        taken = time.perf_counter() - started
        await worker.stop()
        return ITEMS / taken

    async def bare_claims(self) -> float:
        """The two writes that a claim and an end are, on items that are there."""
        keys = [f"bare{next(self.numbers)}" for _ in range(ITEMS)]
        await self._callers(ITEMS, self._bare_put, keys)
        started = time.perf_counter()
        await self._callers(ITEMS, self._bare_claim, keys)
        return ITEMS / (time.perf_counter() - started)

    async def start_latency(self, quantile: float) -> float:
        """From the call that commits to the start of the handler, in milliseconds."""
        return _quantile(await self._latencies(with_start=True), quantile)

    async def commit_latency(self, quantile: float) -> float:
        """The same transaction alone, in milliseconds."""
        return _quantile(await self._latencies(with_start=False), quantile)

    async def commit_to_start(self) -> list[float]:
        """From the moment that the caller knows of the commit to the start of the handler, in milliseconds."""
        return await self._latencies(with_start=True, from_commit=True)

    async def _latencies(self, *, with_start: bool, from_commit: bool = False) -> list[float]:
        found: list[float] = []
        for _ in range(LATENCIES):
            number = next(self.numbers)
            name = f"l{number}"
            self._expect(1)
            began = time.perf_counter()
            if with_start:
                async with self.db.transaction() as transaction:
                    self.work.put(transaction, kind="bench.act", subject=name)
                committed = time.perf_counter()
                await self.ended.wait()
                found.append(self.started_at.pop(name) - (committed if from_commit else began))
            else:
                await self._bare_put(name)
                found.append(time.perf_counter() - began)
            # One at a time: the next begins on an idle store.
            await asyncio.sleep(0.001)
        return [seconds * 1000 for seconds in found]

    def _expect(self, items: int) -> None:
        self.left = items
        self.ended.clear()

    async def _callers(self, items: int, act: Any, arguments: list[str] | None = None) -> None:
        left = iter(arguments or [f"c{next(self.numbers)}" for _ in range(items)])

        async def caller() -> None:
            for argument in left:
                await act(argument)

        await asyncio.gather(*(caller() for _ in range(WAITING)))

    async def _put(self, name: str) -> None:
        async with self.db.transaction() as transaction:
            self.work.put(transaction, kind="bench.act", key=f"key{hash(name) % KEYS}")

    async def _put_and_delete(self, name: str) -> None:
        await self._bare_put(name)
        await self._bare_delete(name)

    async def _bare_put(self, name: str) -> None:
        item = {
            "PK": f"WORK#{name:0>33}", "SK": "WORK", "workId": f"{name:0>33}", "kind": "bench.act", "attempts": 1,
            "duePk": "BARE", "dueSk": f"0000000000000#{name}", "leaseId": "lease1234567", "arguments": {},
        }  # fmt: skip
        put = {"TableName": work_table.name, "Item": item}
        # With a token, as whoever may have to send it again needs it.
        request = {"TransactItems": [{"Put": put}], "ClientRequestToken": secrets.token_hex(16)}
        await self.engine.call("TransactWriteItems", request)

    async def _bare_claim(self, name: str) -> None:
        await self.engine.call(
            "UpdateItem",
            {
                "TableName": work_table.name,
                "Key": {"PK": f"WORK#{name:0>33}", "SK": "WORK"},
                "UpdateExpression": "SET leaseId = :l, dueSk = :s ADD attempts :one",
                "ConditionExpression": "duePk = :p AND dueSk <= :u",
                "ExpressionAttributeValues": {
                    ":l": "lease1234567", ":s": f"1#{name}", ":one": 1, ":p": "BARE", ":u": "2",
                },
                "ReturnValues": "ALL_NEW",
            },
        )  # fmt: skip
        await self._bare_delete(name)

    async def _bare_delete(self, name: str) -> None:
        await self.engine.call(
            "DeleteItem",
            {
                "TableName": work_table.name,
                "Key": {"PK": f"WORK#{name:0>33}", "SK": "WORK"},
                "ConditionExpression": "leaseId = :l",
                "ExpressionAttributeValues": {":l": "lease1234567"},
            },
        )


def declared(db: Database, act: Any) -> Work:
    work = Work(db)
    work.handle("bench.act", act, concurrency=CONCURRENCY, key_concurrency=16)
    return work


async def put_many(work: Work, items: int) -> None:
    """Work that waits in the index, put by a process that does none."""
    numbers = iter(range(items))

    async def caller() -> None:
        for number in numbers:
            await work.add(kind="bench.act", key=f"key{number % KEYS}")

    await asyncio.gather(*(caller() for _ in range(WAITING)))


async def rows(home: Path) -> None:
    engine = await Engine.open(home / "one.db")
    bench = Bench(engine)
    await provision(bench.db, [work_table])
    found = await alternate(bench.found, bench.bare_claims, ROUNDS)
    worker = Worker(bench.work)
    await worker.start()
    woken = await alternate(bench.woken, bench.bare, ROUNDS)
    table: list[Row] = [
        at_least("put, woken already claimed, ended", "/s", woken, 0.5, "bare transaction + delete"),
        at_least("found in the index, claimed, ended", "/s", found, 0.4, "bare update + delete"),
    ]
    for quantile, name in ((0.5, "p50"), (0.99, "p99")):
        measured = await alternate(
            partial(bench.start_latency, quantile), partial(bench.commit_latency, quantile), ROUNDS
        )
        table.append(at_most(f"put to start, {name}", "ms", measured, 2.0, "the bare transaction"))
    after = [value for _ in range(ROUNDS) for value in await bench.commit_to_start()]
    await worker.stop()
    await engine.close()
    show(f"Work in one process, {WAITING} callers, {KEYS} keys, durable", table)
    p50, p99 = _quantile(after, 0.5), _quantile(after, 0.99)
    mark = "" if p50 < 5 else "   not reached in this run"
    print(f"  commit to start with the wake-up: p50 {p50:.3f} ms (< 5), p99 {p99:.3f} ms{mark}")


async def two_processes(home: Path) -> None:
    """The same backlog done by two processes and by one, in turns."""

    async def by(processes: int) -> float:
        path = home / f"shared{next(numbers)}.db"
        engine = await Engine.open(path)
        db = Database(engine)
        await provision(db, [work_table])

        async def nothing(item: WorkItem, lease: Lease) -> Outcome:
            return DONE

        await put_many(declared(db, nothing), ITEMS)
        await engine.close()
        children = [
            subprocess.Popen(
                [sys.executable, __file__, "--child", str(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for _ in range(processes)
        ]
        for child in children:
            assert child.stdout is not None
            assert await asyncio.to_thread(child.stdout.readline) == b"ready\n"
        started = time.perf_counter()
        for child in children:
            assert child.stdin is not None
            child.stdin.write(b"go\n")
            child.stdin.flush()
        outputs = [(await asyncio.to_thread(child.communicate))[0] for child in children]
        last = max(float(output.split()[-1]) for output in outputs)
        return ITEMS / (last - started)

    numbers = count()
    measured = await alternate(lambda: by(2), lambda: by(1), 3)
    row = at_least("a backlog done by two processes", "/s", measured, 0.6, "by one")
    show("Work shared by processes on one file", [row])


async def child(path: str) -> None:
    """Does work until there has been none for a while, and says when the last ended (on the machine's clock)."""
    engine = await Engine.open(path)
    last = 0.0

    async def act(item: WorkItem, lease: Lease) -> Outcome:
        nonlocal last
        await lease.finish(DONE)
        last = time.perf_counter()
        return DONE

    worker = Worker(declared(Database(engine), act))
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    last = time.perf_counter()
    await worker.start()
    while time.perf_counter() - last < 1.0:
        await asyncio.sleep(0.1)
    print(last, flush=True)
    await worker.stop()
    await engine.close()


def _quantile(values: list[float], quantile: float) -> float:
    if quantile == 0.5:
        return statistics.median(values)
    return sorted(values)[int(len(values) * quantile)]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        await child(options.child)
        return
    with tempfile.TemporaryDirectory(prefix="entrepot-bench-", dir=".") as home:
        await rows(Path(home))
        await two_processes(Path(home))


if __name__ == "__main__":
    uvloop.run(main())
