"""Signing up, in and out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.accounts.conftest import PASSWORD, Install, Installation


def newcomer(**values: Any) -> dict[str, Any]:
    return {"email": "ada@example.com", "password": PASSWORD, "name": "Ada", **values}


def test_whoever_signs_up_is_signed_in(here: Installation) -> None:
    browser = here.browser()

    response = browser.post("/accounts/signup", json=newcomer(email="Ada@Example.com", name=" Ada "))

    assert response.status_code == 201
    user = response.json()["user"]
    assert user["userId"].startswith("usr_")
    assert len(user["userId"]) == 20
    assert (user["email"], user["name"], user["plan"]) == ("Ada@Example.com", "Ada", "free")
    assert user["hasPassword"] is True
    assert "passwordHash" not in user
    assert browser.get("/accounts/me").json() == user


def test_an_email_is_taken_whatever_its_case(here: Installation) -> None:
    here.person("ada@example.com")

    response = here.browser().post("/accounts/signup", json=newcomer(email="ADA@Example.COM"))

    assert (response.status_code, response.json()["error"]) == (409, "EMAIL_TAKEN")


def test_of_many_at_once_with_one_email_in_different_case_one_wins(here: Installation) -> None:
    emails = ["ada@example.com", "ADA@example.com", "Ada@Example.Com", "adA@EXAMPLE.com"]
    browsers = [here.browser() for _ in emails]

    with ThreadPoolExecutor(len(emails)) as threads:
        responses = list(
            threads.map(
                lambda pair: pair[0].post("/accounts/signup", json=newcomer(email=pair[1])),
                zip(browsers, emails, strict=True),
            )
        )

    assert sorted(response.status_code for response in responses) == [201, 409, 409, 409]
    signed_in = [browser.get("/accounts/me").status_code for browser in browsers]
    assert sorted(signed_in) == [200, 401, 401, 401]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("email", "nobody", "email"),
        ("email", "a b@example.com", "email"),
        ("email", f"{'x' * 65}@example.com", "email"),
        ("name", "   ", "name"),
        ("password", "short", "password"),
        ("password", "x" * 73, "73 bytes long; at most 72"),
        ("password", "ä" * 37, "74 bytes long; at most 72"),
        ("password", "with a \0 in it", "NUL"),
        ("admin", True, "is not known here"),
    ],
)
def test_what_is_wrong_with_a_sign_up_is_named(
    here: Installation, field: str, value: object, words: str
) -> None:
    response = here.browser().post("/accounts/signup", json=newcomer(**{field: value}))

    assert response.status_code == 400
    problem = response.json()
    assert [error["field"] for error in problem["errors"]] == [field]
    assert words in problem["message"]


def test_a_password_of_72_bytes_signs_in_and_its_73rd_byte_counts(here: Installation) -> None:
    password = "ä" * 36
    here.person("ada@example.com", password=password)

    right = here.browser().post("/accounts/login", json={"email": "ada@example.com", "password": password})
    longer = here.browser().post(
        "/accounts/login", json={"email": "ada@example.com", "password": password + "x"}
    )

    assert (right.status_code, longer.status_code) == (200, 401)


def test_signing_in_takes_any_case_of_the_email(here: Installation) -> None:
    here.person("Ada+odd#one@Example.com")
    browser = here.browser()

    response = browser.post(
        "/accounts/login", json={"email": "ada+ODD#one@example.com", "password": PASSWORD}
    )

    assert response.status_code == 200
    assert browser.get("/accounts/me").json() == response.json()["user"]


def test_a_wrong_password_and_an_unknown_email_get_the_same_answer(here: Installation) -> None:
    here.person("ada@example.com")
    headers = {"x-request-id": "same"}

    answers = [
        here.browser().post("/accounts/login", json=body, headers=headers)
        for body in (
            {"email": "ada@example.com", "password": "wrong"},
            {"email": "nobody@example.com", "password": "wrong"},
            {"email": "no address at all", "password": "wrong"},
        )
    ]

    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].json()["error"] == "SIGN_IN_FAILED"
    assert all("set-cookie" not in answer.headers for answer in answers)


def test_signing_out_ends_the_session_itself(here: Installation) -> None:
    browser = here.person()
    value = browser.cookies["entrepot_session"]

    response = browser.post("/accounts/logout")

    assert response.status_code == 204
    assert "entrepot_session" not in browser.cookies
    thief = here.browser(cookie=f"entrepot_session={value}")
    assert thief.get("/accounts/me").status_code == 401
    assert here.browser().post("/accounts/logout").status_code == 204


def test_a_closed_installation_makes_no_accounts_but_the_operators(install: Install) -> None:
    here = install(signup="closed")

    refused = here.browser().post("/accounts/signup", json=newcomer())

    assert (refused.status_code, refused.json()["error"]) == (403, "SIGNUP_CLOSED")
    assert here.operator().get("/accounts/me").json()["role"] == "operator"


def test_the_profile_is_changed_in_part(here: Installation) -> None:
    browser = here.person()

    first = browser.patch("/accounts/me", json={"timeZone": "Europe/Berlin", "locale": "de-DE"})
    second = browser.patch("/accounts/me", json={"locale": None, "units": "imperial", "name": "Countess"})

    assert (first.json()["timeZone"], first.json()["locale"]) == ("Europe/Berlin", "de-DE")
    after = second.json()
    assert (after["timeZone"], after["units"], after["name"]) == ("Europe/Berlin", "imperial", "Countess")
    assert "locale" not in after
    assert browser.get("/accounts/me").json() == after


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("timeZone", "Mars/Olympus"),
        ("timeZone", "Europe"),
        ("timeZone", "../../etc/passwd"),
        ("locale", "x"),
        ("units", "furlongs"),
        ("name", None),
        ("role", "operator"),
        ("email", "other@example.com"),
    ],
)
def test_a_profile_can_t_become_what_it_can_t_be(here: Installation, field: str, value: object) -> None:
    response = here.person().patch("/accounts/me", json={field: value})

    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == field
