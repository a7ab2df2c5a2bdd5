"""Failed sign-ins: bounded, by address and by e-mail and address, and never by e-mail alone."""

from __future__ import annotations

import asyncio
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from entrepot.accounts import passwords
from entrepot.http.problems import Unavailable
from tests.accounts.conftest import PASSWORD, Install, Installation


def sign_in(browser: httpx.Client, email: str, password: str, address: str = "") -> httpx.Response:
    headers = {"x-forwarded-for": address} if address else {}
    return browser.post("/accounts/login", json={"email": email, "password": password}, headers=headers)


def test_after_ten_failures_even_the_right_password_has_to_wait(here: Installation) -> None:
    here.person("ada@example.com")
    browser = here.browser()

    wrong = [sign_in(browser, "ADA@example.com", f"wrong {n}").status_code for n in range(10)]
    blocked = sign_in(browser, "ada@example.com", PASSWORD)

    assert wrong == [401] * 10
    assert (blocked.status_code, blocked.json()["error"]) == (429, "TOO_MANY_FAILURES")
    assert 0 < int(blocked.headers["retry-after"]) <= 15 * 60
    here.clock.advance(int(blocked.headers["retry-after"]))
    assert sign_in(browser, "ada@example.com", PASSWORD).status_code == 200


def test_an_unknown_email_is_bounded_alike(here: Installation) -> None:
    browser = here.browser()

    seen = [sign_in(browser, "nobody@example.com", "wrong").status_code for _ in range(11)]

    assert seen == [401] * 10 + [429]


def test_many_tries_at_once_do_not_pass_the_bound_together(here: Installation) -> None:
    here.person("ada@example.com")
    browsers = [here.browser() for _ in range(8)]

    with ThreadPoolExecutor(len(browsers)) as threads:
        tries = [threads.submit(sign_in, browsers[n % 8], "ada@example.com", f"wrong {n}") for n in range(32)]
        seen = [each.result().status_code for each in tries]

    assert seen.count(401) <= 10
    assert seen.count(401) + seen.count(429) == 32


def test_nobody_is_locked_out_from_another_address(install: Install) -> None:
    here = install(trusted_proxies="127.0.0.1")
    here.person("ada@example.com")
    browser = here.browser()
    for n in range(11):
        sign_in(browser, "ada@example.com", f"wrong {n}", address="203.0.113.1")

    attacker = sign_in(browser, "ada@example.com", PASSWORD, address="203.0.113.1")
    owner = sign_in(browser, "ada@example.com", PASSWORD, address="203.0.113.2")

    assert (attacker.status_code, owner.status_code) == (429, 200)


def test_a_hundred_failures_of_one_address_are_enough_whatever_the_email(install: Install) -> None:
    here = install(trusted_proxies="127.0.0.1")
    here.person("ada@example.com")
    browser = here.browser()

    seen = {
        sign_in(browser, f"someone{n}@example.com", "wrong", address="203.0.113.1").status_code
        for n in range(100)
    }

    assert seen == {401}
    assert sign_in(browser, "ada@example.com", PASSWORD, address="203.0.113.1").status_code == 429
    assert sign_in(browser, "ada@example.com", PASSWORD, address="203.0.113.2").status_code == 200


def test_the_addresses_of_one_ipv6_site_count_as_one(install: Install) -> None:
    here = install(trusted_proxies="127.0.0.1")
    here.person("ada@example.com")
    browser = here.browser()

    seen = [
        sign_in(browser, "ada@example.com", "wrong", address=f"2001:db8:1:2::{n:x}").status_code
        for n in range(11)
    ]

    assert seen == [401] * 10 + [429]
    assert sign_in(browser, "ada@example.com", PASSWORD, address="2001:db8:1:3::1").status_code == 200


def test_a_forwarded_address_of_who_is_no_trusted_proxy_is_ignored(here: Installation) -> None:
    here.person("ada@example.com")
    browser = here.browser()

    seen = [
        sign_in(browser, "ada@example.com", "wrong", address=f"203.0.113.{n}").status_code for n in range(11)
    ]

    assert seen == [401] * 10 + [429]


def test_signing_in_rightly_costs_nothing(here: Installation) -> None:
    here.person("ada@example.com")
    browser = here.browser()

    seen = [sign_in(browser, "ada@example.com", PASSWORD).status_code for _ in range(12)]

    assert seen == [200] * 12


def test_proving_oneself_by_password_is_bounded_too(here: Installation) -> None:
    browser = here.person("ada@example.com")
    body = {"currentPassword": "wrong", "newPassword": "another secret"}

    seen = [browser.post("/accounts/password", json=body).status_code for _ in range(11)]

    assert seen == [403] * 10 + [429]


def test_an_unknown_email_takes_as_long_as_a_wrong_password(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A cost at which the hash is most of the time, as it is at the real one, and the test still short.
    monkeypatch.setattr(passwords, "COST", 9)
    here = install(trusted_proxies="127.0.0.1")
    here.person("ada@example.com")
    browser = here.browser()

    def seconds(email: str, address: str) -> float:
        began = time.perf_counter()
        assert sign_in(browser, email, "wrong", address=address).status_code == 401
        return time.perf_counter() - began

    # In turn, so that whatever else the machine does touches both alike.
    pairs = [
        (seconds("ada@example.com", f"198.51.100.{n}"), seconds("nobody@example.com", f"203.0.113.{n}"))
        for n in range(25)
    ]

    known = statistics.median(pair[0] for pair in pairs)
    unknown = statistics.median(pair[1] for pair in pairs)
    assert 0.7 < known / unknown < 1.4


def test_passwords_are_hashed_with_bcrypt_of_cost_12(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    assert passwords.COST == 12


@pytest.mark.anyio
async def test_hashing_has_a_queue_with_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "WAITING_MAX", 3)
    hashing = passwords.Passwords(cost=8)

    done = await asyncio.gather(*(hashing.hash(PASSWORD) for _ in range(10)), return_exceptions=True)

    refused = [each for each in done if isinstance(each, Unavailable)]
    assert len(refused) == 7
    assert {each.code for each in refused} == {"BUSY"}
    assert (await hashing.hash(PASSWORD)).startswith("$2b$08$")
    hashing.close()


@pytest.mark.anyio
async def test_a_hash_says_its_cost_and_verifies() -> None:
    hashing = passwords.Passwords(cost=12)

    kept = await hashing.hash(PASSWORD)

    assert kept.startswith("$2b$12$")
    assert await hashing.verify(PASSWORD, kept)
    assert not await hashing.verify("wrong", kept)
    assert not await hashing.verify(PASSWORD, None)
    hashing.close()
