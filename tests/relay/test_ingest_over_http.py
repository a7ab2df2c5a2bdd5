"""Receiving on a real port: what is taken, what is refused, and what is kept of it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec
import pytest

from tests.accounts.conftest import Install, Installation

PUBLIC_URL = "https://hooks.example.com"


@pytest.fixture(scope="module")
def installation(install: Install) -> Installation:
    return install(public_url=PUBLIC_URL, trusted_proxies="127.0.0.1/32")


@pytest.fixture(scope="module")
def owner(installation: Installation) -> httpx.Client:
    # Browsers send cookies back to https only, and the test's port is none; a key needs no cookie.
    return keyed(installation)


def keyed(installation: Installation) -> httpx.Client:
    """A program of somebody who has just signed up."""
    person = installation.browser()
    email = f"p{id(person)}@example.com"
    answer = person.post(
        "/accounts/signup", json={"email": email, "password": "correct horse battery", "name": "Ada"}
    )
    assert answer.status_code == 201, answer.text
    cookies = "; ".join(value.partition(";")[0] for value in answer.headers.get_list("set-cookie"))
    made = person.post(
        "/accounts/keys",
        json={"name": "test", "permissions": "admin"},
        headers={"cookie": cookies, "origin": PUBLIC_URL},
    )
    assert made.status_code == 201, made.text
    return installation.program(made.json()["apiKey"])


@pytest.fixture
def sender(installation: Installation) -> httpx.Client:
    return installation.browser()


def source(owner: httpx.Client, **fields: Any) -> str:
    answer = owner.post("/hooks/sources", json={"name": "test", **fields})
    assert answer.status_code == 201, answer.text
    source_id: str = answer.json()["sourceId"]
    assert answer.json()["url"] == f"{PUBLIC_URL}/in/{source_id}"
    return source_id


def event(owner: httpx.Client, event_id: str) -> dict[str, Any]:
    answer = owner.get(f"/hooks/events/{event_id}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def sha256(secret: str, body: bytes) -> bytes:
    return hmac.new(secret.encode(), body, "sha256").digest()


def test_an_event_is_answered_202_and_is_there_with_all_it_held(
    owner: httpx.Client, sender: httpx.Client
) -> None:
    id_ = source(owner)
    answer = sender.put(
        f"/in/{id_}/a/b?x=1&y=%20",
        content=b'{"n": 1}',
        headers={
            "content-type": "application/json",
            "authorization": "Bearer hunter2",
            "cookie": "s=hunter2",
            "x-kind": "push",
            "x-forwarded-for": "203.0.113.9",
        },
    )
    assert answer.status_code == 202
    assert answer.json() == {"id": answer.json()["id"], "status": "received"}
    found = event(owner, answer.json()["id"])
    assert found["body"] == '{"n": 1}'
    assert (found["method"], found["path"], found["query"]) == ("PUT", "a/b", "x=1&y=%20")
    assert (found["contentType"], found["sourceIp"]) == ("application/json", "203.0.113.9")
    assert found["headers"]["authorization"] == found["headers"]["cookie"] == "***"
    assert found["headers"]["x-kind"] == "push"
    assert found["status"] == "received"
    assert found["deliveries"] == found["attempts"] == []
    assert found["expiresAt"] == found["receivedAt"] // 1000 + 90 * 86_400
    assert "hunter2" not in str(found)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET"])
def test_every_method_is_taken(owner: httpx.Client, sender: httpx.Client, method: str) -> None:
    answer = sender.request(method, f"/in/{source(owner)}")
    assert answer.status_code == 202
    assert event(owner, answer.json()["id"])["method"] == method
    owner.delete(f"/hooks/sources/{event(owner, answer.json()['id'])['sourceId']}")


def test_a_body_that_is_no_utf_8_is_kept_exactly(owner: httpx.Client, sender: httpx.Client) -> None:
    raw = bytes(range(256))
    answer = sender.post(f"/in/{source(owner)}", content=raw)
    assert base64.b64decode(event(owner, answer.json()["id"])["bodyBytes"]) == raw


def test_the_largest_body_is_taken_and_one_byte_more_is_413(
    owner: httpx.Client, sender: httpx.Client
) -> None:
    id_ = source(owner)
    largest = b"a" * (256 * 1024)
    answer = sender.post(f"/in/{id_}", content=largest)
    assert answer.status_code == 202
    assert event(owner, answer.json()["id"])["body"] == largest.decode()
    assert sender.post(f"/in/{id_}", content=largest + b"a").status_code == 413
    chunks = sender.post(f"/in/{id_}", content=(b"a" * 1024 for _ in range(257)))
    assert chunks.status_code == 413


def test_a_sender_that_leaves_in_the_middle_has_sent_nothing(
    installation: Installation, owner: httpx.Client, sender: httpx.Client
) -> None:
    id_ = source(owner)
    address = urlsplit(installation.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        head = f"POST /in/{id_} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
        connection.sendall(head.encode() + b"half")
        connection.shutdown(socket.SHUT_WR)
        # The server closes when it has seen the end.
        while connection.recv(4096):
            pass
    whole = sender.post(f"/in/{id_}", content=b"whole").json()["id"]
    listed = owner.get(f"/hooks/sources/{id_}/events").json()["events"]
    assert [line["eventId"] for line in listed] == [whole]


def test_unknown_and_deleted_sources_are_404(owner: httpx.Client, sender: httpx.Client) -> None:
    id_ = source(owner)
    assert sender.post(f"/in/{id_}").status_code == 202
    assert owner.delete(f"/hooks/sources/{id_}").status_code == 204
    for path in (f"/in/{id_}", "/in/src_0123456789abcdef", "/in/x", "/in/", "/in/src_0123456789abcde%23"):
        answer = sender.post(path)
        assert (answer.status_code, answer.json()["error"]) == (404, "SOURCE_NOT_FOUND"), path
    assert sender.options("/in/x").status_code == 405


def test_a_wrong_signature_is_401_kept_as_a_rejection_and_uses_up_no_delivery_id(
    installation: Installation, owner: httpx.Client, sender: httpx.Client
) -> None:
    id_ = source(owner, provider="github", signingSecret="s3cret")
    body = b'{"zen": 1}'
    headers = {"x-github-delivery": "d-1", "x-hub-signature-256": "sha256=00", "authorization": "hunter2"}
    answer = sender.post(f"/in/{id_}", content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (401, "SIGNATURE_INVALID")
    (kept,) = owner.get(f"/hooks/sources/{id_}/rejections").json()["rejections"]
    assert (kept["cause"], kept["headers"]["authorization"]) == ("signature_mismatch", "***")
    headers["x-hub-signature-256"] = "sha256=" + sha256("s3cret", body).hex()
    taken = sender.post(f"/in/{id_}", content=body, headers=headers)
    assert taken.status_code == 202
    listed = owner.get(f"/hooks/sources/{id_}/events", params={"deliveryId": "d-1"}).json()["events"]
    assert [line["eventId"] for line in listed] == [taken.json()["id"]]
    assert owner.get(f"/hooks/sources/{id_}/events", params={"deliveryId": "d-2"}).json()["events"] == []


def test_a_repeat_of_a_delivery_id_answers_200_with_the_first_event(
    owner: httpx.Client, sender: httpx.Client
) -> None:
    for fields, headers, body in (
        ({"provider": "github"}, {"x-github-delivery": "one"}, {}),
        ({"provider": "shopify"}, {"x-shopify-webhook-id": "two"}, {}),
        ({"provider": "standard"}, {"webhook-id": "three"}, {}),
        ({"provider": "stripe"}, {}, {"id": "evt_4"}),
        ({"provider": "custom", "dedupePath": "$.data.no"}, {}, {"data": {"no": 5}}),
        ({"provider": "custom", "dedupePath": "$headers.x-id"}, {"x-id": "long#" * 200}, {}),
    ):
        id_ = source(owner, **fields)
        first = sender.post(f"/in/{id_}", json=body, headers=headers)
        again = sender.post(f"/in/{id_}", json=body, headers=headers)
        assert (first.status_code, again.status_code) == (202, 200), fields
        assert again.json() == {"id": first.json()["id"], "status": "received", "duplicate": True}
        assert len(owner.get(f"/hooks/sources/{id_}/events").json()["events"]) == 1
        owner.delete(f"/hooks/sources/{id_}")


def test_of_many_repeats_at_once_exactly_one_is_an_event(
    installation: Installation, owner: httpx.Client
) -> None:
    id_ = source(owner, provider="github")

    def post(number: int) -> tuple[int, str]:
        with httpx.Client(base_url=installation.url, timeout=20) as client:
            answer = client.post(f"/in/{id_}", headers={"x-github-delivery": f"d{number % 3}"})
        return answer.status_code, answer.json()["id"]

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(post, range(60)))
    assert sorted(status for status, _ in answers) == [200] * 57 + [202] * 3
    assert len({event_id for _, event_id in answers}) == 3
    assert len(owner.get(f"/hooks/sources/{id_}/events").json()["events"]) == 3


def test_slack_is_answered_its_challenge_only_when_it_signs(
    installation: Installation, owner: httpx.Client, sender: httpx.Client
) -> None:
    id_ = source(owner, provider="slack", signingSecret="s")
    body = b'{"type":"url_verification","challenge":"abc"}'
    stamp = str(installation.clock.epoch_seconds())
    signature = "v0=" + sha256("s", f"v0:{stamp}:".encode() + body).hex()
    headers = {"x-slack-request-timestamp": stamp, "x-slack-signature": signature}
    answer = sender.post(f"/in/{id_}", content=body, headers=headers)
    assert (answer.status_code, answer.json()) == (200, {"challenge": "abc"})
    assert sender.post(f"/in/{id_}", content=body).status_code == 401
    assert owner.get(f"/hooks/sources/{id_}/events").json()["events"] == []


def test_a_hub_is_answered_its_challenge(owner: httpx.Client, sender: httpx.Client) -> None:
    answer = sender.get(f"/in/{source(owner)}", params={"hub.mode": "subscribe", "hub.challenge": "<b>7"})
    assert (answer.status_code, answer.text) == (200, "<b>7")
    assert answer.headers["content-type"].startswith("text/plain")


def test_twilio_signs_the_public_address(owner: httpx.Client, sender: httpx.Client) -> None:
    id_ = source(owner, provider="twilio", signingSecret="token")
    signed = f"{PUBLIC_URL}/in/{id_}/sms?a=1" + "BodyhiFrom+1"
    signature = base64.b64encode(hmac.new(b"token", signed.encode(), hashlib.sha1).digest()).decode()
    answer = sender.post(
        f"/in/{id_}/sms?a=1",
        data={"From": "+1", "Body": "hi"},
        headers={"x-twilio-signature": signature},
    )
    assert answer.status_code == 202


def test_a_source_answers_in_words_of_its_own(owner: httpx.Client, sender: httpx.Client) -> None:
    own = {"status": 200, "contentType": "text/xml", "body": "<Response/>"}
    id_ = source(owner, answer=own)
    answer = sender.post(f"/in/{id_}", content=b"x")
    assert (answer.status_code, answer.text) == (200, "<Response/>")
    assert answer.headers["content-type"] == "text/xml"
    assert len(owner.get(f"/hooks/sources/{id_}/events").json()["events"]) == 1


def test_a_paused_source_takes_events(owner: httpx.Client, sender: httpx.Client) -> None:
    id_ = source(owner)
    assert owner.patch(f"/hooks/sources/{id_}", json={"status": "paused"}).json()["status"] == "paused"
    answer = sender.post(f"/in/{id_}", content=b"x")
    assert answer.status_code == 202
    assert event(owner, answer.json()["id"])["status"] == "received"
    assert owner.patch(f"/hooks/sources/{id_}", json={"status": "active"}).json()["status"] == "active"


def test_events_are_listed_newest_first_in_pages_by_time_and_state(
    owner: httpx.Client, sender: httpx.Client
) -> None:
    id_ = source(owner)
    sent = [sender.post(f"/in/{id_}", content=str(n).encode()).json()["id"] for n in range(5)]
    seen: list[str] = []
    cursor = None
    for _ in range(3):
        params = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = owner.get(f"/hooks/sources/{id_}/events", params=params).json()
        seen += [line["eventId"] for line in page["events"]]
        cursor = page.get("next_cursor")
    assert cursor is None
    # Those of one millisecond have no order among them.
    assert sorted(seen) == sorted(sent)
    times = [event(owner, event_id)["receivedAt"] for event_id in seen]
    assert times == sorted(times, reverse=True)
    listed = f"/hooks/sources/{id_}/events"
    assert len(owner.get(listed, params={"status": "received"}).json()["events"]) == 5
    assert owner.get(listed, params={"status": "failed"}).json()["events"] == []
    assert owner.get(listed, params={"to": times[-1] - 1}).json()["events"] == []
    assert len(owner.get(listed, params={"from": times[-1], "to": times[0]}).json()["events"]) == 5
    assert owner.get(listed, params={"from": "2199-01-01T00:00:00Z"}).json()["events"] == []
    for wrong in (
        {"from": "yesterday"},
        {"from": 9, "to": 8},
        {"limit": 101},
        {"cursor": "x"},
        {"status": "lost"},
    ):
        assert owner.get(listed, params=wrong).status_code == 400, wrong


def test_an_erased_event_keeps_its_row(owner: httpx.Client, sender: httpx.Client) -> None:
    answer = sender.post(f"/in/{source(owner)}?token=hunter2", content=b"hunter2", headers={"x-a": "hunter2"})
    event_id = answer.json()["id"]
    assert owner.delete(f"/hooks/events/{event_id}").status_code == 204
    found = event(owner, event_id)
    assert (found["body"], found["headers"], found["sourceIp"]) == ("", {}, "")
    assert found["erasedAt"] >= found["receivedAt"]
    assert "hunter2" not in msgspec.json.encode(found).decode()


def test_events_of_others_are_not_found(
    installation: Installation, owner: httpx.Client, sender: httpx.Client
) -> None:
    id_ = source(owner)
    event_id = sender.post(f"/in/{id_}", content=b"x").json()["id"]
    other = keyed(installation)
    for path in (
        f"/hooks/sources/{id_}",
        f"/hooks/sources/{id_}/events",
        f"/hooks/sources/{id_}/rejections",
        f"/hooks/sources/{id_}/connections",
        f"/hooks/events/{event_id}",
        f"/hooks/events/{event_id}/attempts",
    ):
        assert other.get(path).status_code == 404, path
        assert sender.get(path).status_code == 401, path
    assert other.delete(f"/hooks/events/{event_id}").status_code == 404
    assert owner.get(f"/hooks/events/{event_id}/attempts").json() == {"attempts": []}
