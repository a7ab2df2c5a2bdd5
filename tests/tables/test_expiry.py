"""What has expired is gone from its second on, deleted or not."""

from __future__ import annotations

import pytest

from entrepot.clock import Clock
from entrepot.tables import Database, NotFound, TransactionLost, attr
from tests.tables.sample import OWNER, Comment, Comments, DayCounts, Done, Note, NoteId, Notes, note

pytestmark = pytest.mark.anyio


async def test_an_expired_item_is_invisible_to_every_read(db: Database, clock: Clock) -> None:
    now = clock.epoch_seconds()
    for number in range(3):
        await db.create(note(number, slug=f"s{number}", expiresAt=now + 100))
    await db.create(note(3, slug="s3"))
    notes = Notes(db)
    one = notes.one(OWNER, NoteId("n000"))
    assert await one is not None
    clock.advance(101)
    assert await one is None
    assert await db.get_all([one, notes.one(OWNER, NoteId("n003"))]) == [None, note(3, slug="s3")]
    assert await db.snapshot(one) == [None]
    assert [found.noteId for found in await notes.of_owner(OWNER).all()] == ["n003"]
    assert (await notes.of_owner(OWNER).page(limit=1)).items[0].noteId == "n003"
    assert await notes.of_owner(OWNER).count() == 1
    assert [found.noteId for found in await notes.in_state(OWNER, "open").all()] == ["n003"]
    assert await notes.by_slug("s0") is None
    assert await notes.holding_slug("s0") is None
    assert [line.noteId for line in await notes.lines_of_owner(OWNER).all()] == ["n003"]


async def test_create_takes_the_place_of_what_has_expired(db: Database, clock: Clock) -> None:
    await db.create(note(1, slug="s", title="old", expiresAt=clock.epoch_seconds() + 10))
    clock.advance(10)
    await db.create(note(2, slug="s", title="takes the slug"))
    await db.create(note(1, title="takes the key"))
    assert (await Notes(db).by_slug("s").required()).noteId == "n002"


async def test_updates_do_not_revive_what_has_expired(db: Database, clock: Clock) -> None:
    await db.create(note(1, expiresAt=clock.epoch_seconds() + 10))
    await db.create(
        Comment(owner=OWNER, noteId=NoteId("n"), number=1, text="x", expiresAt=clock.epoch_seconds() + 10)
    )
    clock.advance(11)
    with pytest.raises(NotFound):
        await Notes(db).viewed(OWNER, NoteId("n001"), 1)
    with pytest.raises(NotFound):
        await db.replace(Comment(owner=OWNER, noteId=NoteId("n"), number=1, text="y"))
    t = db.transaction()
    t.check(Comments(db).one(OWNER, NoteId("n"), 1))
    t.create(note(5))
    with pytest.raises(TransactionLost):
        await t.__aexit__(None, None, None)


async def test_an_upsert_starts_anew_when_what_was_there_has_expired(db: Database, clock: Clock) -> None:
    counts, now = DayCounts(db), clock.epoch_seconds()
    await counts.counted(OWNER, "monday", 5, now + 10)
    clock.advance(11)
    counted = await counts.counted(OWNER, "monday", 1, now + 100)
    assert (counted.count, counted.expiresAt) == (1, now + 100)


async def test_a_record_of_once_ends_with_its_time(db: Database, clock: Clock) -> None:
    for _ in range(2):
        async with db.transaction() as t:
            t.once(Done(key="k", result="r", expiresAt=clock.epoch_seconds() + 10))
        clock.advance(11)


async def test_a_guard_shares_its_entitys_time(db: Database, clock: Clock) -> None:
    now = clock.epoch_seconds()
    await db.create(note(1, slug="s", expiresAt=now + 10))
    async with db.edit(Notes(db).one(OWNER, NoteId("n001"))) as draft:
        draft.expiresAt = now + 1000
    clock.advance(100)
    assert (await Notes(db).holding_slug("s").required()).noteId == "n001"
    alive = await db.update(Notes(db).one(OWNER, NoteId("n001")), attr(Note.title).set("alive"))
    assert alive.title == "alive"
