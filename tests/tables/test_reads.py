"""Reads: pages, cursors, projections, several entities, lookups that do not trust an index."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import Struct

from entrepot.engine import Engine
from entrepot.tables import (
    CorruptItem,
    Database,
    DeclarationError,
    InvalidCursor,
    NotFound,
    Store,
    TooMany,
    attr,
    provision,
)
from tests.tables.sample import (
    OTHER,
    OWNER,
    TABLES,
    Comment,
    Comments,
    Measure,
    Measures,
    Note,
    NoteId,
    NoteLine,
    Notes,
    note,
)

pytestmark = pytest.mark.anyio


async def fill(db: Database, count: int, **attributes: Any) -> None:
    for number in range(count):
        await db.create(note(number, **attributes))


async def test_a_missing_item_is_none_and_required_says_what_was_missed(db: Database) -> None:
    one = Notes(db).one(OWNER, NoteId("n404"))
    assert await one is None
    with pytest.raises(NotFound, match=r"Notes\.one\(owner='o1', noteId='n404'\)"):
        await one.required()


async def test_pages_cover_the_list_once_and_end_without_a_cursor(db: Database) -> None:
    await fill(db, 7)
    notes, seen, cursor = Notes(db), [], None
    sizes = []
    while True:
        page = await notes.of_owner(OWNER).page(limit=3, cursor=cursor)
        seen += [found.noteId for found in page.items]
        sizes.append(len(page.items))
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == [f"n{number:03}" for number in range(7)]
    assert sizes == [3, 3, 1]


async def test_a_full_last_page_has_no_cursor(db: Database) -> None:
    await fill(db, 4)
    first = await Notes(db).of_owner(OWNER).page(limit=2)
    second = await Notes(db).of_owner(OWNER).page(limit=2, cursor=first.cursor)
    assert len(second.items) == 2
    assert second.cursor is None


async def test_pages_of_an_index_go_on_where_they_ended(db: Database) -> None:
    for number in range(6):
        await db.create(note(number, rank=7))
    listed = Notes(db).in_state(OWNER, "open")
    first = await listed.page(limit=4)
    second = await listed.page(limit=4, cursor=first.cursor)
    assert [found.noteId for found in first.items + second.items] == [f"n{n:03}" for n in range(6)]
    assert second.cursor is None


async def test_a_list_can_be_read_from_its_other_end(db: Database) -> None:
    await fill(db, 5)
    listed = Notes(db).of_owner(OWNER).reversed()
    first = await listed.page(limit=2)
    second = await listed.page(limit=2, cursor=first.cursor)
    assert [found.noteId for found in first.items + second.items] == ["n004", "n003", "n002", "n001"]


async def test_a_cursor_serves_only_the_list_that_gave_it(db: Database) -> None:
    await fill(db, 5)
    notes = Notes(db)
    cursor = (await notes.of_owner(OWNER).page(limit=2)).cursor
    assert cursor is not None
    others = [
        notes.of_owner(OTHER),
        notes.of_owner(OWNER).reversed(),
        notes.of_owner(OWNER).where(attr(Note.state) == "open"),
        notes.in_state(OWNER, "open"),
    ]
    for other in others:
        with pytest.raises(InvalidCursor):
            await other.page(limit=2, cursor=cursor)


@pytest.mark.parametrize("damage", ["x", "==", "!!", "ä", "A" * 10_000])
async def test_a_damaged_cursor_is_refused(engine_db: Database, damage: str) -> None:
    await fill(engine_db, 3)
    cursor = (await Notes(engine_db).of_owner(OWNER).page(limit=2)).cursor
    assert cursor is not None
    for broken in ("", damage, damage + cursor, cursor[:-2] + damage, cursor[::-1]):
        with pytest.raises(InvalidCursor):
            await Notes(engine_db).of_owner(OWNER).page(limit=2, cursor=broken)


async def test_a_cursor_survives_a_restart_when_its_key_does(engine_db: Database) -> None:
    await fill(engine_db, 3)
    one = Database(engine_db.store, cursor_key=b"k" * 32)
    other = Database(engine_db.store, cursor_key=b"k" * 32)
    cursor = (await Notes(one).of_owner(OWNER).page(limit=2)).cursor
    page = await Notes(other).of_owner(OWNER).page(limit=2, cursor=cursor)
    assert [found.noteId for found in page.items] == ["n002"]
    with pytest.raises(InvalidCursor):
        await Notes(Database(engine_db.store)).of_owner(OWNER).page(limit=2, cursor=cursor)


@pytest.mark.parametrize("limit", [0, -1, 1001])
async def test_a_page_has_a_bound(engine_db: Database, limit: int) -> None:
    with pytest.raises(ValueError, match="1 to 1000"):
        await Notes(engine_db).of_owner(OWNER).page(limit=limit)


async def test_a_list_that_outgrows_its_bound_says_so(engine_db: Database) -> None:
    await engine_db.put_all(Measure(device="d", at=n, value=1.0) for n in range(1200))
    with pytest.raises(TooMany, match="more than 1000"):
        await Measures(engine_db).between("d", 0, 5000).all()
    assert await Measures(engine_db).between("d", 0, 5000).count() == 1000
    seen = [found.at async for found in Measures(engine_db).between("d", 0, 5000).each(at_most=2000)]
    assert seen == list(range(1200))


async def test_all_reads_over_pages_of_a_megabyte(db: Database) -> None:
    for number in range(12):
        await db.create(note(number, extra={"text": "x" * 150_000}))
    found = await Notes(db).of_owner(OWNER).all()
    assert [each.noteId for each in found] == [f"n{number:03}" for number in range(12)]


async def test_first_and_count(db: Database) -> None:
    assert await Notes(db).of_owner(OWNER).first() is None
    await fill(db, 3)
    first = await Notes(db).of_owner(OWNER).first()
    assert first is not None
    assert first.noteId == "n000"
    assert await Notes(db).of_owner(OWNER).count() == 3


async def test_a_filter_fills_its_page(db: Database) -> None:
    for number in range(30):
        await db.create(note(number, views=number % 3))
    listed = Notes(db).of_owner(OWNER).where(attr(Note.views) == 2)
    first = await listed.page(limit=6)
    second = await listed.page(limit=6, cursor=first.cursor)
    assert [found.views for found in first.items + second.items] == [2] * 10
    assert second.cursor is None


async def test_a_filter_reads_no_more_than_its_bound(engine_db: Database) -> None:
    await engine_db.put_all(
        Comment(owner=OWNER, noteId=NoteId("n"), number=n % 1000, text="x") for n in range(1000)
    )
    await engine_db.put_all(Comment(owner=OWNER, noteId=NoteId("o"), number=n, text="y") for n in range(500))
    read = 0
    send = engine_db._call

    async def watched(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        nonlocal read
        answer = await send(operation, request)
        read += answer.get("ScannedCount", 0)
        return answer

    engine_db._call = watched
    listed = Comments(engine_db).with_notes(OWNER).where(attr(Comment.text) == "y")
    page = await listed.page(limit=5)
    assert page.items == []
    assert page.cursor is not None
    assert read == 1000
    page = await listed.page(limit=5, cursor=page.cursor)
    assert len(page.items) == 5


async def test_a_projection_asks_for_just_its_attributes(db: Database) -> None:
    await db.create(note(1, title="short", lines=["long"] * 50))
    requests: list[dict[str, Any]] = []
    send = db._call

    async def watched(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        requests.append(request)
        answer = await send(operation, request)
        assert all("lines" not in item for item in answer.get("Items", [answer.get("Item", {})]))
        return answer

    db._call = watched
    notes = Notes(db)
    line = NoteLine(noteId=NoteId("n001"), title="short")
    assert await notes.lines_of_owner(OWNER).all() == [line]
    assert await notes.of_owner(OWNER).only(NoteLine).all() == [line]
    assert await notes.one(OWNER, NoteId("n001")).only(NoteLine) == line
    assert await notes.ranked_between(OWNER, "open", 0, 9).all() == [line]
    assert all("ProjectionExpression" in request for request in requests)


async def test_a_projection_of_pages_has_cursors_too(db: Database) -> None:
    await fill(db, 3)
    first = await Notes(db).lines_of_owner(OWNER).page(limit=2)
    second = await Notes(db).lines_of_owner(OWNER).page(limit=2, cursor=first.cursor)
    assert [line.noteId for line in first.items + second.items] == ["n000", "n001", "n002"]
    assert await Notes(db).lines_of_owner(OWNER).count() == 3


async def test_a_projection_that_the_index_does_not_have_is_refused(engine_db: Database) -> None:
    class Wide(Struct):
        noteId: NoteId
        views: int

    with pytest.raises(DeclarationError, match="does not project 'views'"):
        Notes(engine_db).ranked_between(OWNER, "open", 0, 9).only(Wide)


async def test_a_prefix_shared_by_two_entities_answers_the_one_that_was_asked_for(db: Database) -> None:
    await db.create(note(1))
    for number in range(3):
        await db.create(Comment(owner=OWNER, noteId=NoteId("n001"), number=number, text="c"))
    await db.create(note(2))
    notes, comments = Notes(db), Comments(db)
    assert [found.noteId for found in await notes.of_owner(OWNER).all()] == ["n001", "n002"]
    assert await notes.of_owner(OWNER).count() == 2
    assert [c.number for c in await comments.of_note(OWNER, NoteId("n001")).all()] == [0, 1, 2]


async def test_one_list_can_answer_several_entities(db: Database) -> None:
    await db.create(note(1))
    await db.create(Comment(owner=OWNER, noteId=NoteId("n001"), number=1, text="c"))
    both = await Comments(db).with_notes(OWNER).all()
    assert [type(each) for each in both] == [Note, Comment]


async def test_keys_of_numbers_are_in_their_order(db: Database) -> None:
    for at in (5, 40, 300, 2):
        await db.put(Measure(device="d", at=at, value=float(at)))
    measures = Measures(db)
    assert [found.at for found in await measures.between("d", 3, 300).all()] == [5, 40, 300]
    latest = await measures.latest("d").required()
    assert latest.at == 300
    page = await measures.between("d", 0, 999).page(limit=1)
    assert [m.at for m in (await measures.between("d", 0, 999).page(limit=1, cursor=page.cursor)).items] == [
        5
    ]


async def test_an_item_that_does_not_fit_is_named(engine_db: Database) -> None:
    key = Notes(engine_db).one(OWNER, NoteId("n1")).key()
    await engine_db.call("PutItem", {"TableName": "notes", "Item": {**key, "noteId": 5}})
    with pytest.raises(CorruptItem, match=r"notes .*OWNER#o1.* is no Note: Expected `str`, got `int`"):
        await Notes(engine_db).one(OWNER, NoteId("n1"))


class LaggingStore:
    """A store whose indexes show nothing of the last moments, as DynamoDB's may."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.lagging = True

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if self.lagging and operation == "Query" and "IndexName" in request:
            return {"Items": [], "Count": 0, "ScannedCount": 0}
        return await self._store.call(operation, request)

    async def close(self) -> None:
        await self._store.close()


@pytest.fixture
async def lagging() -> AsyncIterator[Database]:
    engine = await Engine.open(":memory:")
    db = Database(LaggingStore(engine))
    await provision(db, TABLES)
    yield db
    await engine.close()


async def test_what_was_just_created_is_found_although_its_index_lags(lagging: Database) -> None:
    await lagging.create(note(1, slug="fresh"))
    assert (await Notes(lagging).by_slug("FRESH").required()).noteId == "n001"
    assert await Notes(lagging).by_slug("other") is None


async def test_a_pointer_leads_only_to_what_still_holds_the_value(lagging: Database) -> None:
    await lagging.create(note(1, slug="fresh"))
    one = Notes(lagging).one(OWNER, NoteId("n001"))
    # As if the item had been written by someone who knows no guards.
    await lagging.call(
        "UpdateItem",
        {
            "TableName": "notes",
            "Key": one.key(),
            "UpdateExpression": "SET slug = :s, GSI1PK = :k",
            "ExpressionAttributeValues": {":s": "else", ":k": "SLUG#else"},
        },
    )
    assert await Notes(lagging).by_slug("fresh") is None
    assert await Notes(lagging).holding_slug("fresh") is None


async def test_an_index_that_still_shows_the_past_is_confirmed_on_the_item(engine_db: Database) -> None:
    await engine_db.create(note(1, state="open"))
    await engine_db.create(note(2, state="open"))
    stale = await engine_db.call(
        "Query",
        {
            "TableName": "notes",
            "IndexName": "thin",
            "KeyConditionExpression": "thinPk = :p",
            "ExpressionAttributeValues": {":p": "STATE#o1#open"},
        },
    )
    await Notes(engine_db).finished(OWNER, NoteId("n001"), 1)
    send = engine_db._call

    async def remembering(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return stale if operation == "Query" else await send(operation, request)

    engine_db._call = remembering
    assert [found.noteId for found in await Notes(engine_db).in_state(OWNER, "open").all()] == ["n002"]
