"""Answers that are right but not whole: left-over entries of batches, short pages, slow answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from entrepot.engine import Engine
from entrepot.engine.errors import Validation

from .store import Clock, all_items, all_pages, open_store, put, query_group, query_partition

pytestmark = pytest.mark.anyio

ROUNDS_MAX = 200


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    engine = await open_store(Clock())
    yield engine
    await engine.close()


async def test_a_batch_of_writes_is_done_by_sending_again_what_was_left(engine: Engine) -> None:
    engine.set_chaos("unprocessed=0.7,seed=2")
    entries: list[dict[str, Any]] = [
        {"PutRequest": {"Item": {"pk": "a", "sk": number, "note": "n"}}} for number in range(25)
    ]
    left: dict[str, Any] = {"things": entries}
    rounds = 0
    while left:
        before = len(left["things"])
        left = (await engine.call("BatchWriteItem", {"RequestItems": left}))["UnprocessedItems"]
        assert not left or 0 < len(left["things"]) < before
        assert all(entry in entries for entry in left.get("things", []))
        rounds += 1
        assert rounds < ROUNDS_MAX
        stored = await all_items(engine, "Scan", {"TableName": "things"})
        assert len(stored) == 25 - len(left.get("things", []))
    assert rounds > 1


async def test_a_batch_of_reads_is_done_by_sending_again_what_was_left(engine: Engine) -> None:
    for number in range(40):
        await put(engine, "a", number)
    engine.set_chaos("unprocessed=0.7,seed=2")
    wanted = {"Keys": [{"pk": "a", "sk": number} for number in range(40)], "ConsistentRead": True}
    left: dict[str, Any] = {"things": wanted}
    found: list[int] = []
    rounds = 0
    while left:
        answer = await engine.call("BatchGetItem", {"RequestItems": left})
        found += [item["sk"] for item in answer["Responses"]["things"]]
        left = answer["UnprocessedKeys"]
        assert not left or left["things"]["ConsistentRead"] is True
        rounds += 1
        assert rounds < ROUNDS_MAX
    assert sorted(found) == list(range(40))
    assert rounds > 1


async def test_a_batch_is_checked_whole_even_where_it_is_left_over(engine: Engine) -> None:
    engine.set_chaos("unprocessed=1")
    entries = [{"PutRequest": {"Item": {"pk": "a", "sk": 1}}}, {"PutRequest": {"Item": {"pk": "a"}}}]
    with pytest.raises(Validation):
        await engine.call("BatchWriteItem", {"RequestItems": {"things": entries}})


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("Query", query_partition("a")),
        ("Query", query_partition("a", ScanIndexForward=False, Limit=5)),
        ("Query", query_group("red", FilterExpression="note = :n")),
        ("Scan", {"TableName": "things"}),
        ("Scan", {"TableName": "things", "IndexName": "by_group", "Limit": 3}),
    ],
)
async def test_short_pages_together_are_the_whole(
    engine: Engine, operation: str, request_: dict[str, Any]
) -> None:
    if "FilterExpression" in request_:
        values = {**request_["ExpressionAttributeValues"], ":n": "odd"}
        request_ = {**request_, "ExpressionAttributeValues": values}
    for number in range(60):
        await put(engine, "a", number, group="red", rank=-number, note="odd" if number % 2 else "even")
    whole = await all_items(engine, operation, request_)
    assert whole
    engine.set_chaos("short_pages=0.8,seed=4")
    pages = await all_pages(engine, operation, request_)
    assert [item for page in pages for item in page["Items"]] == whole
    assert any(page["ScannedCount"] == 0 for page in pages)
    assert all(page["ScannedCount"] <= request_.get("Limit", 60) for page in pages)
    assert len(pages) > 60 // request_.get("Limit", 60) + 1


async def test_a_slow_answer_comes_after_the_work(engine: Engine) -> None:
    engine.set_chaos("slow_ms=40,seed=1")
    assert engine.chaos is not None
    waits: list[float] = []

    async def note(seconds: float) -> None:
        assert engine.read("SELECT count(*) FROM items_1").get == len(waits) + 1
        waits.append(seconds)

    engine.chaos.sleep = note
    for number in range(50):
        await put(engine, "a", number)
    assert len(waits) == 50
    assert all(0 <= wait <= 0.040 for wait in waits)
    assert max(waits) > 0.030


async def test_only_some_answers_are_slow_when_asked(engine: Engine) -> None:
    engine.set_chaos("slow_ms=40,slow=0.2,seed=1")
    assert engine.chaos is not None
    waits: list[float] = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    engine.chaos.sleep = note
    for number in range(100):
        await put(engine, "a", number)
    assert 5 < len(waits) < 40
