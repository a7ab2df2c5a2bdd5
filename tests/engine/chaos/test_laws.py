"""Under all of chaos at once: what was acknowledged is there, what was refused is not."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from entrepot.engine import Engine
from entrepot.engine.errors import ConditionFailed, Refused, Throttled, TransactionCanceled

from .store import Clock, all_items, open_store

CHAOS = (
    "throttle=0.2,request_limit=0.1,conflict=0.2,in_progress=0.1,unprocessed=0.4,short_pages=0.5,stale=0.5,"
    "index_lag_ms=500"
)

sorts = st.integers(0, 5)
steps = st.one_of(
    st.tuples(st.just("put"), sorts, st.integers(0, 9)),
    st.tuples(st.just("add"), sorts, st.integers(1, 9)),
    st.tuples(st.just("delete"), sorts, st.just(0)),
    st.tuples(st.just("fresh"), sorts, st.integers(0, 9)),
    st.tuples(st.just("both"), sorts, st.integers(0, 9)),
    st.tuples(st.just("batch"), sorts, st.integers(0, 9)),
)


@settings(max_examples=100, deadline=None)
@given(script=st.lists(steps, max_size=60), seed=st.integers(0, 10_000))
def test_nothing_acknowledged_is_lost_and_nothing_refused_is_kept(
    script: list[tuple[str, int, int]], seed: int
) -> None:
    with asyncio.Runner() as runner:
        runner.run(play(script, seed))


async def play(script: list[tuple[str, int, int]], seed: int) -> None:
    engine = await open_store(Clock(), f"{CHAOS},seed={seed}")
    model: dict[int, int] = {}
    try:
        for kind, sk, value in script:
            await take_step(engine, model, kind, sk, value)
            assert await stored(engine) == model
    finally:
        await engine.close()


async def take_step(engine: Engine, model: dict[int, int], kind: str, sk: int, value: int) -> None:
    """Does one thing; the model follows what was acknowledged."""
    try:
        answer = await engine.call(*request_of(kind, sk, value))
    except ConditionFailed:
        assert kind == "fresh"
        assert sk in model
        return
    except TransactionCanceled:
        assert kind == "both"
        return
    except (Refused, Throttled):
        return
    if kind == "delete":
        model.pop(sk, None)
    elif kind == "add":
        model[sk] = model.get(sk, 0) + value
    elif kind == "both":
        model |= {sk: value, sk + 1: value}
    elif kind == "batch":
        left = [entry["PutRequest"]["Item"]["sk"] for entry in answer["UnprocessedItems"].get("things", [])]
        model |= {each: value for each in (sk, sk + 1, sk + 2) if each not in left}
    else:
        assert kind == "put" or sk not in model
        model[sk] = value


def request_of(kind: str, sk: int, value: int) -> tuple[str, dict[str, Any]]:
    item = {"pk": "a", "sk": sk, "v": value, "group": "red", "rank": value}
    if kind == "put":
        return "PutItem", {"TableName": "things", "Item": item}
    if kind == "fresh":
        condition = "attribute_not_exists(pk)"
        return "PutItem", {"TableName": "things", "Item": item, "ConditionExpression": condition}
    if kind == "delete":
        return "DeleteItem", {"TableName": "things", "Key": {"pk": "a", "sk": sk}}
    if kind == "add":
        values = {":v": value}
        request = {"TableName": "things", "Key": {"pk": "a", "sk": sk}, "UpdateExpression": "ADD v :v"}
        return "UpdateItem", {**request, "ExpressionAttributeValues": values}
    if kind == "both":
        puts = [{"Put": {"TableName": "things", "Item": {**item, "sk": each}}} for each in (sk, sk + 1)]
        return "TransactWriteItems", {"TransactItems": puts}
    entries = [{"PutRequest": {"Item": {**item, "sk": each}}} for each in (sk, sk + 1, sk + 2)]
    return "BatchWriteItem", {"RequestItems": {"things": entries}}


async def stored(engine: Engine) -> dict[int, int]:
    """What is there, asked without chaos in the way, which goes on afterwards where it was."""
    chaos, engine.chaos = engine.chaos, None
    items = await all_items(engine, "Scan", {"TableName": "things", "ConsistentRead": True})
    engine.chaos = chaos
    return {item["sk"]: item["v"] for item in items}
