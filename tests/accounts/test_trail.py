"""The audit: every change is in it, no secret is, and it never breaks a call."""

from __future__ import annotations

from typing import Any

import pytest

from entrepot.accounts.trail import Trail
from tests.accounts.conftest import PASSWORD, Installation


def test_every_change_is_in_ones_trail_newest_first(here: Installation) -> None:
    browser = here.person("ada@example.com")
    here.clock.advance(1)
    browser.patch("/accounts/me", json={"name": "B"}, headers={"x-request-id": "change-1"})
    here.clock.advance(1)
    key = browser.post("/accounts/keys", json={"name": "k", "permissions": "read"}).json()
    here.clock.advance(1)
    browser.delete(f"/accounts/keys/{key['key']['keyId']}")
    here.clock.advance(1)
    browser.post("/accounts/password", json={"currentPassword": PASSWORD, "newPassword": "another secret"})

    entries = browser.get("/accounts/audit").json()["entries"]

    assert [entry["eventType"] for entry in entries] == [
        "accounts.password.changed",
        "accounts.key.deleted",
        "accounts.key.created",
        "accounts.changed",
        "accounts.signed_up",
    ]
    assert entries[2]["resource"] == key["key"]["keyId"]
    assert entries[3]["requestId"] == "change-1"
    assert {entry["address"] for entry in entries} == {"127.0.0.1"}
    text = str(entries)
    assert all(secret not in text for secret in (PASSWORD, "another secret", key["apiKey"], "ada@"))


def test_what_else_changes_something_is_in_it_too(here: Installation) -> None:
    operator = here.operator()
    invite = operator.post("/accounts/invites", json={}).json()["invite"]
    operator.delete(f"/accounts/invites/{invite['inviteId']}")
    other = here.browser()
    other.post("/accounts/login", json={"email": "operator@example.com", "password": PASSWORD})
    here.clock.advance(1)
    newest = operator.get("/accounts/sessions").json()["sessions"]
    ended = next(session for session in newest if not session["current"])
    operator.delete(f"/accounts/sessions/{ended['sessionId']}")
    other.post("/accounts/login", json={"email": "operator@example.com", "password": PASSWORD})
    other.post("/accounts/logout")

    entries = operator.get("/accounts/audit", params={"limit": 100}).json()["entries"]

    assert {entry["eventType"] for entry in entries} == {
        "accounts.signed_up",
        "accounts.invite.created",
        "accounts.invite.deleted",
        "accounts.signed_in",
        "accounts.session.ended",
        "accounts.signed_out",
    }


def test_what_was_only_read_is_not_in_it(here: Installation) -> None:
    browser = here.person()
    browser.get("/accounts/me")
    browser.get("/accounts/keys")

    assert len(browser.get("/accounts/audit").json()["entries"]) == 1


def test_two_changes_with_one_request_id_in_one_second_are_both_in_it(here: Installation) -> None:
    browser = here.person()
    for name in ("B", "C", "D"):
        browser.patch("/accounts/me", json={"name": name}, headers={"x-request-id": "again"})

    entries = browser.get("/accounts/audit").json()["entries"]

    assert len([entry for entry in entries if entry["requestId"].startswith("again")]) == 3


def test_an_audit_that_fails_breaks_no_call_and_is_counted(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = here.person()

    async def broken(*_: Any) -> None:
        raise RuntimeError("no store")

    monkeypatch.setattr(Trail, "_write", broken)

    assert browser.patch("/accounts/me", json={"name": "B"}).status_code == 200
    assert "entrepot_audit_failures_total 1.0" in browser.get("/metrics").text


def test_a_trail_is_forgotten_after_90_days(here: Installation) -> None:
    here.person("ada@example.com")
    here.clock.advance(90 * 24 * 3600)
    browser = here.browser()
    browser.post("/accounts/login", json={"email": "ada@example.com", "password": PASSWORD})

    entries = browser.get("/accounts/audit").json()["entries"]

    assert [entry["eventType"] for entry in entries] == ["accounts.signed_in"]
