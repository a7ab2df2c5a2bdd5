"""The engine in process, beside raw SQLite in the same run.

python bench/engine.py                 the rows of the design page
python bench/engine.py --layout        page sizes and table kinds: what the layout was chosen by
python bench/engine.py --growth N      cost with 10,000 items against N (try 10000000)
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

import boto3
import uvloop
from moto import mock_aws

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measuring import Row, alternate, at_least, at_most, show
from bench.measuring.raw import RawStore
from entrepot.engine import Engine

ITEMS = 20_000
WAITING = 64

TABLE: dict[str, Any] = {
    "TableName": "plain",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
INDEXED: dict[str, Any] = {
    **TABLE,
    "TableName": "indexed",
    "AttributeDefinitions": [*TABLE["AttributeDefinitions"], {"AttributeName": "g", "AttributeType": "S"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


def make_item(number: int, body: int = 900) -> dict[str, Any]:
    """About a kilobyte, with the attributes of an ordinary item."""
    return {
        "pk": f"USER#{number % 100}",
        "sk": f"ITEM#{number:08}",
        "count": number,
        "name": "a thing that reports in",
        "status": "active",
        "ratio": 0.25,
        "body": "x" * body,
    }


def raw_key(number: int) -> bytes:
    return f"USER#{number % 100}\0\0ITEM#{number:08}\0\0".encode()


class Bench:
    """The two stores, filled with the same items."""

    def __init__(self, engine: Engine, raw: RawStore) -> None:
        self.engine = engine
        self.raw = raw
        self.fresh = count(ITEMS)
        self.raw_fresh = count(ITEMS)

    async def fill(self) -> None:
        await self.engine.call("CreateTable", TABLE)
        await self.engine.call("CreateTable", INDEXED)
        await self._waiting(range(ITEMS), self._put)
        for start in range(0, ITEMS, WAITING):
            numbers = range(start, min(start + WAITING, ITEMS))
            self.raw.put_group([(raw_key(number), make_item(number)) for number in numbers])

    async def get(self) -> float:
        numbers = random.Random(1).sample(range(ITEMS), 2_000)
        call = self.engine.call
        started = time.perf_counter()
        for number in numbers:
            await call(
                "GetItem",
                {"TableName": "plain", "Key": {"pk": f"USER#{number % 100}", "sk": f"ITEM#{number:08}"}},
            )
        return (time.perf_counter() - started) / len(numbers) * 1e6

    async def raw_get(self) -> float:
        numbers = random.Random(1).sample(range(ITEMS), 2_000)
        started = time.perf_counter()
        for number in numbers:
            self.raw.get(raw_key(number))
        return (time.perf_counter() - started) / len(numbers) * 1e6

    async def query(self) -> float:
        started = time.perf_counter()
        for number in range(300):
            answer = await self.engine.call(
                "Query",
                {
                    "TableName": "plain",
                    "KeyConditionExpression": "pk = :p",
                    "ExpressionAttributeValues": {":p": f"USER#{number % 100}"},
                    "Limit": 20,
                },
            )
            assert answer["Count"] == 20
        return (time.perf_counter() - started) / 300 * 1e6

    async def raw_query(self) -> float:
        started = time.perf_counter()
        for number in range(300):
            low = f"USER#{number % 100}\0\0".encode()
            assert len(self.raw.query(low, low + b"\xff", 20)) == 20
        return (time.perf_counter() - started) / 300 * 1e6

    async def put(self) -> float:
        return await self._waiting([next(self.fresh) for _ in range(6_400)], self._put)

    async def raw_put(self) -> float:
        numbers = [next(self.raw_fresh) for _ in range(6_400)]
        started = time.perf_counter()
        for start in range(0, len(numbers), WAITING):
            self.raw.put_group(
                [(raw_key(number), make_item(number)) for number in numbers[start : start + WAITING]]
            )
        return len(numbers) / (time.perf_counter() - started)

    async def transact(self) -> float:
        return await self._waiting([next(self.fresh) for _ in range(3_200)], self._transact)

    async def raw_transact(self) -> float:
        numbers = [next(self.raw_fresh) for _ in range(3_200)]
        started = time.perf_counter()
        for start in range(0, len(numbers), WAITING):
            self.raw.transact_group(
                [
                    (
                        b"A%012d" % number,
                        {"pk": "A", "sk": str(number), "g": f"g{number}"},
                        raw_key(number),
                        make_item(number),
                    )
                    for number in numbers[start : start + WAITING]
                ]
            )
        return len(numbers) / (time.perf_counter() - started)

    async def _waiting(self, numbers: Any, work: Any) -> float:
        """So many callers at once, each with one call under way; calls per second."""
        left = iter(numbers)

        async def caller() -> int:
            done = 0
            for number in left:
                await work(number)
                done += 1
            return done

        started = time.perf_counter()
        done = sum(await asyncio.gather(*(caller() for _ in range(WAITING))))
        return done / (time.perf_counter() - started)

    async def _put(self, number: int) -> None:
        await self.engine.call("PutItem", {"TableName": "plain", "Item": make_item(number)})

    async def _transact(self, number: int) -> None:
        await self.engine.call(
            "TransactWriteItems",
            {
                "TransactItems": [
                    {
                        "Put": {
                            "TableName": "indexed",
                            "Item": {"pk": "A", "sk": str(number), "g": f"g{number}"},
                            "ConditionExpression": "attribute_not_exists(pk)",
                        }
                    },
                    {"Put": {"TableName": "indexed", "Item": make_item(number)}},
                ]
            },
        )


async def rows_of_the_page(home: Path) -> None:
    engine = await Engine.open(home / "engine.db")
    raw = RawStore(home / "raw.db")
    bench = Bench(engine, raw)
    await bench.fill()
    rows: list[Row] = [
        at_most(
            "GetItem, 1 KB", "µs", await alternate(bench.get, bench.raw_get), 2.5, "raw apsw get + decode"
        ),
        at_most("Query of 20", "µs", await alternate(bench.query, bench.raw_query), 2.0, "raw apsw"),
        at_least(
            f"PutItem durable, {WAITING} waiting",
            "/s",
            await alternate(bench.put, bench.raw_put),
            0.5,
            "raw groups of 64",
        ),
        at_least(
            "2-item conditional transaction, one index",
            "/s",
            await alternate(bench.transact, bench.raw_transact),
            0.5,
            "raw groups of 64",
        ),
    ]
    show("The engine in process, beside raw SQLite (apsw)", rows)
    await engine.close()
    raw.close()
    rows = [await store_for_a_test(), await reopening(home, 300)]
    show("Start", rows)


async def store_for_a_test() -> Row:
    """What the pytest fixture costs each test, beside moto's mock with an empty DynamoDB."""

    async def ours() -> float:
        started = time.perf_counter()
        for _ in range(20):
            engine = await Engine.open()
            await engine.call("ListTables", {})
            await engine.close()
        return (time.perf_counter() - started) / 20 * 1000

    async def moto() -> float:
        started = time.perf_counter()
        with mock_aws():
            boto3.client(
                "dynamodb", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
            ).list_tables()
        return (time.perf_counter() - started) * 1000

    return at_most("a store of its own for a test", "ms", await alternate(ours, moto), 0.5, "moto's mock")


async def reopening(home: Path, megabytes: int) -> Row:
    """Opening a large store, beside opening an empty one."""
    large, empty = home / "large.db", home / "empty.db"
    engine = await Engine.open(large)
    await engine.call("CreateTable", TABLE)
    body = "x" * 100_000
    for start in range(0, megabytes * 10, WAITING):
        await asyncio.gather(
            *(
                engine.call(
                    "PutItem", {"TableName": "plain", "Item": {"pk": "big", "sk": str(number), "b": body}}
                )
                for number in range(start, start + WAITING)
            )
        )
    await engine.close()
    await (await Engine.open(empty)).close()

    async def opening(path: Path) -> float:
        started = time.perf_counter()
        engine = await Engine.open(path)
        await engine.call("ListTables", {})
        taken = time.perf_counter() - started
        await engine.close()
        return taken * 1000

    measured = await alternate(lambda: opening(large), lambda: opening(empty))
    return at_most(f"open a store of {megabytes} MB", "ms", measured, 3.0, "an empty one")


async def growth(home: Path, largest: int) -> None:
    """What a get and a put cost in a large store beside a small one; items of 100 bytes, so that many fit."""
    small_size = 10_000
    stores: list[tuple[Engine, int]] = []
    for name, size in (("large", largest), ("small", small_size)):
        engine = await Engine.open(home / f"growth-{name}.db")
        await engine.call("CreateTable", TABLE)
        await fill_growth(engine, 0, size)
        stores.append((engine, size))
    (large, _), (small, _) = stores
    ticket = count()
    rows: list[Row] = []
    gets = await alternate(lambda: cost_of_gets(large, largest), lambda: cost_of_gets(small, small_size))
    rows.append(at_most(f"GetItem at {largest:,} items", "µs", gets, 1.5, "at 10,000"))
    for work, in_order, bound in (("PutItem in key order", True, 1.5), ("PutItem at random", False, 3.0)):
        puts = await alternate(
            lambda in_order=in_order: cost_of_puts(large, next(ticket), in_order=in_order),  # type: ignore[misc]
            lambda in_order=in_order: cost_of_puts(small, next(ticket), in_order=in_order),  # type: ignore[misc]
            rounds=3,
        )
        rows.append(at_most(f"{work} at {largest:,} items", "µs", puts, bound, "at 10,000"))
    show("Cost growth", rows)
    for engine, _ in stores:
        await engine.close()


def growth_item(number: int) -> dict[str, Any]:
    return {"pk": f"P{number % 1000}", "sk": f"{number:012}", "body": "x" * 80}


async def fill_growth(engine: Engine, start: int, end: int) -> None:
    step = 512
    for at in range(start, end, step):
        await asyncio.gather(
            *(
                engine.call("PutItem", {"TableName": "plain", "Item": growth_item(number)})
                for number in range(at, min(at + step, end))
            )
        )
        if at % (step * 400) == 0 and end > 100_000:
            print(f"\r  filling {at:,} of {end:,}", end="", flush=True)
    print("\r" + " " * 40 + "\r", end="")


async def cost_of_gets(engine: Engine, size: int) -> float:
    numbers = random.Random(2).choices(range(size), k=5_000)
    started = time.perf_counter()
    for number in numbers:
        item = growth_item(number)
        await engine.call("GetItem", {"TableName": "plain", "Key": {"pk": item["pk"], "sk": item["sk"]}})
    return (time.perf_counter() - started) / len(numbers) * 1e6


async def cost_of_puts(engine: Engine, ticket: int, *, in_order: bool) -> float:
    chance = random.Random(ticket)
    items = [
        {
            "pk": "ordered" if in_order else f"R{chance.random()}",
            "sk": f"{ticket:04}-{number:08}",
            "body": "x" * 80,
        }
        for number in range(1_920)
    ]
    started = time.perf_counter()
    for at in range(0, len(items), WAITING):
        await asyncio.gather(
            *(
                engine.call("PutItem", {"TableName": "plain", "Item": item})
                for item in items[at : at + WAITING]
            )
        )
    return (time.perf_counter() - started) / len(items) * 1e6


def layout(home: Path, items: int = 100_000) -> None:
    """Random 1 KB items on each layout: what the page size and the kind of table were chosen by."""
    print(f"\nLayouts, {items:,} random items of 1 KB")
    numbers = list(range(items))
    random.Random(4).shuffle(numbers)
    for without_rowid in (False, True):
        for page_bytes in (4096, 8192, 16384, 32768):
            path = home / f"layout-{page_bytes}-{without_rowid}.db"
            raw = RawStore(path, page_bytes, without_rowid)
            started = time.perf_counter()
            for at in range(0, items, WAITING):
                raw.put_group(
                    [
                        (b"%016x" % (number * 2654435761 % 2**32), make_item(number))
                        for number in numbers[at : at + WAITING]
                    ]
                )
            inserts = items / (time.perf_counter() - started)
            started = time.perf_counter()
            for number in numbers[:5_000]:
                raw.get(b"%016x" % (number * 2654435761 % 2**32))
            get = (time.perf_counter() - started) / 5_000 * 1e6
            raw.close()
            kind = "WITHOUT ROWID" if without_rowid else "rowid + unique key"
            size = path.stat().st_size / 2**20
            print(
                f"  {kind:<18} {page_bytes:>6} B pages  {inserts:>8,.0f} inserts/s  {get:>6.1f} µs/get  "
                f"{size:>7,.0f} MB"
            )
            path.unlink()


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--layout", action="store_true")
    options.add_argument("--growth", type=int, metavar="N")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="entrepot-bench-", dir=Path.cwd()) as home:
        if chosen.layout:
            layout(Path(home))
        elif chosen.growth:
            uvloop.run(growth(Path(home), chosen.growth))
        else:
            uvloop.run(rows_of_the_page(Path(home)))
            uvloop.run(growth(Path(home), 300_000))


if __name__ == "__main__":
    main()
