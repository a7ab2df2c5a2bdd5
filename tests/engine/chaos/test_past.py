"""Reads that see the past: at any time the answer is the one that a kind store gave so long ago."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from entrepot.engine import Engine
from entrepot.engine.chaos import journal
from entrepot.engine.values import equal

from .store import TABLE, Clock, all_items, all_pages, get, open_store, put, query_group, query_partition

LAG_SECONDS = 0.5
STALE_SECONDS = 0.3

partitions = st.sampled_from(["a", "b", "c"])
sorts = st.integers(0, 4)
bodies = st.fixed_dictionaries(
    {},
    optional={
        "group": st.sampled_from(["red", "blue"]),
        "rank": st.integers(0, 2),
        "note": st.sampled_from(["x", "y"]),
    },
)
pages = st.fixed_dictionaries({}, optional={"Limit": st.integers(1, 4)})

Key = tuple[str, int]
State = dict[Key, dict[str, Any]]


class PastBesideMirror(RuleBasedStateMachine):
    """A second store without chaos is brought to the state of a moment, and asked the same."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = Clock()
        chaos = f"index_lag_ms={LAG_SECONDS * 1000},stale=1,stale_ms={STALE_SECONDS * 1000}"
        self.engine: Engine = self.runner.run(open_store(self.clock, chaos))
        self.mirror: Engine = self.runner.run(open_store(Clock()))
        self.mirrored: State = {}
        self.history: list[tuple[float, State]] = [(0.0, {})]

    def teardown(self) -> None:
        self.runner.run(self.engine.close())
        self.runner.run(self.mirror.close())
        self.runner.close()

    @rule(pk=partitions, sk=sorts, body=bodies)
    def put(self, pk: str, sk: int, body: dict[str, Any]) -> None:
        self.runner.run(put(self.engine, pk, sk, **body))
        self.note({**self.state, (pk, sk): {"pk": pk, "sk": sk, **body}})

    @rule(pk=partitions, sk=sorts)
    def delete(self, pk: str, sk: int) -> None:
        self.call("DeleteItem", {"TableName": "things", "Key": {"pk": pk, "sk": sk}})
        self.note({key: item for key, item in self.state.items() if key != (pk, sk)})

    @rule(pk=partitions, sk=sorts, rank=st.integers(0, 2))
    def move(self, pk: str, sk: int, rank: int) -> None:
        request = {
            "TableName": "things",
            "Key": {"pk": pk, "sk": sk},
            "UpdateExpression": "SET #r = :r",
            "ExpressionAttributeNames": {"#r": "rank"},
            "ExpressionAttributeValues": {":r": rank},
        }
        self.call("UpdateItem", request)
        item = {**self.state.get((pk, sk), {"pk": pk, "sk": sk}), "rank": rank}
        self.note({**self.state, (pk, sk): item})

    @rule(keys=st.lists(st.tuples(partitions, sorts), min_size=1, max_size=4, unique=True), body=bodies)
    def put_together(self, keys: list[Key], body: dict[str, Any]) -> None:
        items = {(pk, sk): {"pk": pk, "sk": sk, **body} for pk, sk in keys}
        actions = [{"Put": {"TableName": "things", "Item": item}} for item in items.values()]
        self.call("TransactWriteItems", {"TransactItems": actions})
        self.note({**self.state, **items})

    @rule(seconds=st.sampled_from([0.1, 0.2, 0.3, 0.5, 5.0]))
    def pass_time(self, seconds: float) -> None:
        self.clock.pass_seconds(seconds)

    @rule(group=st.sampled_from(["red", "blue"]), forward=st.booleans(), page=pages, filters=st.booleans())
    def query_index(self, group: str, forward: bool, page: dict[str, Any], filters: bool) -> None:
        request = query_group(group, ScanIndexForward=forward, **page)
        if filters:
            request["FilterExpression"] = "note = :n"
            request["ExpressionAttributeValues"] = {":g": group, ":n": "x"}
        self.agree("Query", request, LAG_SECONDS)

    @rule(group=st.sampled_from(["red", "blue"]), rank=st.integers(0, 2), page=pages)
    def query_index_range(self, group: str, rank: int, page: dict[str, Any]) -> None:
        request = query_group(group, **page)
        request["KeyConditionExpression"] += " AND #r >= :r"
        request["ExpressionAttributeNames"]["#r"] = "rank"
        request["ExpressionAttributeValues"][":r"] = rank
        self.agree("Query", request, LAG_SECONDS)

    @rule(page=pages)
    def scan_index(self, page: dict[str, Any]) -> None:
        self.agree("Scan", {"TableName": "things", "IndexName": "by_group", **page}, LAG_SECONDS)

    @rule(pk=partitions, forward=st.booleans(), page=pages, local=st.booleans())
    def query_table(self, pk: str, forward: bool, page: dict[str, Any], local: bool) -> None:
        request = query_partition(pk, ScanIndexForward=forward, **page)
        if local:
            request["IndexName"] = "by_rank"
        self.agree("Query", request, STALE_SECONDS)
        self.agree("Query", {**request, "ConsistentRead": True}, 0)

    @rule(page=pages)
    def scan_table(self, page: dict[str, Any]) -> None:
        self.agree("Scan", {"TableName": "things", **page}, STALE_SECONDS)
        self.agree("Scan", {"TableName": "things", "ConsistentRead": True, **page}, 0)

    @rule(pk=partitions, sk=sorts)
    def get_item(self, pk: str, sk: int) -> None:
        past = self.as_of(STALE_SECONDS).get((pk, sk))
        assert self.runner.run(get(self.engine, pk, sk)) == past
        assert self.runner.run(get(self.engine, pk, sk, consistent=True)) == self.state.get((pk, sk))
        batch = {"things": {"Keys": [{"pk": pk, "sk": sk}]}}
        answer = self.call("BatchGetItem", {"RequestItems": batch})
        assert answer["Responses"]["things"] == ([] if past is None else [past])
        transaction = {"TransactItems": [{"Get": {"TableName": "things", "Key": {"pk": pk, "sk": sk}}}]}
        now = self.call("TransactGetItems", transaction)["Responses"][0]
        assert now.get("Item") == self.state.get((pk, sk))

    @property
    def state(self) -> State:
        return self.history[-1][1]

    def note(self, state: State) -> None:
        self.history.append((self.clock.now, state))

    def as_of(self, age_seconds: float) -> State:
        moment = self.clock.now - age_seconds
        return next(state for time, state in reversed(self.history) if time <= moment)

    def agree(self, operation: str, request: dict[str, Any], age_seconds: float) -> None:
        """The unkind store answers, page by page, as the mirror in the state of that moment."""
        wanted = self.as_of(age_seconds)
        for key in self.mirrored.keys() - wanted.keys():
            self.call(
                "DeleteItem",
                {"TableName": "things", "Key": dict(zip(("pk", "sk"), key, strict=True))},
                self.mirror,
            )
        for key, item in wanted.items():
            if self.mirrored.get(key) != item:
                self.call("PutItem", {"TableName": "things", "Item": item}, self.mirror)
        self.mirrored = wanted
        found = self.runner.run(all_pages(self.engine, operation, request))
        expected = self.runner.run(all_pages(self.mirror, operation, request))
        assert equal([page["Items"] for page in found], [page["Items"] for page in expected])
        for one, other in zip(found, expected, strict=True):
            assert one.get("LastEvaluatedKey") == other.get("LastEvaluatedKey")
            assert one["ScannedCount"] == other["ScannedCount"]

    def call(self, operation: str, request: dict[str, Any], engine: Engine | None = None) -> dict[str, Any]:
        answer: dict[str, Any] = self.runner.run((engine or self.engine).call(operation, request))
        return answer


TestPastBesideMirror = PastBesideMirror.TestCase
TestPastBesideMirror.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def engine(clock: Clock) -> AsyncIterator[Engine]:
    engine = await open_store(clock)
    yield engine
    await engine.close()


@pytest.mark.anyio
async def test_an_index_shows_a_write_when_its_lag_has_passed(engine: Engine, clock: Clock) -> None:
    engine.set_chaos("index_lag_ms=500")
    await put(engine, "a", 1, group="red", rank=1)
    assert await all_items(engine, "Query", query_group("red")) == []
    assert await get(engine, "a", 1) is not None
    clock.pass_seconds(0.5)
    assert len(await all_items(engine, "Query", query_group("red"))) == 1


@pytest.mark.anyio
async def test_a_lagging_index_goes_on_showing_what_was_deleted(engine: Engine, clock: Clock) -> None:
    await put(engine, "a", 1, group="red", rank=1, note="old")
    engine.set_chaos("index_lag_ms=500")
    await put(engine, "a", 1, group="blue", rank=1, note="new")
    await engine.call("DeleteItem", {"TableName": "things", "Key": {"pk": "a", "sk": 1}})
    assert [item["note"] for item in await all_items(engine, "Query", query_group("red"))] == ["old"]
    assert await all_items(engine, "Query", query_group("blue")) == []
    clock.pass_seconds(0.5)
    assert await all_items(engine, "Query", query_group("red")) == []


@pytest.mark.anyio
async def test_items_that_expire_leave_a_lagging_index_later(engine: Engine, clock: Clock) -> None:
    specification = {"Enabled": True, "AttributeName": "expires"}
    await engine.call("UpdateTimeToLive", {"TableName": "things", "TimeToLiveSpecification": specification})
    await put(engine, "a", 1, group="red", rank=1, expires=int(clock.now) + 10)
    clock.pass_seconds(20)
    engine.set_chaos("index_lag_ms=500")
    await engine.reaper.sweep()
    assert await get(engine, "a", 1) is None
    assert len(await all_items(engine, "Query", query_group("red"))) == 1
    clock.pass_seconds(0.5)
    assert await all_items(engine, "Query", query_group("red")) == []


@pytest.mark.anyio
async def test_some_reads_are_stale_and_some_are_not(engine: Engine, clock: Clock) -> None:
    engine.set_chaos("stale=0.5,stale_ms=1000,seed=9")
    await put(engine, "a", 1)
    seen = [await get(engine, "a", 1) is not None for _ in range(100)]
    assert 20 < sum(seen) < 80
    assert all([await get(engine, "a", 1, consistent=True) for _ in range(100)])
    clock.pass_seconds(1)
    assert all([await get(engine, "a", 1) for _ in range(100)])


@pytest.mark.anyio
async def test_jitter_lets_an_index_lag_by_more_and_never_by_less(engine: Engine, clock: Clock) -> None:
    engine.set_chaos("index_lag_ms=500,index_lag_jitter_ms=500,seed=3")
    await put(engine, "a", 1, group="red", rank=1)
    clock.pass_seconds(0.499)
    assert not any([await all_items(engine, "Query", query_group("red")) for _ in range(20)])
    clock.pass_seconds(0.25)
    assert {bool(await all_items(engine, "Query", query_group("red"))) for _ in range(40)} == {True, False}
    clock.pass_seconds(0.26)
    assert all([await all_items(engine, "Query", query_group("red")) for _ in range(20)])


@pytest.mark.anyio
async def test_a_large_page_of_the_past_is_whole(engine: Engine) -> None:
    for number in range(700):
        await put(engine, "a", number, group="red", rank=number)
    engine.set_chaos("index_lag_ms=500")
    for number in range(0, 700, 2):
        await put(engine, "a", number, group="blue", rank=number)
    ranks = [item["rank"] for item in await all_items(engine, "Query", query_group("red"))]
    assert ranks == list(range(700))


@pytest.mark.anyio
async def test_a_page_of_the_past_keeps_to_its_limit(engine: Engine) -> None:
    for number in range(5):
        await put(engine, "a", number)
    engine.set_chaos("stale=1")
    for number in range(5):
        await engine.call("DeleteItem", {"TableName": "things", "Key": {"pk": "a", "sk": number}})
    pages = await all_pages(engine, "Query", query_partition("a", Limit=2))
    assert [[item["sk"] for item in page["Items"]] for page in pages] == [[0, 1], [2, 3], [4]]


@pytest.mark.anyio
async def test_the_journal_forgets_by_age_and_by_number(
    engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.set_chaos("index_lag_ms=500")
    assert engine.chaos is not None
    kept = engine.chaos.journal
    assert kept is not None
    for number in range(20):
        clock.pass_seconds(0.125)
        await put(engine, "a", number)
    assert len(kept) == 4
    monkeypatch.setattr(journal, "CHANGES_MAX", 3)
    await put(engine, "a", 1)
    assert len(kept) == 3
    monkeypatch.setattr(journal, "BYTES_MAX", 0)
    await put(engine, "a", 1)
    assert len(kept) == 0


@pytest.mark.anyio
async def test_a_store_on_disk_lags_while_it_is_written(tmp_path: Path, clock: Clock) -> None:
    async with await Engine.open(tmp_path / "store.db", clock=clock) as engine:
        await engine.call("CreateTable", TABLE)
        await put(engine, "a", 0, group="red", rank=0)
        engine.set_chaos("index_lag_ms=500")
        writes = [asyncio.ensure_future(put(engine, "a", n, group="red", rank=n)) for n in range(300)]
        while not all(write.done() for write in writes):
            assert [item["rank"] for item in await all_items(engine, "Query", query_group("red"))] == [0]
            await asyncio.wait(writes, return_when=asyncio.FIRST_COMPLETED, timeout=0.001)
        clock.pass_seconds(0.5)
        assert len(await all_items(engine, "Query", query_group("red"))) == 300


@pytest.mark.anyio
async def test_kindness_comes_back_at_once(engine: Engine) -> None:
    engine.set_chaos("index_lag_ms=500")
    await put(engine, "a", 1, group="red", rank=1)
    engine.set_chaos(None)
    assert engine.writer.transaction.witness is None
    assert len(await all_items(engine, "Query", query_group("red"))) == 1
