"""Keys of programs, and what each may do."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from entrepot.accounts import keys
from tests.accounts.conftest import PASSWORD, Install, Installation


def make(browser: httpx.Client, permissions: str = "read", name: str = "Prod") -> dict[str, Any]:
    response = browser.post("/accounts/keys", json={"name": name, "permissions": permissions})
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    return made


def test_a_key_is_shown_once_and_works_at_once_although_its_index_lags(install: Install) -> None:
    here = install(chaos="index_lag_ms=60000")
    browser = here.person()

    made = make(browser)

    assert re.fullmatch(r"ek_[0-9A-Za-z]{43}", made["apiKey"])
    assert made["key"]["keyPrefix"] == made["apiKey"][:8]
    (listed,) = browser.get("/accounts/keys").json()["keys"]
    assert listed["keyId"] == made["key"]["keyId"]
    assert made["apiKey"] not in str(listed)
    assert "keyHash" not in listed
    me = here.program(made["apiKey"]).get("/accounts/me")
    assert me.json() == browser.get("/accounts/me").json()


def test_a_deleted_key_opens_nothing_although_its_index_lags(install: Install) -> None:
    here = install(chaos="index_lag_ms=600")
    browser = here.person()
    made = make(browser)
    program = here.program(made["apiKey"])
    for _ in range(3):
        assert program.get("/accounts/me").status_code == 200

    assert browser.delete(f"/accounts/keys/{made['key']['keyId']}").status_code == 204

    assert program.get("/accounts/me").status_code == 401
    assert browser.delete(f"/accounts/keys/{made['key']['keyId']}").status_code == 404


ALLOWED = {
    ("GET", "/accounts/me"): {"read", "write", "admin"},
    ("GET", "/accounts/keys"): {"read", "write", "admin"},
    ("GET", "/accounts/sessions"): {"read", "write", "admin"},
    ("GET", "/accounts/audit"): {"read", "write", "admin"},
    ("PATCH", "/accounts/me"): {"admin"},
    ("POST", "/accounts/keys"): {"admin"},
    ("DELETE", "/accounts/keys/key_0000000000000000"): {"admin"},
    ("DELETE", f"/accounts/sessions/{'0' * 64}"): {"admin"},
    ("POST", "/accounts/password"): set(),
    ("GET", "/accounts/invites"): set(),
    ("POST", "/accounts/invites"): set(),
}
BODIES: dict[tuple[str, str], Any] = {
    ("PATCH", "/accounts/me"): {"name": "X"},
    ("POST", "/accounts/keys"): {"name": "X", "permissions": "read"},
    ("POST", "/accounts/password"): {"currentPassword": PASSWORD, "newPassword": "another secret"},
    ("POST", "/accounts/invites"): {},
}


@pytest.mark.parametrize("permissions", ["read", "write", "admin"])
def test_a_key_may_do_what_its_permission_says(here: Installation, permissions: str) -> None:
    program = here.program(make(here.person(), permissions)["apiKey"])

    for (method, path), allowed in ALLOWED.items():
        response = program.request(method, path, json=BODIES.get((method, path)))

        let_in = response.status_code in (200, 201, 204, 404)
        assert let_in is (permissions in allowed), f"{method} {path}: {response.text}"
        if not let_in:
            assert response.json()["error"] == "FORBIDDEN"


@pytest.mark.parametrize(("permissions", "status"), [("admin", 200), ("write", 403)])
def test_only_an_admin_key_of_the_operator_is_the_operator(
    here: Installation, permissions: str, status: int
) -> None:
    program = here.program(make(here.operator(), permissions)["apiKey"])

    assert program.get("/accounts/invites").status_code == status


def test_the_admin_token_is_the_operator_without_an_account(install: Install) -> None:
    here = install(admin_token="a token of some length")
    program = here.program("a token of some length")

    assert program.get("/accounts/invites").status_code == 200
    mine = program.get("/accounts/me")
    assert (mine.status_code, mine.json()["error"]) == (403, "NO_ACCOUNT")
    assert here.program("a token of some lengtH").get("/accounts/invites").status_code == 401


def test_the_use_of_a_key_is_noted_every_five_minutes(here: Installation) -> None:
    browser = here.person()
    program = here.program(make(browser)["apiKey"])

    def last_used() -> Any:
        (key,) = browser.get("/accounts/keys").json()["keys"]
        return key.get("lastUsedAt")

    assert last_used() is None
    program.get("/accounts/me")
    first = last_used()
    here.clock.advance(4 * 60)
    program.get("/accounts/me")
    assert last_used() == first
    here.clock.advance(61)
    program.get("/accounts/me")
    assert last_used() > first


def test_a_key_of_another_can_t_be_deleted(here: Installation) -> None:
    made = make(here.person())

    response = here.person().delete(f"/accounts/keys/{made['key']['keyId']}")

    assert (response.status_code, response.json()["error"]) == (404, "KEY_NOT_FOUND")
    assert here.program(made["apiKey"]).get("/accounts/me").status_code == 200


def test_keys_of_an_account_are_bounded(here: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "KEYS_MAX", 2)
    browser = here.person()
    make(browser)
    make(browser)

    response = browser.post("/accounts/keys", json={"name": "third", "permissions": "read"})

    assert (response.status_code, response.json()["error"]) == (409, "TOO_MANY_KEYS")


def test_a_key_counts_before_a_cookie(here: Installation) -> None:
    ada, bob = here.person(), here.person()
    key = make(ada)["apiKey"]

    response = bob.get("/accounts/me", headers={"authorization": f"Bearer {key}"})

    assert response.json() == ada.get("/accounts/me").json()
