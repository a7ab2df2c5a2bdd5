"""An index that is added later: filled behind the writes, resumed after a stop, equal to a rebuild."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from entrepot.engine import Engine, backfill
from entrepot.engine.errors import Refused, Validation
from entrepot.engine.integrity import verify
from entrepot.engine.pytest_plugin import MakeEngine
from entrepot.engine.storage import Transaction

pytestmark = pytest.mark.anyio

TABLE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
ADD = {
    "TableName": "things",
    "AttributeDefinitions": [{"AttributeName": "color", "AttributeType": "S"}],
    "GlobalSecondaryIndexUpdates": [
        {
            "Create": {
                "IndexName": "by-color",
                "KeySchema": [{"AttributeName": "color", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        }
    ],
}
REMOVE = {"TableName": "things", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-color"}}]}


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return ":memory:" if request.param == "memory" else str(tmp_path / "store.db")


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps so small that writes come between them."""
    monkeypatch.setattr(backfill, "STEP_ITEMS", 3)


async def filled(engine: Engine, count: int) -> None:
    await engine.call("CreateTable", TABLE)
    await asyncio.gather(
        *(
            engine.call("PutItem", {"TableName": "things", "Item": {"pk": f"{n:05}", "color": f"c{n % 3}"}})
            for n in range(count)
        )
    )


async def index(engine: Engine) -> dict[str, Any]:
    described = await engine.call("DescribeTable", {"TableName": "things"})
    found: dict[str, Any] = described["Table"]["GlobalSecondaryIndexes"][0]
    return found


async def found_by(engine: Engine, color: str) -> list[str]:
    answer = await engine.call(
        "Query",
        {
            "TableName": "things",
            "IndexName": "by-color",
            "KeyConditionExpression": "color = :c",
            "ExpressionAttributeValues": {":c": color},
        },
    )
    return sorted(item["pk"] for item in answer["Items"])


async def test_an_added_index_finds_the_items_of_before(dynamo_factory: MakeEngine, store: str) -> None:
    engine = await dynamo_factory(store)
    await filled(engine, 1000)
    answer = await engine.call("UpdateTable", ADD)
    assert answer["TableDescription"]["TableStatus"] == "UPDATING"
    coming = answer["TableDescription"]["GlobalSecondaryIndexes"][0]
    assert (coming["IndexStatus"], coming["Backfilling"]) == ("CREATING", False)
    await engine.backfill.finish()
    assert (await index(engine))["IndexStatus"] == "ACTIVE"
    assert "Backfilling" not in await index(engine)
    assert (await index(engine))["ItemCount"] == 1000
    assert await found_by(engine, "c1") == [f"{n:05}" for n in range(1000) if n % 3 == 1]
    assert verify(engine.file) == []


async def test_the_background_fills_it_by_itself(dynamo_factory: MakeEngine, store: str) -> None:
    engine = await dynamo_factory(store)
    await filled(engine, 50)
    await engine.call("UpdateTable", ADD)
    async with asyncio.timeout(10):
        while (await index(engine))["IndexStatus"] != "ACTIVE":
            # Each write waits for its turn behind a step of the backfill.
            await engine.call("DeleteItem", {"TableName": "things", "Key": {"pk": "nothing"}})
    assert len(await found_by(engine, "c0")) == 17


@pytest.mark.usefixtures("small_steps")
async def test_it_can_not_be_read_until_it_is_full(dynamo_factory: MakeEngine) -> None:
    engine = await dynamo_factory()
    await filled(engine, 30)
    await engine.backfill.stop()
    await engine.call("UpdateTable", ADD)
    assert (await index(engine))["Backfilling"] is True
    with pytest.raises(Validation, match="Cannot read from backfilling global secondary index: by-color"):
        await found_by(engine, "c0")
    with pytest.raises(Refused, match="Cannot delete table while indexes are being created"):
        await engine.call("DeleteTable", {"TableName": "things"})


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("seed", range(5))
async def test_writes_meanwhile_are_in_it_once(dynamo_factory: MakeEngine, store: str, seed: int) -> None:
    engine = await dynamo_factory(store)
    await filled(engine, 60)
    chance = random.Random(seed)
    await engine.backfill.stop()
    await engine.call("UpdateTable", ADD)

    async def write() -> None:
        key = {"pk": f"{chance.randrange(80):05}"}
        if chance.random() < 0.3:
            await engine.call("DeleteItem", {"TableName": "things", "Key": key})
        elif chance.random() < 0.5:
            item = {**key, "color": f"c{chance.randrange(5)}"} if chance.random() < 0.8 else key
            await engine.call("PutItem", {"TableName": "things", "Item": item})
        else:
            request = {"TableName": "things", "Key": key, "UpdateExpression": "REMOVE color"}
            await engine.call("UpdateItem", request)

    while not await engine.backfill.finish(within_seconds=0):
        await asyncio.gather(*(write() for _ in range(8)))
    assert (await index(engine))["IndexStatus"] == "ACTIVE"
    assert verify(engine.file) == []


@pytest.mark.usefixtures("small_steps")
async def test_it_goes_on_where_it_stopped(dynamo_factory: MakeEngine, tmp_path: Path) -> None:
    async with await Engine.open(tmp_path / "store.db") as first:
        await filled(first, 40)
        await first.backfill.stop()
        await first.call("UpdateTable", ADD)
        assert not await first.backfill.finish(within_seconds=0)
        reached = first.table("things").definition.indexes[0].backfilled_to
        assert reached is not None

    second = await dynamo_factory(tmp_path / "store.db")
    assert second.table("things").definition.indexes[0].backfilled_to == reached
    async with asyncio.timeout(10):
        while (await index(second))["IndexStatus"] != "ACTIVE":
            # Each write waits for its turn behind a step of the backfill.
            await second.call("DeleteItem", {"TableName": "things", "Key": {"pk": "nothing"}})
    assert verify(second.file) == []


FILLING = """
import asyncio, sys
from entrepot.engine import Engine, backfill
from tests.engine.test_backfill import ADD
backfill.STEP_ITEMS = 2

async def main():
    engine = await Engine.open(sys.argv[1])
    await engine.backfill.stop()
    await engine.call("UpdateTable", ADD)
    while not await engine.backfill.finish(within_seconds=0):
        print("step", flush=True)

asyncio.run(main())
"""


def fill_and_kill(path: Path, steps: int) -> None:
    """Adds the index in a process of its own, and kills it after so many steps."""
    command = [sys.executable, "-c", FILLING, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as filling:
        assert filling.stdout is not None
        for _ in range(steps):
            assert filling.stdout.readline() == b"step\n"
        filling.kill()


async def test_killed_while_filling_it_loses_nothing(dynamo_factory: MakeEngine, tmp_path: Path) -> None:
    async with await Engine.open(tmp_path / "store.db") as first:
        await filled(first, 400)
    fill_and_kill(tmp_path / "store.db", steps=5)
    engine = await dynamo_factory(tmp_path / "store.db")
    assert engine.table("things").definition.indexes[0].backfilled_to is not None
    await engine.backfill.finish()
    assert (await index(engine))["ItemCount"] == 400
    assert verify(engine.file) == []


@pytest.mark.usefixtures("small_steps")
async def test_processes_share_the_work(dynamo_factory: MakeEngine, tmp_path: Path) -> None:
    first = await dynamo_factory(tmp_path / "store.db")
    second = await dynamo_factory(tmp_path / "store.db")
    await filled(first, 60)
    await first.call("UpdateTable", ADD)
    second.catalog.refresh()
    await asyncio.gather(first.backfill.finish(), second.backfill.finish())
    assert (await index(second))["IndexStatus"] == "ACTIVE"
    assert verify(first.file) == []


async def test_items_that_cannot_be_in_it_are_left_out_and_can_be_mended(dynamo: Engine) -> None:
    await filled(dynamo, 3)
    for pk, color in (("number", 7), ("empty", ""), ("long", "x" * 3000), ("none", None)):
        await dynamo.call("PutItem", {"TableName": "things", "Item": {"pk": pk, "color": color}})
    await dynamo.call("UpdateTable", ADD)
    await dynamo.backfill.finish()
    assert (await index(dynamo))["ItemCount"] == 3
    change = {"TableName": "things", "Key": {"pk": "number"}}
    other = {"UpdateExpression": "SET weight = :w", "ExpressionAttributeValues": {":w": 1}}
    await dynamo.call("UpdateItem", {**change, **other})
    with pytest.raises(Validation, match="Type mismatch for Index Key color"):
        await dynamo.call(
            "UpdateItem",
            {**change, "UpdateExpression": "SET color = :c", "ExpressionAttributeValues": {":c": 8}},
        )
    await dynamo.call(
        "UpdateItem",
        {**change, "UpdateExpression": "SET color = :c", "ExpressionAttributeValues": {":c": "c9"}},
    )
    assert await found_by(dynamo, "c9") == ["number"]
    for pk in ("empty", "long", "none", "number"):
        await dynamo.call("DeleteItem", {"TableName": "things", "Key": {"pk": pk}})
    assert verify(dynamo.file) == []


async def test_a_removed_index_is_gone_at_once_and_its_rows_soon(
    dynamo_factory: MakeEngine, store: str
) -> None:
    engine = await dynamo_factory(store)
    await filled(engine, 20)
    await engine.call("UpdateTable", ADD)
    await engine.backfill.finish()
    rows = engine.table("things").indexes["by-color"].rows
    answer = await engine.call("UpdateTable", REMOVE)
    assert answer["TableDescription"]["GlobalSecondaryIndexes"][0]["IndexStatus"] == "DELETING"
    with pytest.raises(Validation, match="The table does not have the specified index: by-color"):
        await found_by(engine, "c0")
    described = (await engine.call("DescribeTable", {"TableName": "things"}))["Table"]
    assert "GlobalSecondaryIndexes" not in described
    assert described["AttributeDefinitions"] == [{"AttributeName": "pk", "AttributeType": "S"}]
    await engine.call("PutItem", {"TableName": "things", "Item": {"pk": "x", "color": 5}})
    await engine.reaper.sweep()
    assert engine.read("SELECT count(*) FROM sqlite_schema WHERE name = ?", (rows,)).get == 0


@pytest.mark.usefixtures("small_steps")
async def test_an_index_can_be_given_up_while_it_is_filled(dynamo: Engine) -> None:
    await filled(dynamo, 20)
    await dynamo.backfill.stop()
    await dynamo.call("UpdateTable", ADD)
    another = {"Create": {**ADD["GlobalSecondaryIndexUpdates"][0]["Create"], "IndexName": "second"}}  # type: ignore[index]
    with pytest.raises(Refused, match="Only 1 online index can be created or deleted simultaneously"):
        await dynamo.call("UpdateTable", {**ADD, "GlobalSecondaryIndexUpdates": [another]})
    await dynamo.call("UpdateTable", REMOVE)
    assert await dynamo.backfill.finish()
    await dynamo.call("UpdateTable", ADD)
    await dynamo.backfill.finish()
    assert len(await found_by(dynamo, "c0")) == 7


async def test_a_step_is_bounded_in_bytes(dynamo: Engine) -> None:
    await dynamo.call("CreateTable", TABLE)
    for n in range(8):
        item = {"pk": str(n), "color": "c", "load": "x" * 300_000}
        await dynamo.call("PutItem", {"TableName": "things", "Item": item})
    await dynamo.backfill.stop()
    await dynamo.call("UpdateTable", ADD)

    def one_step(transaction: Transaction) -> None:
        current = dynamo.catalog.staged("things")
        assert current is not None
        definition = backfill.step(transaction, current)
        assert definition is not None
        dynamo.catalog.replace(transaction, current, definition)

    await dynamo.writer.submit(one_step)
    assert (await index(dynamo))["ItemCount"] == 4


@pytest.mark.usefixtures("small_steps")
async def test_expiry_is_noted_on_old_items_and_survives_a_stop(
    dynamo_factory: MakeEngine, tmp_path: Path
) -> None:
    def clock() -> float:
        return 2_000_000_000.0

    first = await Engine.open(tmp_path / "store.db", clock=clock)
    await first.call("CreateTable", TABLE)
    for n in range(20):
        item = {"pk": f"{n:02}", "old": 1_999_999_999 if n % 2 else 2_100_000_000, "new": 1_999_999_999}
        await first.call("PutItem", {"TableName": "things", "Item": item})
    await first.call("UpdateTimeToLive", time_to_live(True, "old"))
    assert await first.reaper.sweep() == 10
    await first.call("UpdateTimeToLive", time_to_live(False, "old"))
    assert await first.reaper.sweep() == 0
    assert verify(first.file) == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("entrepot.engine.operations.update_time_to_live.WAIT_SECONDS", 0.0)
        await first.backfill.stop()
        await first.call("UpdateTimeToLive", time_to_live(True, "new"))
    answer = await first.call("DescribeTimeToLive", {"TableName": "things"})
    assert answer["TimeToLiveDescription"] == {"TimeToLiveStatus": "ENABLING", "AttributeName": "new"}
    assert await first.reaper.sweep() == 0
    await first.close()

    second = await dynamo_factory(tmp_path / "store.db", clock=clock)
    await second.backfill.finish()
    answer = await second.call("DescribeTimeToLive", {"TableName": "things"})
    assert answer["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED"
    await second.reaper.sweep()
    assert (await second.call("Scan", {"TableName": "things"}))["Count"] == 0


def time_to_live(enabled: bool, attribute: str) -> dict[str, Any]:
    return {
        "TableName": "things",
        "TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": attribute},
    }
