"""Signing in with GitHub and Google, against a provider that runs here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.accounts.conftest import PASSWORD, Install, Installation, running
from tests.accounts.provider import LocalProvider, running_provider

PROVIDERS = ["github", "google"]


@pytest.fixture
def provider() -> Iterator[LocalProvider]:
    with running_provider() as running:
        yield running


@pytest.fixture
def here(install: Install, provider: LocalProvider) -> Installation:
    return install(**provider.settings())


def leave(browser: httpx.Client, name: str, **params: Any) -> str:
    """Begin at ours, agree at theirs; gives the address that the browser comes back to."""
    began = browser.get(f"/accounts/oauth/{name}", params=params)
    assert began.status_code == 302, began.text
    agreed = httpx.get(began.headers["location"])
    assert agreed.status_code == 302
    return agreed.headers["location"]


def enter(browser: httpx.Client, name: str, **params: Any) -> httpx.Response:
    return browser.get(leave(browser, name, **params))


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_newcomer_gets_an_account_and_comes_back_to_it(here: Installation, name: str) -> None:
    browser = here.browser()

    arrived = enter(browser, name, back="/somewhere?x=1")

    assert (arrived.status_code, arrived.headers["location"]) == (302, "/somewhere?x=1")
    me = browser.get("/accounts/me").json()
    assert (me["email"], me["name"], me["providers"]) == ("grace@example.com", "Grace", [name])
    assert me["hasPassword"] is False
    again = here.browser()
    enter(again, name)
    assert again.get("/accounts/me").json()["userId"] == me["userId"]


@pytest.mark.parametrize("name", PROVIDERS)
def test_an_unverified_email_opens_and_makes_no_account(
    here: Installation, provider: LocalProvider, name: str
) -> None:
    here.person("grace@example.com")
    provider.verified = False

    for _ in range(2):
        browser = here.browser()
        arrived = enter(browser, name)

        assert (arrived.status_code, arrived.json()["error"]) == (403, "EMAIL_UNVERIFIED")
        assert browser.get("/accounts/me").status_code == 401
        provider.email = "new@example.com"


def test_a_verified_email_opens_no_account_that_has_a_password(here: Installation) -> None:
    here.person("GRACE@example.com")
    browser = here.browser()

    arrived = enter(browser, "github")

    assert (arrived.status_code, arrived.json()["error"]) == (409, "LINK_NEEDS_SIGN_IN")
    assert browser.get("/accounts/me").status_code == 401


def test_who_is_signed_in_links_a_provider_and_signs_in_with_it_from_then_on(
    here: Installation, provider: LocalProvider
) -> None:
    laptop = here.person("grace@example.com")
    provider.email, provider.verified = "other@example.com", False

    assert enter(laptop, "github", link=True).status_code == 302

    phone = here.browser()
    enter(phone, "github")
    assert phone.get("/accounts/me").json()["email"] == "grace@example.com"
    assert phone.get("/accounts/me").json()["providers"] == ["github"]


def test_a_second_provider_with_the_same_verified_email_leads_to_the_same_account(here: Installation) -> None:
    first, second = here.browser(), here.browser()
    enter(first, "github")

    enter(second, "google")

    assert second.get("/accounts/me").json()["userId"] == first.get("/accounts/me").json()["userId"]
    assert second.get("/accounts/me").json()["providers"] == ["github", "google"]


def test_a_provider_account_belongs_to_one(here: Installation) -> None:
    enter(here.browser(), "github")

    arrived = enter(here.person(), "github", link=True)

    assert (arrived.status_code, arrived.json()["error"]) == (409, "PROVIDER_TAKEN")


def test_linking_needs_who_to_link_to(here: Installation) -> None:
    assert here.browser().get("/accounts/oauth/github", params={"link": True}).status_code == 401
    ada, back = here.person(), ""
    back = leave(ada, "github", link=True)
    ada.post("/accounts/logout")
    assert ada.get(back).json()["error"] == "STATE_INVALID"


def test_a_code_of_another_browser_is_refused(here: Installation) -> None:
    attacker, victim = here.browser(), here.browser()
    back = leave(attacker, "github")

    none_begun = victim.get(back)
    leave(victim, "github")
    other_begun = victim.get(back)

    assert (none_begun.status_code, none_begun.json()["error"]) == (400, "STATE_INVALID")
    assert (other_begun.status_code, other_begun.json()["error"]) == (400, "STATE_INVALID")


def test_a_way_back_is_used_once_and_for_ten_minutes(here: Installation) -> None:
    browser = here.browser()
    back = leave(browser, "github")
    assert browser.get(back).status_code == 302
    assert browser.get(back).json()["error"] == "STATE_INVALID"
    late = leave(browser, "github")
    here.clock.advance(601)
    assert browser.get(late).json()["error"] == "STATE_INVALID"
    crossed = leave(browser, "github").replace("/github/", "/google/")
    assert browser.get(crossed).json()["error"] == "STATE_INVALID"


def test_pkce_and_state_differ_each_time(here: Installation) -> None:
    asked = []
    for _ in range(2):
        location = here.browser().get("/accounts/oauth/github").headers["location"]
        asked.append(parse_qs(urlsplit(location).query))

    assert asked[0]["state"] != asked[1]["state"]
    assert asked[0]["code_challenge"] != asked[1]["code_challenge"]
    assert asked[0]["redirect_uri"] == [f"{here.url}/accounts/oauth/github/callback"]


def test_what_goes_wrong_at_the_provider_is_said(here: Installation, provider: LocalProvider) -> None:
    provider.refuses = True
    refused = enter(here.browser(), "github")
    provider.refuses, provider.breaks = False, True
    broken = enter(here.browser(), "github")

    assert (refused.status_code, broken.status_code) == (502, 502)
    assert {refused.json()["error"], broken.json()["error"]} == {"PROVIDER_FAILED"}


def test_only_the_invited_join_through_a_provider(install: Install, provider: LocalProvider) -> None:
    here = install(signup="invite", **provider.settings())

    refused = enter(here.browser(), "github")
    operator = here.browser()
    arrived = enter(operator, "github", invite=here.first_token)

    assert (refused.status_code, refused.json()["error"]) == (403, "INVITE_NEEDED")
    assert arrived.status_code == 302
    assert operator.get("/accounts/me").json()["role"] == "operator"


@pytest.mark.parametrize("back", ["https://evil.example", "//evil.example", "/\\evil.example", "x"])
def test_nobody_is_sent_elsewhere_afterwards(here: Installation, back: str) -> None:
    assert here.browser().get("/accounts/oauth/github", params={"back": back}).status_code == 400


def test_a_provider_that_is_not_set_up_is_not_there(install: Install) -> None:
    here = install()

    assert here.browser().get("/accounts/oauth/github").json()["error"] == "PROVIDER_UNKNOWN"
    assert here.browser().get("/accounts/oauth/myspace").status_code in (400, 404)


def test_without_a_password_a_young_session_sets_one(here: Installation) -> None:
    browser = here.browser()
    enter(browser, "github")
    here.clock.advance(11 * 60)
    late = browser.post("/accounts/password", json={"newPassword": PASSWORD})
    enter(browser, "github")

    soon = browser.post("/accounts/password", json={"newPassword": PASSWORD})

    assert (late.status_code, late.json()["error"]) == (403, "SIGN_IN_AGAIN")
    assert soon.status_code == 204
    login = {"email": "grace@example.com", "password": PASSWORD}
    assert here.browser().post("/accounts/login", json=login).status_code == 200


def test_after_the_key_was_rotated_what_it_sealed_still_opens(
    tmp_path: Path, provider: LocalProvider
) -> None:
    old, new = "the first key of this place.....", "the key that took its place....."
    with running(tmp_path, secret_key=old, **provider.settings()) as before:
        browser = before.browser()
        back = leave(browser, "github")
        carried = {"cookie": f"entrepot_oauth={browser.cookies['entrepot_oauth']}"}
    path = back[len(before.url) :]

    with running(tmp_path, secret_key=new, **provider.settings()) as without:
        refused = httpx.get(f"{without.url}{path}", headers=carried)
    with running(tmp_path, secret_key=new, secret_keys_old=old, **provider.settings()) as rotated:
        arrived = httpx.get(f"{rotated.url}{path}", headers=carried)

    assert (refused.status_code, arrived.status_code) == (400, 302)
