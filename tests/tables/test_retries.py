"""Retries are the library's: what says "later" is sent again, what may be done twice is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from entrepot.engine import Engine
from entrepot.engine import errors as dynamo
from entrepot.tables import (
    AlreadyExists,
    ConditionFailed,
    Database,
    OutcomeUnknown,
    Store,
    Throttled,
    TransactionLost,
    Unreachable,
    provision,
)
from tests.tables.sample import OWNER, TABLES, Measure, Measures, NoteId, Notes, note

pytestmark = pytest.mark.anyio

Answer = Callable[[], Exception | None]


class FaultyStore:
    """A store that fails as told, before or after it has done what was asked."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.faults: list[tuple[str, Exception]] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.leave_over = 0

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.calls.append((operation, request))
        when, fault = self.faults.pop(0) if self.faults else ("", None)
        if fault is not None and when == "before":
            raise fault
        answer = await self._store.call(operation, self._part(operation, request))
        if fault is not None:
            raise fault
        return {**answer, **self._left(operation, request)}

    def _part(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if not self.leave_over or "RequestItems" not in request:
            return request
        return {"RequestItems": {t: self._cut(entries, 0) for t, entries in request["RequestItems"].items()}}

    def _left(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if not self.leave_over or "RequestItems" not in request:
            return {}
        name = "UnprocessedItems" if operation == "BatchWriteItem" else "UnprocessedKeys"
        return {name: {t: rest for t, e in request["RequestItems"].items() if (rest := self._cut(e, 1))}}

    def _cut(self, entries: Any, side: int) -> Any:
        if isinstance(entries, dict):
            keys = self._cut(entries["Keys"], side)
            return {**entries, "Keys": keys} if keys else None
        kept = max(1, len(entries) - self.leave_over)
        return (entries[:kept], entries[kept:])[side]

    async def close(self) -> None:
        await self._store.close()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
async def faulty(waits: list[float]) -> AsyncIterator[FaultyStore]:
    engine = await Engine.open(":memory:")
    yield FaultyStore(engine)
    await engine.close()


@pytest.fixture
async def faulty_db(faulty: FaultyStore, waits: list[float]) -> Database:
    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await asyncio.sleep(0)

    made = Database(faulty, sleep=sleep)
    await provision(made, TABLES)
    faulty.calls.clear()
    return made


THROTTLED = dynamo.Throttled("slow down", "ProvisionedThroughputExceededException")
LOST = Unreachable("reset", sent=True)
MEASURE = Measure(device="d", at=1, value=1.0)


async def test_a_throttled_call_is_sent_again_with_growing_waits(
    faulty_db: Database, faulty: FaultyStore, waits: list[float]
) -> None:
    faulty.faults = [("before", THROTTLED)] * 4
    await faulty_db.put(MEASURE)
    assert await Measures(faulty_db).one("d", 1) == MEASURE
    assert len(waits) == 4
    assert all(wait <= 0.025 * 2**number for number, wait in enumerate(waits))


async def test_a_call_that_is_throttled_past_its_deadline_says_so(
    faulty_db: Database, faulty: FaultyStore, waits: list[float]
) -> None:
    faulty.faults = [("before", THROTTLED)] * 1000
    with pytest.raises(Throttled, match=r"PutItem: not taken in 10.0 s"):
        await faulty_db.put(MEASURE)
    assert 5 < len(faulty.calls) < 30
    assert max(waits) <= 1.0


@pytest.mark.parametrize(
    "error",
    [
        dynamo.Throttled("x"),
        dynamo.Refused("TransactionConflictException", "x"),
        dynamo.Internal("x"),
        Unreachable("refused", sent=False),
        Unreachable("reset", sent=True),
    ],
)
async def test_reads_are_sent_again_whatever_happened(
    faulty_db: Database, faulty: FaultyStore, error: Exception
) -> None:
    await faulty_db.put(MEASURE)
    faulty.faults = [("before", error), ("after", error)]
    assert await Measures(faulty_db).one("d", 1) == MEASURE


@pytest.mark.parametrize(
    "error", [dynamo.Validation("wrong"), dynamo.Refused("ResourceNotFoundException", "x")]
)
async def test_a_refusal_is_not_sent_again(
    faulty_db: Database, faulty: FaultyStore, error: Exception
) -> None:
    faulty.faults = [("before", error)]
    with pytest.raises(type(error)):
        await faulty_db.put(MEASURE)
    assert len(faulty.calls) == 1


async def test_a_transaction_in_conflict_is_sent_again_with_its_token(
    faulty_db: Database, faulty: FaultyStore
) -> None:
    conflict = dynamo.TransactionCanceled([dynamo.Reason("TransactionConflict"), dynamo.Reason()])
    faulty.faults = [("before", conflict), ("before", dynamo.Refused("TransactionInProgressException", "x"))]
    async with faulty_db.transaction() as t:
        t.create(note(1))
        t.create(note(2))
    tokens = {request["ClientRequestToken"] for _, request in faulty.calls}
    assert len(faulty.calls) == 3
    assert len(tokens) == 1


async def test_a_transaction_whose_answer_was_lost_is_done_once(
    faulty_db: Database, faulty: FaultyStore
) -> None:
    await faulty_db.create(note(1))
    faulty.faults = [("after", LOST)]
    async with faulty_db.transaction() as t:
        t.update(Notes(faulty_db).viewed(OWNER, NoteId("n001"), 1))
    assert (await Notes(faulty_db).one(OWNER, NoteId("n001")).required()).views == 1


async def test_conflicts_past_the_deadline_are_throttling_and_never_a_lost_transaction(
    faulty_db: Database, faulty: FaultyStore
) -> None:
    conflict = dynamo.TransactionCanceled([dynamo.Reason("TransactionConflict")])
    faulty.faults = [("before", conflict)] * 1000
    t = faulty_db.transaction()
    t.create(note(1))
    with pytest.raises(Throttled):
        await t.__aexit__(None, None, None)


async def test_a_condition_that_failed_is_not_sent_again(faulty_db: Database, faulty: FaultyStore) -> None:
    canceled = dynamo.TransactionCanceled(
        [dynamo.Reason("ConditionalCheckFailed"), dynamo.Reason("TransactionConflict")]
    )
    faulty.faults = [("before", canceled)]
    t = faulty_db.transaction()
    t.create(note(1))
    t.create(note(2))
    with pytest.raises(TransactionLost):
        await t.__aexit__(None, None, None)
    assert len(faulty.calls) == 1


async def test_a_create_whose_answer_was_lost_is_known_by_its_item(
    faulty_db: Database, faulty: FaultyStore
) -> None:
    faulty.faults = [("after", LOST)]
    await faulty_db.create(note(1, views=1))
    with pytest.raises(AlreadyExists):
        await faulty_db.create(note(1, views=1))


async def test_a_create_that_lost_to_another_is_not_mistaken_for_our_own(
    faulty_db: Database, faulty: FaultyStore
) -> None:
    await faulty_db.create(note(1, title="theirs"))
    faulty.faults = [("before", LOST)]
    with pytest.raises(OutcomeUnknown):
        await faulty_db.create(note(1, title="ours"))


async def test_an_addition_whose_answer_was_lost_is_not_done_twice(
    faulty_db: Database, faulty: FaultyStore
) -> None:
    await faulty_db.create(note(1))
    faulty.faults = [("after", LOST)]
    with pytest.raises(OutcomeUnknown):
        await Notes(faulty_db).viewed(OWNER, NoteId("n001"), 1)
    assert (await Notes(faulty_db).one(OWNER, NoteId("n001")).required()).views == 1


async def test_an_addition_that_was_never_sent_is_sent_again(
    faulty_db: Database, faulty: FaultyStore
) -> None:
    await faulty_db.create(note(1))
    faulty.faults = [("before", Unreachable("refused", sent=False)), ("before", THROTTLED)]
    assert (await Notes(faulty_db).viewed(OWNER, NoteId("n001"), 1)).views == 1


async def test_a_failed_condition_after_throttling_is_still_a_failed_condition(
    faulty_db: Database, faulty: FaultyStore
) -> None:
    await faulty_db.create(note(1, state="done"))
    faulty.faults = [("before", THROTTLED)]
    with pytest.raises(ConditionFailed) as caught:
        await Notes(faulty_db).finished(OWNER, NoteId("n001"), 1)
    assert caught.value.item.state == "done"


class TestBatches:
    async def test_batches_are_cut_to_what_dynamodb_takes(
        self, faulty_db: Database, faulty: FaultyStore
    ) -> None:
        measures = [Measure(device="d", at=at, value=float(at)) for at in range(130)]
        await faulty_db.put_all(measures)
        assert [len(request["RequestItems"]["measures"]) for _, request in faulty.calls] == [25] * 5 + [5]
        faulty.calls.clear()
        items = [Measures(faulty_db).one("d", at) for at in range(130)]
        assert await faulty_db.get_all(items) == measures
        assert [len(r["RequestItems"]["measures"]["Keys"]) for _, r in faulty.calls] == [100, 30]
        await faulty_db.delete_all(items)
        assert await faulty_db.get_all(items) == [None] * 130

    async def test_what_was_not_processed_is_sent_again(
        self, faulty_db: Database, faulty: FaultyStore
    ) -> None:
        faulty.leave_over = 10
        measures = [Measure(device="d", at=at, value=float(at)) for at in range(60)]
        await faulty_db.put_all(measures)
        items = [Measures(faulty_db).one("d", at) for at in range(60)]
        assert await faulty_db.get_all(items) == measures

    async def test_batches_that_are_never_processed_end_at_the_deadline(
        self, faulty_db: Database, faulty: FaultyStore
    ) -> None:
        async def nothing(operation: str, request: dict[str, Any]) -> dict[str, Any]:
            name = "UnprocessedItems" if operation == "BatchWriteItem" else "UnprocessedKeys"
            return {name: request["RequestItems"]}

        faulty_db._call = nothing
        with pytest.raises(Throttled):
            await faulty_db.put_all([MEASURE])
        with pytest.raises(Throttled):
            await faulty_db.get_all([Measures(faulty_db).one("d", 1)])

    async def test_an_item_asked_for_twice_is_answered_twice(self, faulty_db: Database) -> None:
        await faulty_db.put_all([MEASURE, MEASURE])
        one = Measures(faulty_db).one("d", 1)
        assert await faulty_db.get_all([one, one]) == [MEASURE, MEASURE]
        assert await faulty_db.get_all([]) == []
