"""Refusals under chaos: the service's errors, by seed and by table, and nothing changed by any of them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from entrepot.engine import Chaos, Engine
from entrepot.engine.errors import DynamoError, Refused, Throttled, TransactionCanceled

from .store import TABLE, Clock, all_items, get, open_store, put, query_partition

pytestmark = pytest.mark.anyio

KEY = {"pk": "a", "sk": 1}
WRITES: list[tuple[str, dict[str, Any]]] = [
    ("PutItem", {"TableName": "things", "Item": KEY}),
    ("UpdateItem", {"TableName": "things", "Key": KEY}),
    ("DeleteItem", {"TableName": "things", "Key": KEY}),
]
READS: list[tuple[str, dict[str, Any]]] = [
    ("GetItem", {"TableName": "things", "Key": KEY}),
    ("Query", query_partition("a")),
    ("Scan", {"TableName": "things"}),
    ("BatchGetItem", {"RequestItems": {"things": {"Keys": [KEY]}}}),
]
BATCH_WRITE = ("BatchWriteItem", {"RequestItems": {"things": [{"PutRequest": {"Item": KEY}}]}})
TRANSACTIONS: list[tuple[str, dict[str, Any]]] = [
    (
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": {"TableName": "things", "Item": KEY}},
                {"Put": {"TableName": "things", "Item": {"pk": "a", "sk": 2}}},
            ]
        },
    ),
    (
        "TransactGetItems",
        {
            "TransactItems": [
                {"Get": {"TableName": "things", "Key": KEY}},
                {"Get": {"TableName": "things", "Key": {"pk": "a", "sk": 2}}},
            ]
        },
    ),
]


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    engine = await open_store(Clock())
    yield engine
    await engine.close()


async def items(engine: Engine) -> list[dict[str, Any]]:
    engine.set_chaos(None)
    return await all_items(engine, "Scan", {"TableName": "things"})


@pytest.mark.parametrize(("operation", "request_"), [*WRITES, *READS, BATCH_WRITE])
async def test_throttling_refuses_each_operation_and_changes_nothing(
    engine: Engine, operation: str, request_: dict[str, Any]
) -> None:
    await put(engine, "z", 1)
    engine.set_chaos("throttle=1")
    with pytest.raises(Throttled) as caught:
        await engine.call(operation, request_)
    assert caught.value.type == "ProvisionedThroughputExceededException"
    assert await items(engine) == [{"pk": "z", "sk": 1}]


async def test_an_on_demand_table_is_throttled_in_its_own_words(engine: Engine) -> None:
    table = {name: value for name, value in TABLE.items() if name != "ProvisionedThroughput"}
    indexes = [
        {name: value for name, value in index.items() if name != "ProvisionedThroughput"}
        for index in TABLE["GlobalSecondaryIndexes"]
    ]
    request = {
        **table,
        "TableName": "busy",
        "BillingMode": "PAY_PER_REQUEST",
        "GlobalSecondaryIndexes": indexes,
    }
    await engine.call("CreateTable", request)
    engine.set_chaos("throttle=1")
    with pytest.raises(Throttled) as caught:
        await engine.call("GetItem", {"TableName": "busy", "Key": KEY})
    assert caught.value.type == "ThrottlingException"
    assert "automatically scaling" in caught.value.message


@pytest.mark.parametrize(("operation", "request_"), [*WRITES, *READS, BATCH_WRITE, *TRANSACTIONS])
async def test_the_account_has_a_limit_too(engine: Engine, operation: str, request_: dict[str, Any]) -> None:
    engine.set_chaos("request_limit=1")
    with pytest.raises(Throttled) as caught:
        await engine.call(operation, request_)
    assert caught.value.type == "RequestLimitExceeded"
    assert await items(engine) == []


@pytest.mark.parametrize(("operation", "request_"), WRITES)
async def test_a_single_write_meets_a_transaction(
    engine: Engine, operation: str, request_: dict[str, Any]
) -> None:
    engine.set_chaos("conflict=1")
    with pytest.raises(Refused) as caught:
        await engine.call(operation, request_)
    assert caught.value.type == "TransactionConflictException"
    assert await items(engine) == []


@pytest.mark.parametrize(("operation", "request_"), [*READS, BATCH_WRITE])
async def test_reads_and_batches_meet_no_transaction(
    engine: Engine, operation: str, request_: dict[str, Any]
) -> None:
    engine.set_chaos("conflict=1,in_progress=1")
    await engine.call(operation, request_)


@pytest.mark.parametrize(
    ("setting", "code"), [("conflict", "TransactionConflict"), ("throttle", "ProvisionedThroughputExceeded")]
)
@pytest.mark.parametrize(("operation", "request_"), TRANSACTIONS)
async def test_a_transaction_is_cancelled_with_a_reason(
    engine: Engine, operation: str, request_: dict[str, Any], setting: str, code: str
) -> None:
    engine.set_chaos(f"{setting}=1")
    with pytest.raises(TransactionCanceled) as caught:
        await engine.call(operation, request_)
    assert sorted(reason.code for reason in caught.value.reasons) == sorted(["None", code])
    assert all((reason.message is None) == (reason.code == "None") for reason in caught.value.reasons)
    assert await items(engine) == []


async def test_a_transaction_with_a_token_may_be_in_progress(engine: Engine) -> None:
    engine.set_chaos("in_progress=1")
    operation, request = TRANSACTIONS[0]
    with pytest.raises(Refused) as caught:
        await engine.call(operation, {**request, "ClientRequestToken": "again"})
    assert caught.value.type == "TransactionInProgressException"
    await engine.call(operation, request)
    assert len(await items(engine)) == 2


async def test_what_breaks_a_rule_is_told_so_first(engine: Engine) -> None:
    engine.set_chaos("throttle=1,conflict=1,request_limit=1")
    with pytest.raises(DynamoError) as caught:
        await engine.call("PutItem", {"TableName": "things", "Item": {"pk": "a"}})
    assert caught.value.type == "ValidationException"


async def test_one_table_can_be_unkind_alone(engine: Engine) -> None:
    await engine.call("CreateTable", {**TABLE, "TableName": "calm.things"})
    engine.set_chaos(Chaos(throttle=1, tables={"calm.things": {"throttle": 0}}))
    await engine.call("PutItem", {"TableName": "calm.things", "Item": KEY})
    with pytest.raises(Throttled):
        await put(engine, "a", 1)


async def outcomes(engine: Engine, chaos: str, count: int = 200) -> list[str]:
    engine.set_chaos(chaos)
    seen = []
    for number in range(count):
        try:
            await put(engine, "a", number)
            seen.append("kept")
        except DynamoError as error:
            seen.append(error.type)
    return seen


async def test_the_same_seed_gives_the_same_sequence(engine: Engine) -> None:
    first = await outcomes(engine, "throttle=0.2,conflict=0.2,seed=7")
    assert await outcomes(engine, "throttle=0.2,conflict=0.2,seed=7") == first
    assert await outcomes(engine, "throttle=0.2,conflict=0.2,seed=8") != first
    assert set(first) == {"kept", "ProvisionedThroughputExceededException", "TransactionConflictException"}


async def test_another_kind_or_table_does_not_shift_a_sequence(engine: Engine) -> None:
    await engine.call("CreateTable", {**TABLE, "TableName": "others"})
    alone = await outcomes(engine, "throttle=0.3,seed=1")
    engine.set_chaos("throttle=0.3,short_pages=0.5,seed=1")
    beside = []
    for number in range(200):
        await engine.call("DescribeTable", {"TableName": "things"})
        with contextlib.suppress(Throttled):
            await engine.call("GetItem", {"TableName": "others", "Key": KEY})
        try:
            await put(engine, "a", number)
            beside.append("kept")
        except Throttled as error:
            beside.append(error.type)
    assert beside == alone


async def test_probabilities_are_met(engine: Engine) -> None:
    seen = await outcomes(engine, "throttle=0.25,seed=3", 2000)
    assert 400 < seen.count("ProvisionedThroughputExceededException") < 600
    assert engine.chaos is not None
    assert engine.chaos.done["throttle"] == seen.count("ProvisionedThroughputExceededException")


async def test_a_refused_write_is_not_there_and_a_kept_one_is(engine: Engine) -> None:
    seen = await outcomes(engine, "throttle=0.3,conflict=0.2,request_limit=0.1,seed=5")
    engine.set_chaos(None)
    for number, outcome in enumerate(seen):
        assert (await get(engine, "a", number) is not None) == (outcome == "kept")
