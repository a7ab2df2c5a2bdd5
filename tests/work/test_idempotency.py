"""The record of an Idempotency-Key: the first call is made, all others learn what became of it."""

from __future__ import annotations

import asyncio

import pytest

from entrepot.clock import Clock
from entrepot.tables import Database
from entrepot.work.idempotency import Answer, Begun, Idempotency, Reused, Running, fingerprint_of

pytestmark = pytest.mark.anyio

ANSWER = Answer(201, {"content-type": "application/json"}, b'{"id":1}')


@pytest.fixture
def records(db: Database, clock: Clock) -> Idempotency:
    return Idempotency(db, clock)


async def begun(
    records: Idempotency, caller: str = "person.a", key: str = "k", fingerprint: str = "f"
) -> Begun:
    found = await records.begin(caller, key, fingerprint)
    assert isinstance(found, Begun)
    return found


async def test_a_repeat_gets_the_first_answer(records: Idempotency) -> None:
    await records.keep(await begun(records), ANSWER)
    assert await records.begin("person.a", "k", "f") == ANSWER


async def test_one_of_many_at_once_makes_the_call(records: Idempotency) -> None:
    found = await asyncio.gather(*(records.begin("person.a", "k", "f") for _ in range(20)))
    assert sum(isinstance(each, Begun) for each in found) == 1
    assert sum(isinstance(each, Running) for each in found) == 19


async def test_another_call_with_the_same_key_is_told_so(records: Idempotency) -> None:
    first = await begun(records)
    assert isinstance(await records.begin("person.a", "k", "other"), Reused)
    await records.keep(first, ANSWER)
    assert isinstance(await records.begin("person.a", "k", "other"), Reused)


async def test_a_key_is_its_callers_own(records: Idempotency) -> None:
    await records.keep(await begun(records), ANSWER)
    await begun(records, caller="person.b")


async def test_a_call_that_changed_nothing_can_be_made_anew(records: Idempotency) -> None:
    await records.forget(await begun(records))
    await begun(records, fingerprint="other")


async def test_an_answer_is_kept_for_a_day(records: Idempotency, clock: Clock) -> None:
    await records.keep(await begun(records), ANSWER)
    clock.advance(24 * 3600 - 2)
    assert await records.begin("person.a", "k", "f") == ANSWER
    clock.advance(3)
    await begun(records)


async def test_a_call_that_was_cut_off_is_made_by_one_of_those_who_repeat_it(
    records: Idempotency, clock: Clock
) -> None:
    cut_off = await begun(records)
    clock.advance(61)
    found = await asyncio.gather(*(records.begin("person.a", "k", "f") for _ in range(10)))
    (second,) = [each for each in found if isinstance(each, Begun)]
    assert all(isinstance(each, (Begun, Running)) for each in found)
    # The first comes late, and its answer is not the one that counts.
    await records.keep(cut_off, Answer(201, {}, b"late"))
    await records.forget(cut_off)
    await records.keep(second, ANSWER)
    assert await records.begin("person.a", "k", "f") == ANSWER


async def test_an_answer_that_is_too_large_is_known_but_not_kept(records: Idempotency) -> None:
    await records.keep(await begun(records), Answer(201, {}, b"x" * 300_000))
    assert await records.begin("person.a", "k", "f") == Answer(201, {}, None)


async def test_any_text_can_be_a_key(records: Idempotency) -> None:
    for key in ("#", "a#b", "\U0001f511" * 60, " "):
        await begun(records, key=key)


def test_the_parts_of_a_fingerprint_do_not_run_into_each_other() -> None:
    assert fingerprint_of(b"ab", b"c") != fingerprint_of(b"a", b"bc")
