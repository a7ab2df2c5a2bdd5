"""Signing up, in and out."""

from __future__ import annotations

from tests.accounts.conftest import PASSWORD, Installation


def test_whoever_signs_up_is_signed_in(here: Installation) -> None:
    browser = here.browser()

    response = browser.post(
        "/accounts/signup", json={"email": "Ada@Example.com", "password": PASSWORD, "name": " Ada "}
    )

    assert response.status_code == 201
    user = response.json()["user"]
    assert user["userId"].startswith("usr_")
    assert len(user["userId"]) == 20
    assert (user["email"], user["name"], user["plan"]) == ("Ada@Example.com", "Ada", "free")
    assert user["hasPassword"] is True
    assert "passwordHash" not in user
    assert browser.get("/accounts/me").json() == user
