"""Receiving on a real port while the store lags, throttles, conflicts and cuts pages."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.accounts.conftest import Install
from tests.accounts.test_chaos import UNKIND, insist

EVENTS = 40


def test_what_was_answered_is_there_once_and_what_was_not_can_be_sent_again(install: Install) -> None:
    here = install(chaos=f"{UNKIND},seed=11")
    owner = here.browser()
    who = {"email": "a@example.com", "password": "correct horse battery", "name": "Ada"}
    assert insist(owner.post, "/accounts/signup", json=who).status_code == 201
    made = insist(owner.post, "/hooks/sources", json={"name": "s", "provider": "github"})
    assert made.status_code == 201, made.text
    id_ = made.json()["sourceId"]

    def send(number: int) -> str:
        with httpx.Client(base_url=here.url, timeout=30) as sender:
            headers = {"x-github-delivery": f"d{number}"}
            answer = insist(sender.post, f"/in/{id_}", headers=headers)
            again = insist(sender.post, f"/in/{id_}", headers=headers)
        # A busy answer may hide that it was taken; the sender then learns the same id as a repeat.
        assert answer.status_code in (200, 202), answer.text
        assert (again.status_code, again.json()["id"]) == (200, answer.json()["id"])
        event_id: str = answer.json()["id"]
        return event_id

    with ThreadPoolExecutor(6) as pool:
        sent = list(pool.map(send, range(EVENTS)))
    assert len(set(sent)) == EVENTS
    assert sorted(listed(owner, f"/hooks/sources/{id_}/events")) == sorted(sent)


def listed(owner: httpx.Client, path: str) -> list[str]:
    """All event ids, read until a moment has passed in which reads may be stale."""
    for _ in range(20):
        found: list[str] = []
        cursor: str | None = None
        while True:
            page = insist(
                owner.get, path, params={"limit": 100, **({"cursor": cursor} if cursor else {})}
            ).json()
            found += [line["eventId"] for line in page["events"]]
            cursor = page.get("next_cursor")
            if cursor is None:
                break
        if len(found) >= EVENTS:
            return found
    return found
