"""Writes say what they assume; every store keeps them to it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from entrepot.tables import (
    AlreadyExists,
    ConditionFailed,
    Database,
    InvalidValue,
    NotFound,
    StaleKey,
    attr,
)
from tests.tables.sample import (
    OTHER,
    OWNER,
    Comment,
    DayCounts,
    Measure,
    Measures,
    Note,
    NoteId,
    Notes,
    Place,
    note,
)

pytestmark = pytest.mark.anyio


async def test_what_is_created_is_read_back(db: Database) -> None:
    made = note(
        tags=frozenset({"a", "b"}), place=Place("Oslo", 3), score=1.5, blob=b"\x00\xff", lines=["x", "y"]
    )
    await db.create(made)
    assert await Notes(db).one(OWNER, made.noteId) == made


async def test_creating_what_exists_is_refused_with_the_old_item(db: Database) -> None:
    await db.create(note(title="first"))
    with pytest.raises(AlreadyExists) as caught:
        await db.create(note(title="second"))
    assert caught.value.item == note(title="first")


async def test_replacing_what_does_not_exist_is_refused(db: Database) -> None:
    with pytest.raises(NotFound):
        await db.replace(Measure(device="d", at=1, value=2.0))


async def test_put_writes_either_way(db: Database) -> None:
    await db.put(Measure(device="d", at=1, value=2.0))
    await db.put(Measure(device="d", at=1, value=3.0))
    assert (await Measures(db).one("d", 1).required()).value == 3.0


async def test_replace_takes_a_condition(db: Database) -> None:
    await db.put(Measure(device="d", at=1, value=2.0))
    with pytest.raises(ConditionFailed) as caught:
        await db.replace(Measure(device="d", at=1, value=9.0), when=attr(Measure.value) > 5.0)
    assert caught.value.item == Measure(device="d", at=1, value=2.0)
    await db.replace(Measure(device="d", at=1, value=9.0), when=attr(Measure.value) < 5.0)


async def test_an_edit_writes_only_the_difference(db: Database) -> None:
    await db.create(note(title="old", views=3, place=Place("Oslo")))
    one = Notes(db).one(OWNER, NoteId("n001"))
    async with db.edit(one) as draft:
        draft.title = "new"
        draft.place = None
        # Another attribute moves meanwhile, and is not undone.
        await db.call(
            "UpdateItem",
            {
                "TableName": "notes",
                "Key": one.key(),
                "UpdateExpression": "SET #views = :views",
                "ExpressionAttributeNames": {"#views": "views"},
                "ExpressionAttributeValues": {":views": 4},
            },
        )
    found = await one.required()
    assert (found.title, found.views, found.place, found.version) == ("new", 4, None, 2)


async def test_an_edit_of_a_versioned_entity_loses_to_another_write(db: Database) -> None:
    await db.create(note())
    one = Notes(db).one(OWNER, NoteId("n001"))
    edit = db.edit(one)
    draft = await edit.__aenter__()
    draft.title = "mine"
    await db.update(one, attr(Note.title).set("theirs"))
    with pytest.raises(ConditionFailed) as caught:
        await edit.__aexit__(None, None, None)
    assert caught.value.item.title == "theirs"


async def test_an_edit_without_a_version_is_refused_when_what_it_changes_was_changed(db: Database) -> None:
    await db.create(Comment(owner=OWNER, noteId=NoteId("n1"), number=1, text="old"))
    comment = Comment(owner=OWNER, noteId=NoteId("n1"), number=1, text="stale")
    with pytest.raises(ConditionFailed):
        async with db.edit(comment) as draft:
            draft.text = "new"


async def test_an_edit_without_changes_writes_nothing(db: Database) -> None:
    await db.create(note())
    async with db.edit(Notes(db).one(OWNER, NoteId("n001"))):
        pass
    assert (await Notes(db).one(OWNER, NoteId("n001")).required()).version == 1


async def test_an_edit_that_raises_writes_nothing(db: Database) -> None:
    await db.create(note(title="kept"))
    with suppress(RuntimeError):
        async with db.edit(Notes(db).one(OWNER, NoteId("n001"))) as draft:
            draft.title = "lost"
            raise RuntimeError
    assert (await Notes(db).one(OWNER, NoteId("n001")).required()).title == "kept"


async def test_editing_what_is_not_there_is_refused(db: Database) -> None:
    with pytest.raises(NotFound):
        async with db.edit(Notes(db).one(OWNER, NoteId("n404"))):
            pass


async def test_apply_goes_on_from_the_newer_state_when_it_loses(db: Database) -> None:
    stale = note(views=0)
    await db.create(stale)
    await Notes(db).viewed(OWNER, NoteId("n001"), 5)
    seen: list[tuple[int, int]] = []

    def rename(draft: Note) -> None:
        seen.append((draft.version, draft.views))
        draft.title = f"after {draft.version}"

    changed = await db.apply(stale, rename)
    assert seen == [(1, 0), (2, 5)]
    assert (changed.title, changed.version) == ("after 2", 3)
    assert await Notes(db).one(OWNER, NoteId("n001")) == changed


async def test_apply_gives_up_at_its_bound(db: Database) -> None:
    stale = note()
    await db.create(stale)
    await Notes(db).viewed(OWNER, NoteId("n001"), 1)
    with pytest.raises(ConditionFailed):
        await db.apply(stale, lambda draft: setattr(draft, "title", "x"), tries=1)


async def test_apply_does_not_try_again_what_is_taken(db: Database) -> None:
    await db.create(note(1, slug="one"))
    await db.create(note(2))
    tries: list[int] = []

    def take(draft: Note) -> None:
        tries.append(1)
        draft.slug = "one"

    with pytest.raises(AlreadyExists):
        await db.apply(Notes(db).one(OWNER, NoteId("n002")), take)
    assert tries == [1]


async def test_the_key_can_not_be_edited(db: Database) -> None:
    await db.create(note())
    with pytest.raises(InvalidValue, match=r"Note\.owner = 'o2'"):
        async with db.edit(Notes(db).one(OWNER, NoteId("n001"))) as draft:
            draft.owner = OTHER


async def test_editing_an_index_attribute_moves_the_index_entry(db: Database) -> None:
    await db.create(note(state="open", rank=5))
    notes = Notes(db)
    async with db.edit(notes.one(OWNER, NoteId("n001"))) as draft:
        draft.state = "done"
    assert await notes.in_state(OWNER, "open").all() == []
    assert [found.state for found in await notes.in_state(OWNER, "done").all()] == ["done"]


async def test_a_declared_update_moves_the_index_entry(db: Database) -> None:
    await db.create(note(state="open", rank=5))
    notes = Notes(db)
    changed = await notes.finished(OWNER, NoteId("n001"), 7)
    assert (changed.state, changed.rank, changed.version) == ("done", 7, 2)
    assert [line.noteId for line in await notes.ranked_between(OWNER, "done", 7, 7).all()] == ["n001"]
    assert await notes.ranked_between(OWNER, "open", 0, 99).all() == []


async def test_a_declared_update_keeps_its_condition(db: Database) -> None:
    await db.create(note(state="done"))
    with pytest.raises(ConditionFailed) as caught:
        await Notes(db).finished(OWNER, NoteId("n001"), 7)
    assert caught.value.item.state == "done"


async def test_a_declared_update_with_none_removes(db: Database) -> None:
    await db.create(note(place=Place("Oslo")))
    notes = Notes(db)
    assert (await notes.placed(OWNER, NoteId("n001"), None)).place is None
    assert (await notes.placed(OWNER, NoteId("n001"), Place("Rome", 1))).place == Place("Rome", 1)


async def test_an_update_of_what_is_not_there_makes_nothing(db: Database) -> None:
    with pytest.raises(NotFound):
        await Notes(db).viewed(OWNER, NoteId("n404"), 1)
    assert await Notes(db).one(OWNER, NoteId("n404")) is None


async def test_adding_is_atomic(db: Database) -> None:
    await db.create(note())
    for _ in range(5):
        await Notes(db).viewed(OWNER, NoteId("n001"), 2)
    assert (await Notes(db).one(OWNER, NoteId("n001")).required()).views == 10


async def test_updates_can_be_made_where_they_are_needed(db: Database) -> None:
    await db.create(note(tags=frozenset({"a"}), lines=["x"]))
    changed = await db.update(
        Notes(db).one(OWNER, NoteId("n001")),
        attr(Note.tags).add(frozenset({"b"})),
        attr(Note.lines).append(["y"]),
        attr(Note.score).set_if_absent(2.5),
        attr(Note.title).set("now"),
        when=(attr(Note.views) == 0) & ~attr(Note.tags).contains("b") & (attr(Note.lines).size <= 5),
    )
    assert changed == note(tags=frozenset({"a", "b"}), lines=["x", "y"], score=2.5, title="now", version=2)
    changed = await db.update(
        changed, attr(Note.tags).discard(frozenset({"a", "b"})), attr(Note.score).remove()
    )
    assert (changed.tags, changed.score) == (frozenset(), None)


async def test_an_update_that_would_leave_an_index_key_behind_is_refused_where_it_is_made(
    db: Database,
) -> None:
    await db.create(note())
    with pytest.raises(StaleKey, match="changing state without setting rank") as caught:
        await db.update(Notes(db).one(OWNER, NoteId("n001")), attr(Note.state).set("done"))
    assert caught.value.file == __file__


async def test_an_upsert_makes_the_item_or_changes_it(db: Database) -> None:
    counts = DayCounts(db)
    assert (await counts.counted(OWNER, "monday", 2, 9_999_999_999)).count == 2
    assert (await counts.counted(OWNER, "monday", 3, 1)).count == 5
    found = await counts.one(OWNER, "monday").required()
    assert (found.owner, found.day, found.expiresAt) == (OWNER, "monday", 9_999_999_999)


async def test_a_deleted_item_is_gone_and_deleting_again_is_no_error(db: Database) -> None:
    await db.create(note())
    one = Notes(db).one(OWNER, NoteId("n001"))
    await db.delete(one)
    await db.delete(one)
    assert await one is None


async def test_deleting_takes_a_condition_and_the_version(db: Database) -> None:
    made = note(slug="s")
    await db.create(made)
    await Notes(db).viewed(OWNER, NoteId("n001"), 1)
    with pytest.raises(ConditionFailed):
        await db.delete(made)
    current = await Notes(db).one(OWNER, NoteId("n001")).required()
    with pytest.raises(ConditionFailed):
        await db.delete(current, when=attr(Note.views) > 5)
    await db.delete(current, when=attr(Note.views) == 1)
    assert await Notes(db).by_slug("s") is None


async def test_a_version_counts_every_write(db: Database) -> None:
    made = note()
    await db.create(made)
    async with db.edit(Notes(db).one(OWNER, NoteId("n001"))) as draft:
        draft.title = "b"
    assert draft.version == 2
    await Notes(db).viewed(OWNER, NoteId("n001"), 1)
    assert (await Notes(db).one(OWNER, NoteId("n001")).required()).version == 3


async def test_nothing_but_the_library_sets_the_version(db: Database) -> None:
    await db.create(note())
    with pytest.raises(InvalidValue, match="version"):
        async with db.edit(Notes(db).one(OWNER, NoteId("n001"))) as draft:
            draft.version = 7


class TestGuards:
    async def test_a_guarded_value_is_unique_whatever_its_case(self, db: Database) -> None:
        await db.create(note(1, slug="Hello"))
        with pytest.raises(AlreadyExists, match="another Note has this slug"):
            await db.create(note(2, OTHER, slug="hELLO"))
        assert await Notes(db).one(OTHER, NoteId("n002")) is None

    async def test_items_without_the_value_do_not_collide(self, db: Database) -> None:
        await db.create(note(1))
        await db.create(note(2))

    async def test_an_edit_swaps_the_guard(self, db: Database) -> None:
        notes = Notes(db)
        await db.create(note(1, slug="one"))
        async with db.edit(notes.one(OWNER, NoteId("n001"))) as draft:
            draft.slug = "two"
        assert await notes.holding_slug("one") is None
        assert (await notes.holding_slug("two").required()).noteId == "n001"
        await db.create(note(2, slug="one"))
        with pytest.raises(AlreadyExists):
            await db.create(note(3, slug="two"))

    async def test_an_edit_to_a_value_that_is_taken_changes_nothing(self, db: Database) -> None:
        notes = Notes(db)
        await db.create(note(1, slug="one"))
        await db.create(note(2, slug="two"))
        with pytest.raises(AlreadyExists):
            async with db.edit(notes.one(OWNER, NoteId("n002"))) as draft:
                draft.slug = "one"
        assert (await notes.one(OWNER, NoteId("n002")).required()).slug == "two"
        assert (await notes.holding_slug("two").required()).noteId == "n002"

    async def test_deleting_frees_the_value(self, db: Database) -> None:
        await db.create(note(1, slug="one"))
        await db.delete(Notes(db).one(OWNER, NoteId("n001")))
        await db.create(note(2, slug="one"))
        assert (await Notes(db).by_slug("ONE").required()).noteId == "n002"

    async def test_writes_that_would_forget_the_guard_are_refused(self, db: Database) -> None:
        await db.create(note(slug="one"))
        one = Notes(db).one(OWNER, NoteId("n001"))
        with pytest.raises(StaleKey, match="change it with edit"):
            await db.update(one, attr(Note.slug).set("two"))
        with pytest.raises(StaleKey, match="put"):
            await db.put(note(slug="two"))
        with pytest.raises(StaleKey, match="replace"):
            await db.replace(note(slug="two"))


class TestWrongValues:
    async def test_a_value_of_the_wrong_type_is_named(self, engine_db: Database) -> None:
        with pytest.raises(InvalidValue) as caught:
            await engine_db.create(note(title=5))
        assert (caught.value.entity, caught.value.attribute, caught.value.value) == ("Note", "title", 5)
        assert "Note.title = 5: Expected `str`, got `int`" in str(caught.value)

    @pytest.mark.parametrize(
        ("attribute", "value"),
        [
            ("title", "x" * 101),
            ("state", "lost"),
            ("rank", -1),
            ("score", float("nan")),
            ("score", float("inf")),
            ("views", 10**40 + 1),
            ("place", Place("Oslo", "third")),  # type: ignore[arg-type]
            ("extra", {"a": {1, "x"}}),
            ("extra", {"a": object()}),
            ("lines", ["x", 5]),
            ("blob", "text"),
            ("extra", {"a": "x" * 410_000}),
        ],
    )
    async def test_a_wrong_value_never_reaches_the_store(
        self, engine_db: Database, attribute: str, value: Any
    ) -> None:
        calls: list[str] = []
        send = engine_db._call

        async def watched(operation: str, request: dict[str, Any]) -> dict[str, Any]:
            calls.append(operation)
            return await send(operation, request)

        engine_db._call = watched
        with pytest.raises(InvalidValue) as caught:
            await engine_db.create(note(1, OWNER, **{attribute: value}))
        assert (caught.value.entity, caught.value.attribute) == ("Note", attribute)
        assert len(str(caught.value)) < 300
        assert calls == []

    async def test_a_wrong_secret_is_named_but_not_shown(self, engine_db: Database) -> None:
        with pytest.raises(InvalidValue, match=r"Note\.secret = '\(secret\)'") as caught:
            await engine_db.create(note(secret=b"hunter2"))
        assert "hunter2" not in repr(caught.value) + str(caught.value.value)

    async def test_a_wrong_argument_of_an_update_is_named(self, engine_db: Database) -> None:
        with pytest.raises(InvalidValue, match=r"Note\.rank = 'high'"):
            await Notes(engine_db).finished(OWNER, NoteId("n001"), "high")  # type: ignore[arg-type]
        with pytest.raises(InvalidValue, match=r"Note\.noteId = ''"):
            await Notes(engine_db).viewed(OWNER, NoteId(""), 1)
