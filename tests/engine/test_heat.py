"""Heat: units by partition key and index over a window, and throttling at the service's ceilings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from entrepot.engine import Engine, heat
from entrepot.engine.errors import Throttled, TransactionCanceled
from entrepot.engine.heat import Heat, Hot, hash_key

pytestmark = pytest.mark.anyio

TABLE: dict[str, Any] = {
    "TableName": "things",
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
        {"AttributeName": "group", "AttributeType": "S"},
        {"AttributeName": "rank", "AttributeType": "N"},
    ],
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_group",
            "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
        }
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by_rank",
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "rank", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def engine(clock: Clock) -> AsyncIterator[Engine]:
    engine = await Engine.open(clock=clock)
    await engine.call("CreateTable", TABLE)
    yield engine
    await engine.close()


async def put(engine: Engine, pk: str, sk: int = 0, **attributes: Any) -> None:
    await engine.call("PutItem", {"TableName": "things", "Item": {"pk": pk, "sk": sk, **attributes}})


async def get(engine: Engine, pk: str, sk: int = 0, *, consistent: bool = True) -> None:
    request = {"TableName": "things", "Key": {"pk": pk, "sk": sk}, "ConsistentRead": consistent}
    await engine.call("GetItem", request)


def query(expression: str, value: str, **options: Any) -> dict[str, Any]:
    names = {"ExpressionAttributeNames": {"#g": "group"}} if "#g" in expression else {}
    values = {"ExpressionAttributeValues": {":v": value}}
    return {"TableName": "things", "KeyConditionExpression": expression, **names, **values, **options}


def of(measured: Heat, key: str, index: str | None = None) -> Hot:
    """The one report of a key, of a window of one second."""
    found = [hot for hot in measured.hottest(1000) if hot.key == hash_key(key) and hot.index == index]
    assert len(found) == 1
    return found[0]


async def test_writes_count_in_the_table_and_in_its_global_index(engine: Engine) -> None:
    measured = engine.enable_heat()
    await put(engine, "a", group="red", note="x" * 1500)
    await put(engine, "a", group="blue", note="x" * 1500)
    await put(engine, "a", group="blue", note="x" * 1500)
    assert of(measured, "a").writes == 6
    assert of(measured, "red", "by_group").writes == 4
    assert of(measured, "blue", "by_group").writes == 2


async def test_an_update_counts_what_it_changes_of_an_index(engine: Engine) -> None:
    await put(engine, "a", group="red")
    measured = engine.enable_heat()
    request = {
        "TableName": "things",
        "Key": {"pk": "a", "sk": 0},
        "UpdateExpression": "SET note = :n",
        "ExpressionAttributeValues": {":n": "y"},
    }
    await engine.call("UpdateItem", request)
    assert of(measured, "red", "by_group").writes == 1
    await engine.call("DeleteItem", {"TableName": "things", "Key": {"pk": "a", "sk": 0}})
    assert of(measured, "red", "by_group").writes == 2
    assert of(measured, "a").writes == 2


async def test_a_local_index_counts_with_its_table(engine: Engine) -> None:
    measured = engine.enable_heat()
    await put(engine, "a", rank=1)
    assert of(measured, "a").writes == 2
    await engine.call("Query", query("pk = :v", "a", IndexName="by_rank", ConsistentRead=True))
    assert of(measured, "a").reads == 1


async def test_every_keyed_read_counts(engine: Engine) -> None:
    await put(engine, "a", note="x" * 5000, group="red")
    measured = engine.enable_heat()
    await get(engine, "a")
    assert of(measured, "a").reads == 2
    await get(engine, "a", consistent=False)
    assert of(measured, "a").reads == 3
    await engine.call("BatchGetItem", {"RequestItems": {"things": {"Keys": [{"pk": "a", "sk": 0}]}}})
    assert of(measured, "a").reads == 4
    gets = [{"Get": {"TableName": "things", "Key": {"pk": "a", "sk": 0}}}]
    await engine.call("TransactGetItems", {"TransactItems": gets})
    assert of(measured, "a").reads == 8
    await engine.call("Query", query("pk = :v", "a", ConsistentRead=True))
    assert of(measured, "a").reads == 10
    await engine.call("Query", query("#g = :v", "red", IndexName="by_group"))
    assert of(measured, "red", "by_group").reads == 1
    await engine.call("Scan", {"TableName": "things"})
    assert of(measured, "a").reads == 10


async def test_transactions_count_twice_and_checks_count(engine: Engine) -> None:
    await put(engine, "b", group="red")
    measured = engine.enable_heat()
    check = {
        "TableName": "things",
        "Key": {"pk": "b", "sk": 0},
        "ConditionExpression": "attribute_exists(pk)",
    }
    actions = [{"Put": {"TableName": "things", "Item": {"pk": "a", "sk": 0}}}, {"ConditionCheck": check}]
    await engine.call("TransactWriteItems", {"TransactItems": actions})
    assert of(measured, "a").writes == 2
    assert of(measured, "b").writes == 2
    assert [hot.index for hot in measured.hottest()] == [None, None]


async def test_the_hottest_come_first_and_are_known_by_hash_only(engine: Engine, clock: Clock) -> None:
    measured = engine.enable_heat()
    for number in range(30):
        await put(engine, "owner@example.org", number)
        if number % 3 == 0:
            await put(engine, "cold", number)
    first, second = measured.hottest(2)
    assert (first.key, first.writes, first.share) == (hash_key("owner@example.org"), 30, 0.03)
    assert (second.key, second.writes) == (hash_key("cold"), 10)
    assert "owner" not in repr(measured.hottest())
    clock.now += 9
    assert measured.hottest(1)[0].writes == 3
    assert measured.hottest(1)[0].peak == 0.03


async def test_the_window_slides(engine: Engine, clock: Clock) -> None:
    measured = engine.enable_heat(window_seconds=10)
    await put(engine, "a")
    clock.now += 9
    assert [hot.key for hot in measured.hottest()] == [hash_key("a")]
    clock.now += 1
    assert measured.hottest() == []
    await put(engine, "b")
    assert [hot.key for hot in measured.hottest()] == [hash_key("b")]


async def test_memory_is_bounded_and_the_rest_is_counted_together(
    engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heat, "KEYS_PER_SECOND_MAX", 20)
    monkeypatch.setattr(heat, "KEYS_KEPT_MAX", 5)
    measured = engine.enable_heat()
    for number in range(50):
        await put(engine, f"k{number % 40}")
        await put(engine, "hot")
    assert len(measured.hottest(1000)) == 21
    assert sum(hot.writes for hot in measured.hottest(1000)) == 100
    clock.now += 1
    await put(engine, "hot")
    reports = measured.hottest(1000)
    assert len(reports) == 5
    assert reports[0].key == hash_key("hot")
    # No one key is as hot as those that are counted together.
    assert (reports[-1].key, reports[-1].share) == (heat.OTHERS, 0)
    assert sum(hot.writes for hot in reports) == pytest.approx(101 / 2)


async def test_an_index_that_comes_later_is_counted_too(engine: Engine) -> None:
    measured = engine.enable_heat()
    await put(engine, "a")
    added = {
        "IndexName": "by_shape",
        "KeySchema": [{"AttributeName": "shape", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    }
    request = {
        "TableName": "things",
        "AttributeDefinitions": [{"AttributeName": "shape", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": added}],
    }
    await engine.call("UpdateTable", request)
    await put(engine, "a", shape="round")
    assert of(measured, "round", "by_shape").writes == 1


async def test_a_clock_that_steps_back_does_no_harm(engine: Engine, clock: Clock) -> None:
    measured = engine.enable_heat()
    await put(engine, "a")
    clock.now -= 1000
    await put(engine, "b")
    assert [hot.key for hot in measured.hottest()] == [hash_key("b")]


async def write_units(engine: Engine, pk: str, units: int, **attributes: Any) -> None:
    """Writes items of a hundred units each."""
    for number in range(units // 100):
        await put(engine, pk, number, note="x" * (100 * 1024 - 200), **attributes)


async def test_a_hot_key_is_throttled_until_its_second_is_over(engine: Engine, clock: Clock) -> None:
    engine.enable_heat(throttles=True)
    await write_units(engine, "a", 1000)
    with pytest.raises(Throttled) as caught:
        await put(engine, "a", 99)
    assert caught.value.type == "ProvisionedThroughputExceededException"
    await put(engine, "b", 99)
    clock.now += 1
    await put(engine, "a", 99)


async def test_a_refused_write_changes_nothing_and_is_not_counted(engine: Engine) -> None:
    measured = engine.enable_heat(throttles=True)
    await write_units(engine, "a", 1000)
    for _ in range(3):
        with pytest.raises(Throttled):
            await put(engine, "a", 99)
    assert of(measured, "a").writes == 1000
    request = {"TableName": "things", "Key": {"pk": "a", "sk": 99}, "ConsistentRead": True}
    assert "Item" not in await engine.call("GetItem", request)


async def test_a_hot_partition_of_an_index_holds_up_the_table(engine: Engine) -> None:
    engine.enable_heat(throttles=True)
    for number in range(10):
        await write_units(engine, f"k{number}", 100, group="red")
    with pytest.raises(Throttled) as caught:
        await put(engine, "other", group="red")
    assert "global secondary indexes" in caught.value.message
    assert getattr(caught.value, "reason", None) == "IndexWriteKeyRangeThroughputExceeded"
    await put(engine, "other", group="blue")
    await put(engine, "other", 1)


async def test_hot_reads_are_throttled_at_their_own_ceiling(engine: Engine, clock: Clock) -> None:
    await put(engine, "a", note="x" * 390_000, group="red")
    await put(engine, "b")
    engine.enable_heat(throttles=True)
    for _ in range(32):
        await get(engine, "a")
    for operation, request in (
        ("GetItem", {"TableName": "things", "Key": {"pk": "a", "sk": 0}}),
        ("Query", query("pk = :v", "a")),
        ("BatchGetItem", {"RequestItems": {"things": {"Keys": [{"pk": "a", "sk": 0}]}}}),
    ):
        with pytest.raises(Throttled):
            await engine.call(operation, request)
    gets = [{"Get": {"TableName": "things", "Key": {"pk": pk, "sk": 0}}} for pk in ("b", "a")]
    with pytest.raises(TransactionCanceled) as caught:
        await engine.call("TransactGetItems", {"TransactItems": gets})
    assert [reason.code for reason in caught.value.reasons] == ["None", "ProvisionedThroughputExceeded"]
    keys = [{"pk": "a", "sk": 0}, {"pk": "b", "sk": 0}]
    answer = await engine.call("BatchGetItem", {"RequestItems": {"things": {"Keys": keys}}})
    assert answer["Responses"]["things"] == [{"pk": "b", "sk": 0}]
    assert answer["UnprocessedKeys"]["things"]["Keys"] == [{"pk": "a", "sk": 0}]
    await engine.call("Query", query("#g = :v", "red", IndexName="by_group"))
    await engine.call("Scan", {"TableName": "things"})
    clock.now += 1
    await get(engine, "a")


async def test_hot_entries_of_a_batch_are_left_over_and_transactions_cancelled(engine: Engine) -> None:
    engine.enable_heat(throttles=True)
    await write_units(engine, "a", 1000)
    hot, cold = ({"PutRequest": {"Item": {"pk": pk, "sk": 50}}} for pk in ("a", "b"))
    answer = await engine.call("BatchWriteItem", {"RequestItems": {"things": [hot, cold]}})
    assert answer["UnprocessedItems"] == {"things": [hot]}
    with pytest.raises(Throttled):
        await engine.call("BatchWriteItem", {"RequestItems": {"things": [hot]}})
    actions = [{"Put": {"TableName": "things", "Item": {"pk": pk, "sk": 51}}} for pk in ("a", "b")]
    with pytest.raises(TransactionCanceled) as caught:
        await engine.call("TransactWriteItems", {"TransactItems": actions})
    assert [reason.code for reason in caught.value.reasons] == ["ProvisionedThroughputExceeded", "None"]
    request = {"TableName": "things", "Key": {"pk": "b", "sk": 51}, "ConsistentRead": True}
    assert "Item" not in await engine.call("GetItem", request)


async def test_counting_alone_refuses_nothing(engine: Engine) -> None:
    engine.enable_heat()
    await write_units(engine, "a", 1100)
    await put(engine, "a", 99)
