"""Transactions: all or nothing, and who was the cause."""

from __future__ import annotations

import pytest

from entrepot.tables import Database, Repeated, TooMany, TransactionLost, attr
from tests.tables.sample import (
    OWNER,
    Comment,
    DayCounts,
    Done,
    Measure,
    Measures,
    Note,
    NoteId,
    Notes,
    note,
)

pytestmark = pytest.mark.anyio


async def test_all_actions_happen(db: Database) -> None:
    notes = Notes(db)
    await db.create(note(1, title="old"))
    await db.create(note(2))
    async with db.transaction() as t:
        t.create(note(3, slug="s"))
        t.update(notes.viewed(OWNER, NoteId("n001"), 5))
        t.delete(note(2))
        t.update(DayCounts(db).counted(OWNER, "monday", 1, 9_999_999_999))
        t.put(Measure(device="d", at=1, value=1.0))
    assert (await notes.by_slug("s").required()).noteId == "n003"
    assert (await notes.one(OWNER, NoteId("n001")).required()).views == 5
    assert await notes.one(OWNER, NoteId("n002")) is None
    assert (await Measures(db).one("d", 1).required()).value == 1.0


async def test_a_lost_transaction_changes_nothing_and_names_the_cause(db: Database) -> None:
    notes = Notes(db)
    await db.create(note(1, views=3))
    t = db.transaction()
    created = t.create(note(2))
    checked = t.check(notes.one(OWNER, NoteId("n001")), attr(Note.views) > 5)
    with pytest.raises(TransactionLost) as caught:
        await t.__aexit__(None, None, None)
    lost = caught.value
    assert lost.failure_of(created) is None
    failure = lost.failure_of(checked)
    assert failure is not None
    assert failure.code == "ConditionalCheckFailed"
    assert failure.item == note(1, views=3)
    assert "check Note OWNER#o1 NOTE#n001: ConditionalCheckFailed" in str(lost)
    assert await notes.one(OWNER, NoteId("n002")) is None


async def test_an_exception_in_the_block_sends_nothing(db: Database) -> None:
    class Stop(Exception):
        pass

    async def attempt() -> None:
        async with db.transaction() as t:
            t.create(note(1))
            raise Stop

    with pytest.raises(Stop):
        await attempt()
    assert await Notes(db).one(OWNER, NoteId("n001")) is None


async def test_an_empty_transaction_is_nothing(db: Database) -> None:
    async with db.transaction():
        pass


async def test_once_tells_what_was_done_before(db: Database) -> None:
    async def do(result: str) -> None:
        async with db.transaction() as t:
            t.once(Done(key="k", result=result, expiresAt=9_999_999_999))
            t.update(DayCounts(db).counted(OWNER, "monday", 1, 9_999_999_999))

    await do("first")
    with pytest.raises(Repeated) as caught:
        await do("second")
    assert caught.value.record == Done(key="k", result="first", expiresAt=9_999_999_999)
    assert (await DayCounts(db).one(OWNER, "monday").required()).count == 1


# moto forgets tokens.
@pytest.mark.parametrize("store", ["engine", "wire"], indirect=True)
async def test_the_same_token_does_it_once(db: Database) -> None:
    await db.create(note(1))
    for _ in range(2):
        async with db.transaction(token="the-same-token") as t:
            t.update(Notes(db).viewed(OWNER, NoteId("n001"), 1))
    assert (await Notes(db).one(OWNER, NoteId("n001")).required()).views == 1


async def test_absence_can_be_demanded(db: Database) -> None:
    notes = Notes(db)
    async with db.transaction() as t:
        t.check_absent(notes.one(OWNER, NoteId("n001")))
        t.create(note(2))
    await db.create(note(1))
    t = db.transaction()
    t.check_absent(notes.one(OWNER, NoteId("n001")))
    t.create(note(3))
    with pytest.raises(TransactionLost):
        await t.__aexit__(None, None, None)


async def test_an_edit_in_a_transaction_counts_the_version_when_it_is_done(db: Database) -> None:
    old = note(1, slug="one")
    await db.create(old)
    new = note(1, slug="two")
    async with db.transaction() as t:
        assert t.edit(old, new) is not None
        assert t.edit(note(2), note(2)) is None
        assert new.version == 1
    assert new.version == 2
    assert await Notes(db).holding_slug("one") is None
    assert (await Notes(db).holding_slug("two").required()).version == 2


async def test_more_than_a_hundred_actions_are_refused(db: Database) -> None:
    t = db.transaction()
    for number in range(100):
        t.create(Comment(owner=OWNER, noteId=NoteId("n"), number=number, text="x"))
    with pytest.raises(TooMany, match="takes 100 actions, this has 101"):
        t.create(Comment(owner=OWNER, noteId=NoteId("n"), number=100, text="x"))


async def test_two_actions_on_one_item_are_refused_by_name(db: Database) -> None:
    t = db.transaction()
    t.create(note(1))
    with pytest.raises(
        ValueError, match=r"update Note OWNER#o1 NOTE#n001: a transaction acts on an item once"
    ):
        t.update(Notes(db).viewed(OWNER, NoteId("n001"), 1))


async def test_a_snapshot_reads_several_items_at_once(db: Database) -> None:
    await db.create(note(1))
    await db.put(Measure(device="d", at=1, value=1.0))
    notes = Notes(db)
    found = await db.snapshot(
        notes.one(OWNER, NoteId("n001")), notes.one(OWNER, NoteId("n404")), Measures(db).one("d", 1)
    )
    assert found == [note(1), None, Measure(device="d", at=1, value=1.0)]
