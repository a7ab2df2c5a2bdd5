"""Known misuses: each line that is marked WRONG must be refused by mypy --strict and by pyright."""

from __future__ import annotations

from entrepot.accounts.model import ApiKeys, Email, KeyId, User, UserId, Users
from entrepot.relay.model import Event, EventId, Events, Source, SourceId, Sources
from entrepot.tables import Database, attr


async def swapped_ids(db: Database, userId: UserId, sourceId: SourceId, keyId: KeyId) -> None:
    await Sources(db).one(userId, sourceId)
    await Sources(db).one(sourceId, userId)  # WRONG
    await Sources(db).by_id(userId)  # WRONG
    await ApiKeys(db).one(userId, sourceId)  # WRONG
    await Users(db).by_email(userId)  # WRONG
    await Sources(db).by_id("src_0000000000000000")  # WRONG
    await ApiKeys(db).by_id(keyId)


async def unhandled_none(db: Database, userId: UserId, eventId: EventId) -> str:
    user = await Users(db).one(userId)
    print(user.name)  # WRONG
    event = await Events(db).by_id(eventId)
    print(event.body)  # WRONG
    found = await Users(db).one(userId).required()
    print(found.name)
    print(found.githubId.upper())  # WRONG
    page = await Sources(db).of_user(userId).page(limit=5)
    print(page.cursor.upper())  # WRONG
    return found.githubId  # WRONG


async def misspelt_attributes(db: Database, userId: UserId, sourceId: SourceId) -> None:
    source = await Sources(db).one(userId, sourceId).required()
    print(source.nmae)  # WRONG
    await db.update(source, attr(Source.evntCount).add(1))  # WRONG
    async with db.edit(source) as draft:
        draft.stats = "paused"  # WRONG
        draft.status = "paused"
    await Sources(db).of_usr(userId).all()  # WRONG
    await Sources(db).of_user(userId).page(limt=5)  # WRONG


async def wrong_types(db: Database, userId: UserId, sourceId: SourceId) -> None:
    source = await Sources(db).one(userId, sourceId).required()
    await db.update(source, attr(Source.name).set(5))  # WRONG
    await db.update(source, attr(Source.eventCount).add("1"))  # WRONG
    await db.update(source, attr(Source.eventCount).add(1), when=attr(Source.eventCount) == "1")  # WRONG
    await db.update(source, attr(Source.eventCount).add(1), when=attr(Source.eventCount) < "1")  # WRONG
    await db.update(source, attr(Source.eventCount).add(1), when=source.eventCount == 1)  # WRONG
    async with db.edit(source) as draft:
        draft.eventCount = "1"  # WRONG
        draft.status = "gone"  # WRONG
    await Sources(db).counted(userId, sourceId, "1", "2026-01-01T00:00:00Z")  # WRONG


async def wrong_entities(db: Database, userId: UserId, email: Email) -> None:
    await db.create(userId)  # WRONG
    await db.create(User(userId=userId, email=email, name="n", plan="gold"))  # WRONG
    await db.create(Source(userId=userId, name="n"))  # WRONG
    async with db.transaction() as t:
        t.create("user")  # WRONG
        t.update(Sources(db).of_user(userId), attr(Source.eventCount).add(1))  # WRONG


async def lists_for_single_items(db: Database, userId: UserId) -> None:
    sources = await Sources(db).of_user(userId)  # WRONG
    print(sources)
    events: list[Event] = await Sources(db).of_user(userId).all()  # WRONG
    print(events)
