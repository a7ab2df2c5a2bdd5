"""Deleting an account: at once for whoever had it, and completely, whatever comes between."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry

from entrepot.accounts import model
from entrepot.accounts.deletion import Cleared, Leaving
from entrepot.accounts.people import Newcomer
from entrepot.accounts.service import Accounts
from entrepot.accounts.sessions import Visit
from entrepot.app import TABLES
from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.tables import Database, TablesError, Unreachable, provision
from entrepot.work import Job, Work
from tests.accounts.conftest import PASSWORD, Install, Installation, running
from tests.accounts.provider import running_provider
from tests.accounts.test_oauth import enter

WAIT_SECONDS_MAX = 20.0
LEASE_SECONDS = 120
CALLS_MAX = 200


def delete_me(browser: httpx.Client, **body: Any) -> httpx.Response:
    return browser.request("DELETE", "/accounts/me", json=body)


def ended(browser: httpx.Client, report: str) -> dict[str, Any]:
    until = time.monotonic() + WAIT_SECONDS_MAX
    while time.monotonic() < until:
        job: dict[str, Any] = browser.get(report).json()
        if job["status"] in ("done", "failed"):
            return job
    raise AssertionError(f"not ended: {job}")


def test_an_account_is_closed_at_once_and_then_deleted(here: Installation) -> None:
    browser = here.person("ada@example.com")
    key = browser.post("/accounts/keys", json={"name": "k", "permissions": "admin"}).json()["apiKey"]
    value = browser.cookies["entrepot_session"]

    response = delete_me(browser, password=PASSWORD)

    assert response.status_code == 202
    assert response.json()["job"]["kind"] == "accounts.delete"
    for client in (browser, here.browser(cookie=f"entrepot_session={value}"), here.program(key)):
        assert client.get("/accounts/me").status_code == 401
    login = here.browser().post("/accounts/login", json={"email": "ada@example.com", "password": PASSWORD})
    assert (login.status_code, login.json()["error"]) == (401, "SIGN_IN_FAILED")
    job = ended(here.browser(), response.json()["report"])
    assert (job["status"], job["failed"]) == ("done", 0)
    assert (
        job["message"] == "Deleted: keys 1, sessions 1, audit 2, account 1" or "account 1" in job["message"]
    )
    here.person("ADA@example.com")


def test_who_deletes_an_account_proves_who_they_are(here: Installation) -> None:
    browser = here.person("ada@example.com")

    wrong, missing = delete_me(browser, password="wrong"), delete_me(browser)

    assert {wrong.status_code, missing.status_code} == {403}
    assert {wrong.json()["error"], missing.json()["error"]} == {"WRONG_PASSWORD"}
    assert browser.get("/accounts/me").status_code == 200


def test_without_a_password_a_young_session_proves_it(install: Install) -> None:
    with running_provider() as provider:
        here = install(**provider.settings())
        browser = here.browser()
        enter(browser, "github")
        here.clock.advance(601)
        old = delete_me(browser)
        enter(browser, "github")

        young = delete_me(browser)

        assert (old.status_code, old.json()["error"]) == (403, "SIGN_IN_AGAIN")
        assert young.status_code == 202
        assert ended(here.browser(), young.json()["report"])["status"] == "done"


def test_an_unknown_deletion_is_not_there(here: Installation) -> None:
    for method in ("GET", "POST"):
        response = here.browser().request(method, "/accounts/deletion", params={"token": "made-up"})
        assert (response.status_code, response.json()["error"]) == (404, "DELETION_NOT_FOUND")


def test_only_when_there_is_no_operator_a_start_offers_the_first_link(tmp_path: Path) -> None:
    with running(tmp_path) as first:
        first.operator()
    with running(tmp_path) as second:
        assert second.first_token == ""
        browser = second.browser()
        browser.post("/accounts/login", json={"email": "operator@example.com", "password": PASSWORD})
        report = delete_me(browser, password=PASSWORD).json()["report"]
        assert ended(second.browser(), report)["status"] == "done"
    with running(tmp_path) as third:
        assert third.operator().get("/accounts/me").json()["role"] == "operator"


class MortalStore:
    """A store that a process can use for so many calls, and then is cut off from."""

    def __init__(self, engine: Engine, calls: int) -> None:
        self._engine = engine
        self.calls_left = calls

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if self.calls_left == 0:
            raise Unreachable("the process is gone", sent=False)
        self.calls_left -= 1
        return await self._engine.call(operation, request)

    async def close(self) -> None:
        return


class Process:
    """One process's view of the accounts, with a service that keeps three things of each user."""

    def __init__(self, engine: Engine, clock: Clock, kept: dict[str, int], calls: int = -1) -> None:
        self.store = MortalStore(engine, calls)
        db = Database(self.store, clock=clock, cursor_key=b"k" * 32, deadline_seconds=0)
        self.work = Work(db)
        self.accounts = Accounts(db, work=self.work, registry=CollectorRegistry(), secret_keys=[b"s" * 32])
        self._kept = kept
        self.accounts.deletion.register("service", self._clean_up)

    async def _clean_up(self, leaving: Leaving, cursor: Any) -> Cleared:
        if self.store.calls_left == 0:
            raise Unreachable("the process is gone", sent=False)
        left = self._kept.get(leaving.userId, 0)
        if left == 0:
            return Cleared()
        self._kept[leaving.userId] = left - 1
        return Cleared(1, cursor=(cursor or 0) + 1)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def engine(clock: Clock) -> AsyncIterator[Engine]:
    engine = await Engine.open(":memory:", clock=lambda: clock.epoch_ms() / 1000)
    await provision(Database(engine), TABLES)
    yield engine
    await engine.close()


async def left_of(engine: Engine, user_id: str) -> list[str]:
    """The keys of all that still names a user, or says something personal."""
    found = []
    for table in (model.main, model.sessions, model.audit):
        answer = await engine.call("Scan", {"TableName": table.name})
        for item in answer["Items"]:
            personal = {"address", "userAgent", "email"} & item.keys()
            if personal or (table is model.main and user_id in str(item)):
                found.append(f"{item['PK']} {item['SK']}")
    return found


async def furnished(engine: Engine, clock: Clock, kept: dict[str, int]) -> tuple[model.User, str, Job]:
    """A user with all that one can have, whose deletion has just begun."""
    process = Process(engine, clock, kept)
    accounts = process.accounts
    _, token = await accounts.links.make("first")
    visit = Visit("192.0.2.1", "Agent")
    newcomer = Newcomer(email="ada@example.com", name="Ada", password=PASSWORD, invite=token)
    user, _ = await accounts.people.sign_up(newcomer, visit)
    for number in range(3):
        await accounts.sessions.begin(user, visit)
        await accounts.keys.make(user.userId, f"key {number}", "read")
        now = clock.epoch_seconds()
        entry = model.Audit(
            userId=user.userId, unixEpoch=now, requestId=f"r{number}", correlationId="c",
            eventType="accounts.changed", address="192.0.2.1", expiresAtUtc=now + model.AUDIT_SECONDS,
        )  # fmt: skip
        await Database(engine, clock=clock).create(entry)
    kept[user.userId] = 3
    job, report = await accounts.deletion.begin(user)
    return user, report, job


@pytest.mark.anyio
async def test_a_deletion_cut_off_at_any_call_and_run_again_leaves_nothing(clock: Clock) -> None:
    for calls in range(CALLS_MAX):
        engine = await Engine.open(":memory:", clock=lambda: clock.epoch_ms() / 1000)
        await provision(Database(engine), TABLES)
        kept: dict[str, int] = {}
        user, report, _ = await furnished(engine, clock, kept)
        mortal = Process(engine, clock, kept, calls)
        with suppress(TablesError):
            await mortal.work.run_due()
        reached_the_end = mortal.store.calls_left > 0
        clock.advance(LEASE_SECONDS)
        survivor = Process(engine, clock, kept)
        await survivor.work.run_due()

        job = await survivor.accounts.deletion.progress(report)
        assert (job.status, kept[user.userId]) == ("done", 0), f"after {calls} calls: {job}"
        assert await left_of(engine, user.userId) == [], f"after {calls} calls"
        await engine.close()
        if reached_the_end:
            assert calls > 20
            return
    raise AssertionError(f"a deletion takes more than {CALLS_MAX} calls")


@pytest.mark.anyio
async def test_the_trail_stays_without_what_is_personal(engine: Engine, clock: Clock) -> None:
    kept: dict[str, int] = {}
    await furnished(engine, clock, kept)

    await Process(engine, clock, kept).work.run_due()

    entries = (await engine.call("Scan", {"TableName": model.audit.name}))["Items"]
    assert len(entries) == 3
    assert all("address" not in entry for entry in entries)


@pytest.mark.anyio
async def test_a_session_that_no_index_shows_is_swept_later(clock: Clock) -> None:
    engine = await Engine.open(":memory:", clock=lambda: clock.epoch_ms() / 1000, chaos="index_lag_ms=50000")
    await provision(Database(engine), TABLES)
    kept: dict[str, int] = {}
    user, report, _ = await furnished(engine, clock, kept)
    process = Process(engine, clock, kept)
    clock.advance(LEASE_SECONDS)
    await process.work.run_due()
    clock.advance(LEASE_SECONDS)
    await process.work.run_due()
    clock.advance(LEASE_SECONDS)

    assert (await process.accounts.deletion.progress(report)).status == "done"
    assert await left_of(engine, user.userId) == []
    await engine.close()


@pytest.mark.anyio
async def test_a_deletion_that_failed_is_run_again_when_asked(engine: Engine, clock: Clock) -> None:
    kept: dict[str, int] = {}
    user, report, _ = await furnished(engine, clock, kept)
    broken = Process(engine, clock, kept)

    async def fails(_: Leaving, __: Any) -> Cleared:
        raise RuntimeError("out of order")

    broken.accounts.deletion._services["service"] = fails
    for _ in range(20):
        await broken.work.run_due()
        clock.advance(3600)
    assert (await broken.accounts.deletion.progress(report)).status == "failed"

    whole = Process(engine, clock, kept)
    job = await whole.accounts.deletion.again(report)
    assert job.status == "waiting"
    assert (await whole.accounts.deletion.again(report)).jobId == job.jobId
    await whole.work.run_due()

    assert (await whole.accounts.deletion.progress(report)).status == "done"
    assert await left_of(engine, user.userId) == []


@pytest.mark.anyio
async def test_a_step_has_one_name(engine: Engine, clock: Clock) -> None:
    process = Process(engine, clock, {})

    with pytest.raises(ValueError, match="registered twice"):
        process.accounts.deletion.register("service", process._clean_up)
