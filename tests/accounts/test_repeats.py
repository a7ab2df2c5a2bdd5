"""Idempotency-Key on what creates something: made once, answered alike, secrets told once."""

from __future__ import annotations

from tests.accounts.conftest import PASSWORD, Installation

KEY = {"idempotency-key": "try-1"}


def test_a_repeated_key_request_makes_one_key_and_tells_it_once(here: Installation) -> None:
    browser = here.person()
    body = {"name": "k", "permissions": "read"}

    first = browser.post("/accounts/keys", json=body, headers=KEY)
    second = browser.post("/accounts/keys", json=body, headers=KEY)

    assert (first.status_code, second.status_code) == (201, 201)
    assert second.json() == {"key": first.json()["key"]}
    assert first.json()["apiKey"].startswith("ek_")
    assert len(browser.get("/accounts/keys").json()["keys"]) == 1


def test_a_repeated_sign_up_makes_one_account_and_opens_one_session(here: Installation) -> None:
    body = {"email": "ada@example.com", "password": PASSWORD, "name": "Ada"}

    first = here.browser().post("/accounts/signup", json=body, headers=KEY)
    second = here.browser().post("/accounts/signup", json=body, headers=KEY)

    assert (first.status_code, second.status_code) == (201, 201)
    assert second.json() == first.json()
    assert "set-cookie" not in second.headers


def test_the_same_key_for_another_body_or_by_another_is_another_matter(here: Installation) -> None:
    ada, bob = here.person(), here.person()
    ada.post("/accounts/keys", json={"name": "one", "permissions": "read"}, headers=KEY)

    other_body = ada.post("/accounts/keys", json={"name": "two", "permissions": "read"}, headers=KEY)
    other_person = bob.post("/accounts/keys", json={"name": "one", "permissions": "read"}, headers=KEY)

    assert (other_body.status_code, other_body.json()["error"]) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert other_person.status_code == 201
    assert "apiKey" in other_person.json()


def test_an_invitation_is_made_once_and_its_link_told_once(here: Installation) -> None:
    operator = here.operator()

    first = operator.post("/accounts/invites", json={}, headers=KEY)
    second = operator.post("/accounts/invites", json={}, headers=KEY)

    assert "url" in first.json()
    assert second.json() == {"invite": first.json()["invite"]}
    assert len(operator.get("/accounts/invites").json()["invites"]) == 1


def test_a_repeat_by_who_may_not_is_refused_as_ever(here: Installation) -> None:
    body = {"name": "k", "permissions": "read"}
    here.person().post("/accounts/keys", json=body, headers=KEY)

    assert here.browser().post("/accounts/keys", json=body, headers=KEY).status_code == 401
    assert here.program(f"ek_{'x' * 43}").post("/accounts/keys", json=body, headers=KEY).status_code == 401


def test_a_sign_up_that_failed_may_be_tried_again_under_its_key(here: Installation) -> None:
    body = {"email": "ada@example.com", "password": "short", "name": "Ada"}
    assert here.browser().post("/accounts/signup", json=body, headers=KEY).status_code == 400

    right = here.browser().post("/accounts/signup", json={**body, "password": PASSWORD}, headers=KEY)

    assert right.status_code == 201
