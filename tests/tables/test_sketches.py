"""The models of seeds 003 and 004: their access patterns, and the writes that their documents demand."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from entrepot.engine import Engine
from entrepot.tables import ConditionFailed, Database, Repeated, TransactionLost, attr, provision
from tests.tables.sketches import collect as c
from tests.tables.sketches import inventory as i

pytestmark = pytest.mark.anyio

USER = c.UserId("usr_1")
FAMILY, ITEM = i.FamilyId("f47ac10b"), i.ItemId("d5e8f9a0")
STONE = c.MilestoneId("0" * 26)


@pytest.fixture
async def db() -> AsyncIterator[Database]:
    engine = await Engine.open(":memory:")
    made = Database(engine)
    await provision(made, [c.collect, c.idempotency, i.inventory])
    yield made
    await engine.close()


def milestone() -> c.Milestone:
    return c.Milestone(userId=USER, milestoneId=STONE, modelId=c.ModelId("m"), totalTarget=100)


async def test_an_athlete_has_one_owner(db: Database) -> None:
    athlete = c.AthleteId("42")

    async def link(user: c.UserId) -> None:
        async with db.transaction() as t:
            t.put(
                c.Owner(athleteId=athlete, userId=user),
                when=attr(c.Owner.userId).absent() | (attr(c.Owner.userId) == user),
            )
            t.put(c.Connection(userId=user, athleteId=athlete, accessToken="a", refreshToken="r"))

    await link(USER)
    await link(USER)
    with pytest.raises(TransactionLost):
        await link(c.UserId("usr_2"))
    assert (await c.Connections(db).of_athlete(athlete).required()).userId == USER


async def test_milestones_are_listed_without_the_awards_that_share_their_prefix(db: Database) -> None:
    await db.create(milestone())
    for index in (1, 2, 10):
        await db.create(c.Award(userId=USER, milestoneId=STONE, partIndex=index, title="arm"))
    assert await c.Milestones(db).of_user(USER).all() == [milestone()]
    assert [a.partIndex for a in await c.Awards(db).of_milestone(USER, STONE).all()] == [1, 2, 10]


async def test_a_part_is_minted_once_with_the_milestones_version(db: Database) -> None:
    await db.create(milestone())

    async def mint(version: int) -> None:
        async with db.transaction() as t:
            t.create(c.Award(userId=USER, milestoneId=STONE, partIndex=1, title="arm"))
            t.update(c.Milestones(db).progressed(USER, STONE, 50, version))

    await mint(1)
    with pytest.raises(TransactionLost) as lost:
        await mint(1)
    assert len(lost.value.failures) == 2
    assert (await c.Milestones(db).one(USER, STONE).required()).version == 2


async def test_an_event_is_ingested_once(db: Database) -> None:
    done = c.Ingested(IdempotencyKey="activity-create-1", status="DONE", expiresAtUtc=9_999_999_999)

    async def ingest() -> None:
        async with db.transaction() as t:
            t.once(done)
            t.put(c.Workout(userId=USER, activityId="1", sport="RUN", distanceMillimeters=5))

    await ingest()
    with pytest.raises(Repeated):
        await ingest()


async def test_a_partition_is_deleted_whole(db: Database) -> None:
    await db.create(c.Profile(userId=USER, displayName="n"))
    await db.create(milestone())
    await db.put_all(
        c.Workout(userId=USER, activityId=str(n), sport="RUN", distanceMillimeters=n) for n in range(60)
    )
    everything = await c.Partitions(db).everything_of(USER).all()
    assert len(everything) == 62
    await db.delete_all(everything)
    assert await c.Partitions(db).everything_of(USER).all() == []


def url(number: int, item: i.ItemId = ITEM) -> i.NFCUrl:
    return i.NFCUrl(
        urlId=i.UrlId(f"{number:022}"),
        itemId=item,
        familyId=FAMILY,
        itemName="Paper Towels",
        createdAt=f"2025-12-26T10:00:0{number}Z",
        createdBy=i.MemberId("m"),
    )


async def test_the_access_patterns_of_the_inventory_document(db: Database) -> None:
    await db.create(i.InventoryItem(familyId=FAMILY, itemId=ITEM, name="Paper Towels", quantity=5))
    for number in (1, 2):
        await db.create(url(number))
    await db.create(url(3, i.ItemId("other")))
    urls = i.Urls(db)
    assert (await urls.by_id(i.UrlId(f"{1:022}")).required()).itemId == ITEM
    assert [u.urlId[-1] for u in await urls.of_item(FAMILY, ITEM).all()] == ["1", "2"]
    assert [u.urlId[-1] for u in await urls.of_family(FAMILY).all()] == ["3", "2", "1"]
    assert [found.itemId for found in await i.Items(db).of_family(FAMILY).all()] == [ITEM]


async def test_a_rotated_tag_never_comes_back(db: Database) -> None:
    await db.create(url(1))
    urls, member = i.Urls(db), i.MemberId("m")
    first = i.UrlId(f"{1:022}")
    async with db.transaction() as t:
        t.update(urls.rotated(FAMILY, ITEM, first, "2025-12-27T09:00:00Z", member))
        t.create(url(2))
    assert not (await urls.one(FAMILY, ITEM, first).required()).isActive
    with pytest.raises(ConditionFailed):
        await urls.rotated(FAMILY, ITEM, first, "2025-12-28T09:00:00Z", member)


async def test_a_tap_is_counted_once_and_never_below_zero(db: Database) -> None:
    await db.create(i.InventoryItem(familyId=FAMILY, itemId=ITEM, name="Paper Towels", quantity=1))
    await db.create(url(1))

    async def tap(key: str) -> None:
        async with db.transaction() as t:
            t.once(i.TapKey(familyId=FAMILY, itemId=ITEM, key=key, expiresAt=9_999_999_999))
            t.check(i.Urls(db).one(FAMILY, ITEM, i.UrlId(f"{1:022}")), attr(i.NFCUrl.isActive).equals(True))
            t.update(i.Items(db).taken(FAMILY, ITEM, -1, 1))

    await tap("a")
    with pytest.raises(Repeated):
        await tap("a")
    with pytest.raises(TransactionLost):
        await tap("b")
    assert (await i.Items(db).one(FAMILY, ITEM).required()).quantity == 0


async def test_low_stock_is_found_through_the_index(db: Database) -> None:
    await db.create(i.InventoryItem(familyId=FAMILY, itemId=ITEM, name="Towels", quantity=1, status="low"))
    await db.create(i.InventoryItem(familyId=FAMILY, itemId=i.ItemId("x"), name="Soap", quantity=9))
    assert [found.name for found in await i.Items(db).low_of(FAMILY).all()] == ["Towels"]
    async with db.edit(i.Items(db).one(FAMILY, ITEM)) as draft:
        draft.status = "ok"
    assert await i.Items(db).low_of(FAMILY).all() == []
