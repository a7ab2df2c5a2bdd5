"""The first operator, invitations, and new passwords by link."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from tests.accounts.conftest import PASSWORD, Install, Installation

DAY = 24 * 3600


def sign_up(here: Installation, token: str | None, email: str = "ada@example.com") -> httpx.Response:
    body = {"email": email, "password": PASSWORD, "name": "Ada", "invite": token}
    return here.browser().post("/accounts/signup", json=body)


def invite(operator: httpx.Client, **body: Any) -> tuple[str, str]:
    response = operator.post("/accounts/invites", json=body)
    assert response.status_code == 201, response.text
    url = response.json()["url"]
    return response.json()["invite"]["inviteId"], url.partition("token=")[2]


def test_the_first_link_makes_the_operator_once(install: Install) -> None:
    here = install(signup="invite")

    first = sign_up(here, here.first_token)
    again = sign_up(here, here.first_token, "bob@example.com")

    assert first.json()["user"]["role"] == "operator"
    assert (again.status_code, again.json()["error"]) == (400, "INVITE_INVALID")


def test_of_many_who_use_the_first_link_at_once_one_becomes_operator(install: Install) -> None:
    here = install(signup="invite")

    with ThreadPoolExecutor(4) as threads:
        tries = [threads.submit(sign_up, here, here.first_token, f"p{n}@example.com") for n in range(4)]
        seen = sorted(each.result().status_code for each in tries)

    assert seen == [201, 400, 400, 400]


def test_the_first_link_holds_for_an_hour(install: Install) -> None:
    here = install(signup="invite")

    here.clock.advance(3600)

    assert sign_up(here, here.first_token).status_code == 400


def test_the_first_page_makes_the_operator_without_scripts(install: Install) -> None:
    here = install(signup="invite")
    browser = here.browser()
    page = browser.get("/accounts/first", params={"token": here.first_token})
    assert page.status_code == 200
    assert "form-action 'self'" in page.headers["content-security-policy"]
    found = re.search(r'name="token" value="([^"]+)"', page.text)
    assert found is not None
    form = {"token": found[1], "email": "ada@example.com", "name": "<Ada>", "password": "short"}

    wrong = browser.post("/accounts/first", data=form)
    right = browser.post("/accounts/first", data={**form, "password": PASSWORD})

    assert wrong.status_code == 400
    assert "&lt;Ada&gt;" in wrong.text
    assert "short" not in wrong.text
    assert right.status_code == 303
    assert browser.get("/accounts/me").json()["role"] == "operator"
    assert browser.get("/accounts/first", params={"token": here.first_token}).status_code == 404


def test_without_an_invitation_nobody_comes_in(install: Install) -> None:
    here = install(signup="invite")

    response = sign_up(here, None)

    assert (response.status_code, response.json()["error"]) == (403, "INVITE_NEEDED")


def test_an_invitation_is_for_one_use(install: Install) -> None:
    here = install(signup="invite")
    operator = here.operator()
    invite_id, token = invite(operator)
    assert [i["inviteId"] for i in operator.get("/accounts/invites").json()["invites"]] == [invite_id]

    first = sign_up(here, token, "a@example.com")
    second = sign_up(here, token, "b@example.com")

    assert first.status_code == 201
    assert "role" not in first.json()["user"]
    assert (second.status_code, second.json()["error"]) == (400, "INVITE_INVALID")
    assert operator.get("/accounts/invites").json() == {"invites": []}


def test_an_invitation_outlives_a_taken_email(install: Install) -> None:
    here = install(signup="invite")
    _, token = invite(here.operator())

    taken = sign_up(here, token, "OPERATOR@example.com")
    then = sign_up(here, token, "ada@example.com")

    assert (taken.json()["error"], then.status_code) == ("EMAIL_TAKEN", 201)


def test_an_invitation_ends_after_7_days_or_when_withdrawn(install: Install) -> None:
    here = install(signup="invite")
    operator = here.operator()
    _, old = invite(operator)
    here.clock.advance(7 * DAY)
    withdrawn_id, withdrawn = invite(operator)

    assert operator.delete(f"/accounts/invites/{withdrawn_id}").status_code == 204

    assert sign_up(here, old).json()["error"] == "INVITE_INVALID"
    assert sign_up(here, withdrawn).json()["error"] == "INVITE_INVALID"
    assert operator.delete(f"/accounts/invites/{withdrawn_id}").status_code == 404


def test_an_invitation_for_an_email_is_for_that_one(install: Install) -> None:
    here = install(signup="invite")
    _, token = invite(here.operator(), email="Ada@example.com")

    assert sign_up(here, token, "eve@example.com").json()["error"] == "INVITE_INVALID"
    assert sign_up(here, token, "ada@example.com").status_code == 201


def test_only_the_operator_invites(here: Installation) -> None:
    person = here.person()

    for response in (
        person.post("/accounts/invites", json={}),
        person.get("/accounts/invites"),
        person.delete(f"/accounts/invites/{'0' * 64}"),
    ):
        assert (response.status_code, response.json()["error"]) == (403, "FORBIDDEN")


def test_the_link_of_an_invitation_opens_its_page(install: Install) -> None:
    here = install(signup="invite", public_url="https://entrepot.example")
    response = here.operator().post("/accounts/invites", json={"email": "ada@example.com"})
    url = response.json()["url"]

    assert url.startswith("https://entrepot.example/accounts/join?token=")
    page = here.browser().get(url.removeprefix("https://entrepot.example"))
    assert (page.status_code, 'value="ada@example.com"' in page.text) == (200, True)
