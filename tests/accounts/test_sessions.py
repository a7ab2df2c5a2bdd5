"""Sessions: how long they hold, what ends them, and the cookie."""

from __future__ import annotations

import time
from http.cookies import SimpleCookie

import httpx
import pytest

from entrepot.accounts import rules
from tests.accounts.conftest import PASSWORD, Install, Installation

DAY = 24 * 3600


def cookie_of(response: httpx.Response) -> SimpleCookie:
    return SimpleCookie(response.headers["set-cookie"])


def sign_in(browser: httpx.Client, email: str = "ada@example.com", **headers: str) -> httpx.Response:
    return browser.post("/accounts/login", json={"email": email, "password": PASSWORD}, headers=headers)


def test_a_session_ends_after_14_days_without_use(here: Installation) -> None:
    browser = here.person()

    here.clock.advance(14 * DAY)

    assert browser.get("/accounts/me").status_code == 401


def test_a_session_is_renewed_when_half_of_it_has_passed(here: Installation) -> None:
    browser = here.person()
    here.clock.advance(6 * DAY)
    early = browser.get("/accounts/me")
    here.clock.advance(2 * DAY)

    renewed = browser.get("/accounts/me")

    assert "set-cookie" not in early.headers
    morsel = cookie_of(renewed)["entrepot_session"]
    assert morsel["max-age"] == str(14 * DAY)
    here.clock.advance(13 * DAY)
    assert browser.get("/accounts/me").status_code == 200


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(here: Installation) -> None:
    here.person("ada@example.com")

    morsel = cookie_of(sign_in(here.browser()))["entrepot_session"]

    assert (morsel["httponly"], morsel["samesite"], morsel["path"]) == (True, "Lax", "/")
    assert not morsel["secure"]
    assert len(morsel.value) == 43


@pytest.mark.parametrize(
    ("scheme", "host", "secure"),
    [
        ("https", "entrepot.example", True),
        ("http", "entrepot.example", True),
        ("http", "localhost:8080", False),
    ],
)
def test_behind_a_proxy_the_cookie_is_for_https(
    install: Install, scheme: str, host: str, secure: bool
) -> None:
    here = install(trusted_proxies="127.0.0.1")
    here.person("ada@example.com")
    browser = here.browser(host=host, **{"x-forwarded-proto": scheme, "x-forwarded-for": "203.0.113.9"})

    header = sign_in(browser).headers["set-cookie"]

    assert header.startswith("__Host-entrepot_session=") is secure
    assert ("Secure" in header.split("; ")) is secure


def test_an_installation_whose_public_address_is_http_gives_its_cookies_there(install: Install) -> None:
    here = install(public_url="http://192.168.1.20:8080")
    here.person("ada@example.com")

    there = sign_in(here.browser(host="192.168.1.20:8080")).headers["set-cookie"]
    elsewhere = sign_in(here.browser(host="192.168.1.21:8080")).headers["set-cookie"]

    assert "Secure" not in there.split("; ")
    assert "Secure" in elsewhere.split("; ")


def test_one_sees_and_ends_where_one_is_signed_in(here: Installation) -> None:
    laptop = here.person("ada@example.com")
    here.clock.advance(60)
    phone = here.browser(**{"user-agent": "Phone/1"})
    sign_in(phone)

    listed = laptop.get("/accounts/sessions").json()["sessions"]

    assert [session["current"] for session in listed] == [False, True]
    assert listed[0]["userAgent"] == "Phone/1"
    assert listed[0]["address"] == "127.0.0.1"
    ended = laptop.delete(f"/accounts/sessions/{listed[0]['sessionId']}")
    assert ended.status_code == 204
    assert phone.get("/accounts/me").status_code == 401
    assert laptop.get("/accounts/me").status_code == 200


def test_nobody_ends_the_session_of_another(here: Installation) -> None:
    ada, bob = here.person(), here.person()
    (session,) = ada.get("/accounts/sessions").json()["sessions"]

    foreign = bob.delete(f"/accounts/sessions/{session['sessionId']}")
    unknown = bob.delete(f"/accounts/sessions/{'0' * 64}")

    assert foreign.status_code == unknown.status_code == 404
    assert foreign.json()["error"] == unknown.json()["error"] == "SESSION_NOT_FOUND"
    assert ada.get("/accounts/me").status_code == 200


def test_sessions_come_in_pages_of_their_owner(here: Installation) -> None:
    ada, bob = here.person("ada@example.com"), here.person()
    for _ in range(4):
        here.clock.advance(1)
        sign_in(here.browser())

    seen: list[str] = []
    cursor: str | None = None
    while True:
        params: dict[str, str | int] = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = ada.get("/accounts/sessions", params=params).json()
        seen += [session["sessionId"] for session in page["sessions"]]
        cursor = page.get("next_cursor")
        if cursor is None:
            break
        foreign = bob.get("/accounts/sessions", params={"cursor": cursor})
        assert (foreign.status_code, foreign.json()["error"]) == (400, "CURSOR_INVALID")

    assert len(seen) == len(set(seen)) == 5
    assert ada.get("/accounts/sessions", params={"limit": 101}).status_code == 400
    assert ada.get("/accounts/keys", params={"cursor": "made-up"}).status_code == 400


def test_changing_the_password_ends_other_sessions_even_those_that_no_index_shows(install: Install) -> None:
    here = install(chaos="index_lag_ms=60000")
    laptop = here.person("ada@example.com")
    phone = here.browser()
    assert sign_in(phone).status_code == 200

    body = {"currentPassword": PASSWORD, "newPassword": "another secret"}
    changed = laptop.post("/accounts/password", json=body)

    assert changed.status_code == 204
    assert phone.get("/accounts/me").status_code == 401
    assert laptop.get("/accounts/me").status_code == 200
    assert sign_in(here.browser()).status_code == 401
    new = here.browser().post(
        "/accounts/login", json={"email": "ada@example.com", "password": "another secret"}
    )
    assert new.status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"newPassword": "another secret"}, 403),
        ({"currentPassword": "wrong", "newPassword": "another secret"}, 403),
        ({"currentPassword": PASSWORD, "newPassword": PASSWORD}, 400),
        ({"currentPassword": PASSWORD, "newPassword": "x" * 73}, 400),
    ],
)
def test_a_password_is_changed_by_who_knows_it(here: Installation, body: dict[str, str], status: int) -> None:
    browser = here.person("ada@example.com")

    assert browser.post("/accounts/password", json=body).status_code == status
    assert sign_in(here.browser()).status_code == 200


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({"sec-fetch-site": "same-origin"}, False),
        ({"sec-fetch-site": "none"}, False),
        ({"sec-fetch-site": "same-site"}, True),
        ({"sec-fetch-site": "cross-site"}, True),
        ({"origin": "https://evil.example"}, True),
        ({"origin": "null"}, True),
        ({}, False),
    ],
)
def test_another_site_changes_nothing_through_a_browser(
    here: Installation, headers: dict[str, str], refused: bool
) -> None:
    browser = here.person("ada@example.com")

    calls = [
        browser.patch("/accounts/me", json={"name": "Eve"}, headers=headers),
        sign_in(browser, **headers),
        browser.post("/accounts/logout", headers=headers),
    ]

    if refused:
        assert [(call.status_code, call.json()["error"]) for call in calls] == [(403, "CROSS_SITE")] * 3
        assert browser.get("/accounts/me", headers=headers).json()["name"] == "Ada"
    else:
        assert [call.status_code for call in calls] == [200, 200, 204]


def test_our_own_origin_is_no_other_site(install: Install) -> None:
    here = install(public_url="https://entrepot.example")
    browser = here.person()

    by_host = browser.patch("/accounts/me", json={"name": "B"}, headers={"origin": here.url})
    by_public = browser.patch(
        "/accounts/me", json={"name": "C"}, headers={"origin": "https://entrepot.example"}
    )

    assert (by_host.status_code, by_public.status_code) == (200, 200)


def test_unknown_expired_and_ended_credentials_get_one_and_the_same_401(here: Installation) -> None:
    expired, ended = here.person(), here.person()
    ended_value = ended.cookies["entrepot_session"]
    ended.post("/accounts/logout")
    made = here.person()
    key = made.post("/accounts/keys", json={"name": "k", "permissions": "read"}).json()
    made.delete(f"/accounts/keys/{key['key']['keyId']}")
    here.clock.advance(15 * DAY)
    headers = {"x-request-id": "same"}

    answers = [
        client.get("/accounts/me", headers=headers)
        for client in (
            here.browser(),
            expired,
            here.browser(cookie=f"entrepot_session={ended_value}"),
            here.browser(cookie="entrepot_session=made-up"),
            here.program(key["apiKey"]),
            here.program(f"ek_{'x' * 43}"),
            here.program("not a key at all"),
        )
    ]

    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1


def test_a_read_of_the_table_opens_no_session(here: Installation) -> None:
    browser = here.person()
    (stored,) = browser.get("/accounts/sessions").json()["sessions"]
    value = browser.cookies["entrepot_session"]

    assert stored["sessionId"] == rules.digest(value)
    thief = here.browser(cookie=f"entrepot_session={stored['sessionId']}")
    assert thief.get("/accounts/me").status_code == 401


def test_times_are_those_of_the_installations_clock(here: Installation) -> None:
    here.clock.advance(DAY)
    browser = here.person()

    (session,) = browser.get("/accounts/sessions").json()["sessions"]

    assert abs(session["expiresAtUtc"] - (time.time() + 15 * DAY)) < 60


@pytest.mark.parametrize("path", ["sessions", "keys", "invites"])
def test_an_id_that_nothing_can_have_is_no_error_of_ours(here: Installation, path: str) -> None:
    operator = here.operator()

    for thing in ("a%23b", "%00", "x" * 3000, "%F0%9F%98%80", "%20"):
        assert operator.delete(f"/accounts/{path}/{thing}").status_code in (400, 404)
