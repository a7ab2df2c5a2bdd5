"""Accounts on a store that lags, throttles, conflicts and loses: nothing is wrong, only slower."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.process import started
from tests.accounts.conftest import PASSWORD, Install, Installation

UNKIND = (
    "index_lag_ms=300,stale=0.3,throttle=0.05,conflict=0.1,in_progress=0.05,unprocessed=0.2,short_pages=0.2"
)
# What a caller may be told when the store did not take a call in its time.
BUSY = 503
TRIES_MAX = 20


def insist(call: Any, *arguments: Any, **how: Any) -> httpx.Response:
    """Call again while the store is busy, as a caller does who is told to."""
    for _ in range(TRIES_MAX):
        response: httpx.Response = call(*arguments, **how)
        if response.status_code != BUSY:
            return response
    raise AssertionError("it stayed busy")


def test_a_life_of_an_account(install: Install) -> None:
    live(install(chaos=f"{UNKIND},seed=7"))


def test_a_life_of_an_account_on_a_remote_store(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    dynamo = ("dynamo", "--port", "0", "--data", ":memory:")
    with started(*dynamo, directory=tmp_path, last_line="AWS_ENDPOINT_URL_DYNAMODB") as remote:
        store = f"dynamodb://eu-west-1?endpoint={remote.url}&prefix=test-"
        live(install(store=store, secret_key="a key that every process is given"), people=2)


def live(here: Installation, people: int = 10) -> None:
    for number in range(people):
        email, browser = f"person{number}@example.com", here.browser()
        who = {"email": email, "password": PASSWORD, "name": "Ada"}
        signed_up = insist(browser.post, "/accounts/signup", json=who)
        assert signed_up.status_code == 201, signed_up.text
        assert insist(browser.post, "/accounts/signup", json=who).status_code == 409
        assert insist(browser.get, "/accounts/me").status_code == 200

        key = insist(browser.post, "/accounts/keys", json={"name": "k", "permissions": "read"}).json()
        program = here.program(key["apiKey"])
        assert insist(program.get, "/accounts/me").json()["email"] == email
        assert insist(browser.delete, f"/accounts/keys/{key['key']['keyId']}").status_code == 204
        assert insist(program.get, "/accounts/me").status_code == 401

        other = here.browser()
        login = {"email": email.upper(), "password": PASSWORD}
        assert insist(other.post, "/accounts/login", json=login).status_code == 200
        change = {"currentPassword": PASSWORD, "newPassword": "another secret"}
        assert insist(browser.post, "/accounts/password", json=change).status_code == 204
        assert insist(other.get, "/accounts/me").status_code == 401
        assert insist(other.post, "/accounts/login", json=login).status_code == 401
        assert insist(browser.post, "/accounts/logout").status_code == 204
        assert insist(browser.get, "/accounts/me").status_code == 401


@pytest.mark.parametrize("seed", range(3))
def test_of_many_at_once_with_one_email_one_wins(install: Install, seed: int) -> None:
    here = install(chaos=f"{UNKIND},seed={seed}")
    browsers = [here.browser() for _ in range(4)]

    def sign_up(browser: httpx.Client, email: str) -> int:
        body = {"email": email, "password": PASSWORD, "name": "Ada"}
        return insist(browser.post, "/accounts/signup", json=body).status_code

    with ThreadPoolExecutor(4) as threads:
        emails = ["ada@example.com", "ADA@example.com", "Ada@Example.com", "ada@EXAMPLE.com"]
        seen = sorted(threads.map(sign_up, browsers, emails))

    assert seen == [201, 409, 409, 409]
