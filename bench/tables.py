"""The tables library: what it adds to the engine's own call, and beside other clients of DynamoDB on one endpoint.

Times are those of this process's CPU, since the endpoint is a process of its own and the machine may be shared.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, NewType

import aiobotocore.session
import boto3
import uvloop
from boto3.dynamodb.conditions import Key
from pydynox import DynamoDBClient
from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.models import Model as PynamoModel

from entrepot.engine import Engine
from entrepot.engine.values import item_to_wire
from entrepot.tables import (
    Access,
    Database,
    Entity,
    Item,
    Many,
    Table,
    begins_with,
    item,
    open_store,
    provision,
    query,
)

REGION = "us-east-1"
ROUNDS = 9
CALLS = 400
PAGE = 100
OVERHEAD_US = 25.0
KEY_US = 1.0
PAGE_US = 1000.0
# 400 µs where boto3 takes 1208: a ratio holds on any machine.
BOTO3_RATIO = 3.0

OwnerId = NewType("OwnerId", str)
PartId = NewType("PartId", str)

table = Table("bench-parts", "PK SK")


@table.entity(PK="OWNER#{owner}", SK="PART#{partId}")
class Part(Entity):
    """About 1 KB in nine attributes."""

    owner: OwnerId
    partId: PartId
    name: str
    maker: str
    colour: str
    count: int
    price: float
    notes: str
    more: str


class Parts(Access[Part]):
    def one(self, owner: OwnerId, partId: PartId) -> Item[Part]:
        return item()

    def of_owner(self, owner: OwnerId) -> Many[Part]:
        return query(PK=f"OWNER#{owner}", SK=begins_with("PART#"))


OWNER = OwnerId("owner-1")
SINGLE = OwnerId("owner-2")


def part(number: int, owner: OwnerId = OWNER) -> Part:
    return Part(
        owner=owner,
        partId=PartId(f"{number:06}"),
        name="a part",
        maker="a maker",
        colour="grey",
        count=number,
        price=12.25,
        notes="n" * 400,
        more="m" * 400,
    )


async def cost(call: Callable[[], Awaitable[Any]], calls: int = CALLS) -> float:
    """CPU of this thread per call, in microseconds."""
    started = time.thread_time()
    for _ in range(calls):
        await call()
    return (time.thread_time() - started) / calls * 1e6


async def difference(
    ours: Callable[[], Awaitable[Any]], raw: Callable[[], Awaitable[Any]]
) -> tuple[float, float]:
    """The raw call's cost and what ours adds: medians of rounds that alternate."""
    pairs = [(await cost(ours), await cost(raw)) for _ in range(ROUNDS)]
    return statistics.median(raw for _, raw in pairs), statistics.median(our - raw for our, raw in pairs)


async def bench_overhead() -> None:
    print("\nWhat the library adds to the engine's own call, in process (CPU)")
    async with await Engine.open(":memory:") as engine:
        db = Database(engine)
        await provision(db, [table])
        await db.put_all(part(number) for number in range(PAGE))
        await db.put(part(1, SINGLE))
        parts, one = Parts(db), PartId("000001")
        key = {"PK": f"OWNER#{SINGLE}", "SK": "PART#000001"}
        native = Part.__model__.encode(part(1, SINGLE))  # type: ignore[attr-defined]
        condition = "#PK = :partition AND begins_with(#SK, :low)"
        names, values = {"#PK": "PK", "#SK": "SK"}, {":partition": key["PK"], ":low": "PART#"}

        async def raw_get() -> Any:
            return await engine.call("GetItem", {"TableName": table.name, "Key": key, "ConsistentRead": True})

        async def raw_put() -> Any:
            return await engine.call("PutItem", {"TableName": table.name, "Item": dict(native)})

        async def raw_query() -> Any:
            request = {
                "TableName": table.name,
                "KeyConditionExpression": condition,
                "ExpressionAttributeNames": names,
                "ExpressionAttributeValues": values,
                "Limit": 2,
            }
            return await engine.call("Query", request)

        single = part(1, SINGLE)
        await report("get", await difference(lambda: parts.one(SINGLE, one).get(), raw_get))
        await report("put", await difference(lambda: db.put(single), raw_put))
        await report("query of 1", await difference(lambda: parts.of_owner(SINGLE).page(limit=1), raw_query))
        bench_pieces(parts, one)


async def report(work: str, measured: tuple[float, float]) -> None:
    raw, added = measured
    show(work, f"engine {raw:7.1f} µs", f"library adds {added:6.1f} µs", added, OVERHEAD_US)


def bench_pieces(parts: Parts, one: PartId) -> None:
    reference = parts.one(OWNER, one)
    building = best(reference.key, 20_000) / 2
    show("building a key", f"{building:7.2f} µs", "", building, KEY_US)
    native = [Part.__model__.encode(part(number)) for number in range(PAGE)]  # type: ignore[attr-defined]
    decode = Parts.of_owner.pattern.result.decode_all  # type: ignore[attr-defined]
    page = best(lambda: decode(native), 200)
    show(f"decoding a page of {PAGE}", f"{page:7.1f} µs", "", page, PAGE_US)


def best(call: Callable[[], Any], calls: int) -> float:
    """The best round's CPU per call, in microseconds."""
    rounds = []
    for _ in range(ROUNDS):
        started = time.thread_time()
        for _ in range(calls):
            call()
        rounds.append((time.thread_time() - started) / calls * 1e6)
    return min(rounds)


def show(work: str, ours: str, detail: str, measured: float, reach: float) -> None:
    mark = "" if measured <= reach else "   not reached in this run"
    print(f"  {work:24} {ours}  {detail:28} reach ≤ {reach:g} µs{mark}")


# -- beside other clients


@contextmanager
def our_server() -> Iterator[str]:
    """`entrepot dynamo` in a process of its own."""
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "entrepot", "dynamo", "--port", "0", "--data", data]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                for line in process.stdout or ():
                    if line.startswith("AWS_ENDPOINT_URL_DYNAMODB="):
                        yield line.strip().partition("=")[2]
                        break
            finally:
                process.terminate()


Operation = Callable[[], Awaitable[Any]]


async def bench_clients(endpoint: str) -> None:
    print("\nBeside other clients on the same endpoint, per call (CPU of the client, 1 KB items)")
    store = await open_store(f"dynamodb://{REGION}?endpoint={endpoint}", path=":memory:")
    db = Database(store)
    await provision(db, [table])
    await db.put_all(part(number) for number in range(20))
    clients: dict[str, dict[str, Operation]] = {"entrepot.tables": ours(db)}
    clients["boto3"] = boto3_operations(endpoint)
    clients["PynamoDB"] = pynamodb_operations(endpoint)
    async with aiobotocore.session.get_session().create_client(
        "dynamodb", region_name=REGION, endpoint_url=endpoint
    ) as client:
        clients["aiobotocore"] = aiobotocore_operations(client)
        clients["pydynox"] = pydynox_operations(endpoint)
        await compare(clients)
    await store.close()


async def compare(clients: dict[str, dict[str, Operation]]) -> None:
    for work in ("get", "put", "query of 20"):
        measured: dict[str, list[float]] = {name: [] for name in clients}
        for _ in range(ROUNDS):
            for name, operations in clients.items():
                measured[name].append(await process_cost(operations[work]))
        for name, rounds in measured.items():
            median = statistics.median(rounds)
            ratio = statistics.median(
                theirs / own for theirs, own in zip(rounds, measured["entrepot.tables"], strict=True)
            )
            reach = f"   reach ≥ {BOTO3_RATIO:g}" if work == "get" and name == "boto3" else ""
            mark = "   not reached in this run" if reach and ratio < BOTO3_RATIO else ""
            print(f"  {work:12} {name:16} {median:8.0f} µs   {ratio:5.2f} times ours{reach}{mark}")


async def process_cost(call: Operation, calls: int = 60) -> float:
    """CPU of the whole process per call: some clients work in threads."""
    await call()
    started = time.process_time()
    for _ in range(calls):
        await call()
    return (time.process_time() - started) / calls * 1e6


def ours(db: Database) -> dict[str, Operation]:
    parts, single = Parts(db), part(1)
    return {
        "get": lambda: parts.one(OWNER, PartId("000001")).get(),
        "put": lambda: db.put(single),
        "query of 20": lambda: parts.of_owner(OWNER).page(limit=20),
    }


def at_once(call: Callable[[], Any]) -> Operation:
    """A call that blocks, as the program of a client without asyncio would make it."""

    async def run() -> Any:
        return call()

    return run


def boto3_operations(endpoint: str) -> dict[str, Operation]:
    resource = boto3.resource("dynamodb", region_name=REGION, endpoint_url=endpoint)
    handle = resource.Table(table.name)
    native = Part.__model__.encode(part(1))  # type: ignore[attr-defined]
    native["price"] = Decimal("12.25")
    condition = Key("PK").eq(f"OWNER#{OWNER}") & Key("SK").begins_with("PART#")
    return {
        "get": at_once(lambda: handle.get_item(Key={"PK": f"OWNER#{OWNER}", "SK": "PART#000001"})),
        "put": at_once(lambda: handle.put_item(Item=native)),
        "query of 20": at_once(lambda: handle.query(KeyConditionExpression=condition, Limit=20)),
    }


def pynamodb_operations(endpoint: str) -> dict[str, Operation]:
    class Meta:
        table_name = table.name
        region = REGION
        host = endpoint

    attributes = {
        name: UnicodeAttribute() for name in ("owner", "partId", "name", "maker", "colour", "notes", "more")
    }
    body: dict[str, Any] = {
        "Meta": Meta,
        "PK": UnicodeAttribute(hash_key=True),
        "SK": UnicodeAttribute(range_key=True),
        "count_": NumberAttribute(attr_name="count"),
        "price": NumberAttribute(),
        **attributes,
    }
    model: Any = type("PynamoPart", (PynamoModel,), body)
    made = part(1)
    values = {name: getattr(made, name) for name in attributes}
    return {
        "get": at_once(lambda: model.get(f"OWNER#{OWNER}", "PART#000001")),
        "put": at_once(
            lambda: model(f"OWNER#{OWNER}", "PART#000001", count_=1, price=12.25, **values).save()
        ),
        "query of 20": at_once(
            lambda: list(model.query(f"OWNER#{OWNER}", model.SK.startswith("PART#"), limit=20))
        ),
    }


def aiobotocore_operations(client: Any) -> dict[str, Operation]:
    native = item_to_wire(Part.__model__.encode(part(1)))  # type: ignore[attr-defined]
    key = {"PK": {"S": f"OWNER#{OWNER}"}, "SK": {"S": "PART#000001"}}
    condition = {
        "KeyConditionExpression": "PK = :p AND begins_with(SK, :s)",
        "ExpressionAttributeValues": {":p": {"S": f"OWNER#{OWNER}"}, ":s": {"S": "PART#"}},
    }
    return {
        "get": lambda: client.get_item(TableName=table.name, Key=key),
        "put": lambda: client.put_item(TableName=table.name, Item=native),
        "query of 20": lambda: client.query(TableName=table.name, Limit=20, **condition),
    }


def pydynox_operations(endpoint: str) -> dict[str, Operation]:
    client = DynamoDBClient(region=REGION, endpoint_url=endpoint, access_key="bench", secret_key="bench")
    native = Part.__model__.encode(part(1))  # type: ignore[attr-defined]
    key = {"PK": f"OWNER#{OWNER}", "SK": "PART#000001"}

    async def listed() -> list[Any]:
        found = client.query(
            table.name,
            key_condition_expression="PK = :p AND begins_with(SK, :s)",
            expression_attribute_values={":p": f"OWNER#{OWNER}", ":s": "PART#"},
            limit=20,
        )
        return [each async for each in found]

    return {
        "get": lambda: client.get_item(table.name, key),
        "put": lambda: client.put_item(table.name, native),
        "query of 20": listed,
    }


async def main() -> None:
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "bench")
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "bench")
    await bench_overhead()
    with our_server() as endpoint:
        await bench_clients(endpoint)


if __name__ == "__main__":
    uvloop.install()
    asyncio.run(main())
