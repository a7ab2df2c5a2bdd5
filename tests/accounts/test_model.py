"""The rows of the documents' access-pattern tables that are about people, keys, sessions and audit."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from entrepot.accounts import model
from entrepot.accounts.model import (
    ApiKey,
    ApiKeys,
    Audit,
    Audits,
    Email,
    FailureCounts,
    KeyHash,
    KeyId,
    Link,
    LinkId,
    Links,
    Session,
    SessionId,
    Sessions,
    User,
    UserId,
    Users,
)
from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.tables import AlreadyExists, ConditionFailed, Database, InvalidValue, provision

pytestmark = pytest.mark.anyio

ANN, BOB = UserId("usr_" + "a" * 16), UserId("usr_" + "b" * 16)
NOW = "2026-01-02T03:04:05Z"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def db(clock: Clock) -> AsyncIterator[Database]:
    engine = await Engine.open(":memory:")
    made = Database(engine, clock=clock)
    await provision(made, [model.main, model.sessions, model.audit])
    yield made
    await engine.close()


def user(userId: UserId = ANN, email: str = "Ann@Example.com", **more: str) -> User:
    return User(
        userId=userId,
        email=Email(email),
        name="Ann",
        plan="free",
        usagePeriodStart="2026-01-01",
        createdAt=NOW,
        updatedAt=NOW,
        **more,  # type: ignore[arg-type]
    )


def key(number: int, userId: UserId = ANN) -> ApiKey:
    return ApiKey(
        keyId=KeyId(f"key_{number:016}"),
        userId=userId,
        name="Production",
        keyHash=KeyHash(f"{number:064x}"),
        keyPrefix="ek_01234",
        permissions="write",
        createdAt=NOW,
    )


async def raw(db: Database, table: str, **keys: str) -> dict[str, object]:
    answer = await db.call("GetItem", {"TableName": table, "Key": keys})
    item: dict[str, object] = answer["Item"]
    return item


async def test_the_keys_are_those_of_the_document(db: Database) -> None:
    await db.create(user())
    await db.create(key(1))
    profile = await raw(db, "ferryhook-main", PK=f"USER#{ANN}", SK="PROFILE")
    assert (profile["GSI1PK"], profile["GSI1SK"]) == ("EMAIL#ann@example.com", "USER")
    assert profile["email"] == "Ann@Example.com"
    stored = await raw(db, "ferryhook-main", PK=f"USER#{ANN}", SK="KEY#key_0000000000000001")
    assert (stored["GSI2PK"], stored["GSI2SK"]) == (f"KEYHASH#{1:064x}", "KEY")
    assert (stored["GSI3PK"], stored["GSI3SK"]) == ("KEYID#key_0000000000000001", "KEY")


async def test_get_user_by_id(db: Database) -> None:
    await db.create(user())
    assert await Users(db).one(ANN) == user()
    assert await Users(db).one(BOB) is None


async def test_get_user_by_email_in_any_case(db: Database) -> None:
    await db.create(user())
    assert await Users(db).by_email(Email("aNN@example.COM")) == user()


async def test_an_email_belongs_to_one_user(db: Database) -> None:
    await db.create(user())
    with pytest.raises(AlreadyExists, match="email"):
        await db.create(user(BOB, "ann@EXAMPLE.com"))
    async with db.edit(Users(db).one(ANN)) as draft:
        draft.email = Email("new@example.com")
    await db.create(user(BOB, "ann@example.com"))
    assert (await Users(db).by_email(Email("ann@example.com")).required()).userId == BOB


async def test_a_user_is_found_by_the_ids_of_providers(db: Database) -> None:
    await db.create(user(githubId="7", googleId="8", stripeCustomerId="cus_9"))
    users = Users(db)
    assert (await users.by_github("7").required()).userId == ANN
    assert (await users.by_google("8").required()).userId == ANN
    assert (await users.by_stripe_customer("cus_9").required()).userId == ANN
    assert await users.by_github("404") is None


async def test_usage_is_counted_and_starts_anew_once_a_period(db: Database) -> None:
    await db.create(user())
    users = Users(db)
    assert (await users.used(ANN, 90)).usageThisMonth == 90
    assert (await users.began_period(ANN, "2026-02-01")).usageThisMonth == 0
    with pytest.raises(ConditionFailed):
        await users.began_period(ANN, "2026-02-01")


async def test_authenticate_api_key(db: Database) -> None:
    await db.create(key(1))
    assert await ApiKeys(db).by_hash(KeyHash(f"{1:064x}")) == key(1)
    assert await ApiKeys(db).by_hash(KeyHash(f"{2:064x}")) is None
    await db.delete(ApiKeys(db).one(ANN, KeyId("key_0000000000000001")))
    assert await ApiKeys(db).by_hash(KeyHash(f"{1:064x}")) is None


async def test_list_a_users_api_keys(db: Database) -> None:
    for number in (2, 1):
        await db.create(key(number))
    await db.create(key(3, BOB))
    await db.create(user())
    assert await ApiKeys(db).of_user(ANN).all() == [key(1), key(2)]


async def test_an_api_key_is_found_by_its_id_and_its_use_is_noted(db: Database) -> None:
    await db.create(key(1))
    found = await ApiKeys(db).by_id(KeyId("key_0000000000000001")).required()
    used = await ApiKeys(db).last_used(found.userId, found.keyId, NOW)
    assert used.lastUsedAt == NOW
    with pytest.raises(ConditionFailed):
        await ApiKeys(db).last_used(found.userId, found.keyId, "2025-01-01T00:00:00Z")


def session(number: int, expires: int) -> Session:
    return Session(
        sessionId=SessionId(f"{number:064x}"),
        userId=ANN,
        createdAtUtc=NOW,
        expiresAtUtc=expires,
        epoch=number,
    )


async def test_a_session_is_resolved_until_it_expires(db: Database, clock: Clock) -> None:
    expires = clock.epoch_seconds() + 100
    await db.create(session(1, expires))
    one = Sessions(db).one(SessionId(f"{1:064x}"))
    assert await one == session(1, expires)
    await Sessions(db).renewed(SessionId(f"{1:064x}"), expires + 100)
    clock.advance(150)
    assert await one is not None
    clock.advance(51)
    assert await one is None


async def test_all_sessions_of_a_user_are_found_newest_first(db: Database, clock: Clock) -> None:
    expires = clock.epoch_seconds() + 100
    for number in (1, 3, 2):
        await db.create(session(number, expires))
    assert [found.epoch for found in await Sessions(db).of_user(ANN).all()] == [3, 2, 1]


async def test_links_are_for_one_use(db: Database, clock: Clock) -> None:
    link = Link(
        linkId=LinkId("e" * 64),
        purpose="invite",
        createdAtUtc=NOW,
        expiresAtUtc=clock.epoch_seconds() + 100,
        epoch=1,
        createdBy=ANN,
    )
    await db.create(link)
    assert await Links(db).of_purpose("invite").all() == [link]
    assert await Links(db).of_purpose("reset").all() == []
    async with db.transaction() as t:
        t.delete(link)
        t.create(user(BOB))
    assert await Links(db).one(link.linkId) is None


async def test_failed_sign_ins_are_counted_in_a_window(db: Database, clock: Clock) -> None:
    counts, expires = FailureCounts(db), clock.epoch_seconds() + 900
    for expected in (1, 2, 3):
        assert (await counts.failed("f" * 64, expires)).failures == expected
    clock.advance(901)
    assert await counts.one("f" * 64) is None
    assert (await counts.failed("f" * 64, expires + 900)).failures == 1


def entry(number: int, clock: Clock) -> Audit:
    return Audit(
        userId=ANN,
        unixEpoch=1_771_632_000 + number,
        requestId=f"req.{number}",
        correlationId="corr-1",
        eventType="key.created",
        expiresAtUtc=clock.epoch_seconds() + model.AUDIT_SECONDS,
    )


async def test_the_audit_trail_is_read_by_user_correlation_and_event(db: Database, clock: Clock) -> None:
    for number in (1, 2):
        await db.create(entry(number, clock))
    audits = Audits(db)
    assert [found.requestId for found in await audits.of_user(ANN).all()] == ["req.2", "req.1"]
    assert [found.requestId for found in await audits.of_correlation("corr-1").all()] == ["req.1", "req.2"]
    assert [found.requestId for found in await audits.of_event("key.created", "202602").all()] == [
        "req.2",
        "req.1",
    ]
    assert await audits.of_event("key.created", "202601").all() == []
    stored = await raw(db, "CommitCollectAudit", PK=f"USER#{ANN}", SK="AUDIT#1771632001#req.1")
    assert stored["GSI2PK"] == "EVENT#key.created#202602"


async def test_ids_have_the_form_of_the_document(db: Database) -> None:
    with pytest.raises(InvalidValue, match=r"User\.userId = 'bob'"):
        await db.create(user(UserId("bob")))
    made = user()
    made.createdAt = "yesterday"
    with pytest.raises(InvalidValue, match=r"User\.createdAt"):
        await db.create(made)
