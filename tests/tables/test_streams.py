"""The same entities decode change records."""

from __future__ import annotations

from typing import Any

import pytest

from entrepot.tables import Database, changed
from tests.tables.sample import OWNER, Note, NoteId, Notes, note, notes

pytestmark = pytest.mark.anyio


def record(
    name: str, *, old: dict[str, Any] | None = None, new: dict[str, Any] | None = None, **more: Any
) -> Any:
    images = {"OldImage": old, "NewImage": new}
    return {"eventName": name, "dynamodb": {k: v for k, v in images.items() if v is not None}, **more}


async def raw(db: Database) -> dict[str, Any]:
    answer = await db.call(
        "GetItem", {"TableName": "notes", "Key": Notes(db).one(OWNER, NoteId("n001")).key()}
    )
    item: dict[str, Any] = answer["Item"]
    return item


async def test_records_become_entities(engine_db: Database) -> None:
    await engine_db.create(note(1, title="old", slug="s"))
    old = await raw(engine_db)
    async with engine_db.edit(Notes(engine_db).one(OWNER, NoteId("n001"))) as draft:
        draft.title = "new"
    new = await raw(engine_db)
    made = changed(notes, record("INSERT", new=old))
    assert made is not None
    assert (made.kind, made.old, made.new) == ("created", None, note(1, title="old", slug="s"))
    edited = changed(notes, record("MODIFY", old=old, new=new))
    assert edited is not None
    assert edited.old is not None
    assert edited.new is not None
    assert (edited.kind, edited.old.title, edited.new.title) == ("changed", "old", "new")
    gone = changed(notes, record("REMOVE", old=new))
    assert gone is not None
    assert (gone.kind, type(gone.old), gone.new, gone.expired) == ("deleted", Note, None, False)


async def test_a_deletion_by_time_to_live_is_told_apart(engine_db: Database) -> None:
    await engine_db.create(note(1))
    identity = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    gone = changed(notes, record("REMOVE", old=await raw(engine_db), userIdentity=identity))
    assert gone is not None
    assert gone.expired


async def test_guard_items_and_bare_keys_are_no_entities(engine_db: Database) -> None:
    await engine_db.create(note(1, slug="s"))
    guard = await engine_db.call("GetItem", {"TableName": "notes", "Key": {"PK": "SLUG#s", "SK": "UNIQUE"}})
    assert changed(notes, record("INSERT", new=guard["Item"])) is None
    assert changed(notes, record("MODIFY")) is None
