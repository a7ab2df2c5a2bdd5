"""Sources, connections, plans and billing on a real port."""

from __future__ import annotations

import hmac
from typing import Any

import httpx
import pytest

from tests.accounts.conftest import Install, Installation

STRIPE_SECRET = "whsec_billing"
DESTINATION = "https://192.0.78.9/hook"


@pytest.fixture(scope="module")
def installation(install: Install) -> Installation:
    return install(relay_stripe_secret=STRIPE_SECRET)


@pytest.fixture
def owner(installation: Installation) -> httpx.Client:
    return installation.person()


def source(owner: httpx.Client, **fields: Any) -> str:
    answer = owner.post("/hooks/sources", json={"name": "test", **fields})
    assert answer.status_code == 201, answer.text
    source_id: str = answer.json()["sourceId"]
    return source_id


def connection(owner: httpx.Client, **fields: Any) -> dict[str, Any]:
    body = {"name": "there", "destinationUrl": DESTINATION, **fields}
    answer = owner.post(f"/hooks/sources/{source(owner)}/connections", json=body)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_source_is_made_listed_changed_and_deleted(owner: httpx.Client) -> None:
    id_ = source(
        owner, provider="custom", signingSecret="hunter2", signatureHeader="X-S", signaturePrefix="v1="
    )
    shown = owner.get(f"/hooks/sources/{id_}").json()
    assert (shown["hasSigningSecret"], shown["signatureHeader"], shown["eventCount"]) == (True, "X-S", 0)
    assert "hunter2" not in str(shown)
    changed = owner.patch(f"/hooks/sources/{id_}", json={"name": "other", "signingSecret": None}).json()
    assert (changed["name"], changed["hasSigningSecret"], changed["signatureHeader"]) == (
        "other",
        False,
        "X-S",
    )
    listed = owner.get("/hooks/sources").json()["sources"]
    assert [entry["sourceId"] for entry in listed] == [id_]
    assert owner.delete(f"/hooks/sources/{id_}").status_code == 204
    assert owner.get("/hooks/sources").json()["sources"] == []
    for answer in (
        owner.get(f"/hooks/sources/{id_}"),
        owner.patch(f"/hooks/sources/{id_}", json={"status": "active"}),
        owner.delete(f"/hooks/sources/{id_}"),
    ):
        assert (answer.status_code, answer.json()["error"]) == (404, "SOURCE_NOT_FOUND")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"provider": "custom"}, "name"),
        ({"name": "x", "provider": "entrepot"}, "provider"),
        ({"name": "x", "dedupePath": "id"}, "dedupePath"),
        ({"name": "x", "answer": {"status": 500}}, "answer.status"),
        ({"name": "x", "answer": {"contentType": "a\r\nb: c"}}, "answer.contentType"),
        ({"name": "x", "signatureHeader": "a b"}, "signatureHeader"),
        ({"name": "x", "status": "paused"}, "status"),
    ],
)
def test_a_wrong_source_is_400_with_its_field(owner: httpx.Client, body: Any, field: str) -> None:
    answer = owner.post("/hooks/sources", json=body)
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_a_connection_shows_its_secret_once_and_its_headers_never(owner: httpx.Client) -> None:
    filters = [{"path": "$.type", "operator": "equals", "value": "paid"}]
    made = connection(
        owner,
        filters=filters,
        transform={"type": "jmespath", "expression": "id"},
        retryConfig={"delays": [0, 5], "timeoutSeconds": 3},
        headers={"Authorization": "Bearer hunter2"},
        rateLimit={"perSecond": 2},
    )
    assert made["signingSecret"].startswith("whsec_")
    shown = owner.get(f"/hooks/connections/{made['connectionId']}").json()
    assert "signingSecret" not in shown
    assert shown["headers"] == {"authorization": "***"}
    assert (shown["filters"], shown["rateLimit"]) == (filters, {"perSecond": 2})
    assert shown["retryConfig"] == {"delays": [0, 5], "timeoutSeconds": 3}
    (listed,) = owner.get(f"/hooks/sources/{made['sourceId']}/connections").json()["connections"]
    assert listed == shown


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"destinationUrl": "http://example.com/"}, "destinationUrl"),
        ({"destinationUrl": "https://127.0.0.1/"}, "destinationUrl"),
        ({"filters": [{"path": "$.a", "operator": "like", "value": 1}]}, "filters[0].operator"),
        ({"transform": {"type": "xslt"}}, "transform.type"),
        ({"retryConfig": {"delays": [-1]}}, "retryConfig"),
        ({"retryConfig": {"often": True}}, "retryConfig.often"),
        ({"headers": {"Host": "x"}}, "headers.Host"),
        ({"headers": {"X-A": "a\r\nb"}}, "headers.X-A"),
        ({"rateLimit": {"perSecond": 0}}, "rateLimit.perSecond"),
    ],
)
def test_a_wrong_connection_is_400_with_its_field(owner: httpx.Client, fields: Any, field: str) -> None:
    path = f"/hooks/sources/{source(owner)}/connections"
    answer = owner.post(path, json={"name": "x", "destinationUrl": DESTINATION, **fields})
    assert answer.status_code == 400, answer.text
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_a_connection_is_paused_resumed_and_deleted(owner: httpx.Client) -> None:
    path = f"/hooks/connections/{connection(owner)['connectionId']}"
    assert owner.patch(path, json={"status": "paused", "name": "new"}).json()["status"] == "paused"
    resumed = owner.patch(path, json={"status": "active"}).json()
    assert (resumed["status"], resumed["name"]) == ("active", "new")
    assert owner.patch(path, json={"status": "deleted"}).status_code == 400
    assert owner.delete(path).status_code == 204
    assert owner.get(path).status_code == 404


def test_a_rotated_secret_is_new_and_the_old_one_lasts_a_day(
    installation: Installation, owner: httpx.Client
) -> None:
    made = connection(owner)
    rotated = owner.post(f"/hooks/connections/{made['connectionId']}/rotate-secret").json()
    assert rotated["signingSecret"] not in (None, made["signingSecret"])
    assert 86_390 <= rotated["previousSecretUntil"] - installation.clock.epoch_seconds() <= 86_400


def test_a_dry_run_says_why_and_what_would_be_sent(installation: Installation, owner: httpx.Client) -> None:
    rule = {"path": "$.n", "operator": "gt", "value": 3}
    made = connection(owner, filters=[rule], transform={"type": "template", "template": {"got": "$.n"}})
    path = f"/hooks/connections/{made['connectionId']}/dry-run"
    tried = owner.post(path, json={"body": {"n": 5}})
    assert tried.json() == {
        "passes": True,
        "rules": [{"rule": rule, "passed": True, "found": 5}],
        "output": {"got": 5},
    }
    answer = installation.browser().post(f"/in/{made['sourceId']}", json={"n": 2})
    tried = owner.post(path, json={"eventId": answer.json()["id"]})
    assert (tried.json()["passes"], tried.json()["output"]) == (False, {"got": 2})
    assert owner.post(path, json={}).status_code == 400
    assert owner.post(path, json={"eventId": "evt_0123456789abcdef"}).status_code == 404
    broken = connection(owner, transform={"type": "jmespath", "expression": "abs(n)"})
    tried = owner.post(f"/hooks/connections/{broken['connectionId']}/dry-run", json={"body": {"n": "x"}})
    assert tried.json()["output"] is None
    assert "failed" in tried.json()["error"]


def test_connections_of_others_are_not_found(installation: Installation, owner: httpx.Client) -> None:
    made = connection(owner)
    other = installation.person()
    path = f"/hooks/connections/{made['connectionId']}"
    assert other.get(path).status_code == 404
    assert other.patch(path, json={"name": "mine"}).status_code == 404
    assert other.delete(path).status_code == 404
    assert other.post(f"{path}/rotate-secret").status_code == 404
    assert other.post(f"{path}/dry-run", json={"body": 1}).status_code == 404
    new = {"name": "x", "destinationUrl": DESTINATION}
    assert other.post(f"/hooks/sources/{made['sourceId']}/connections", json=new).status_code == 404


# -- plans


def test_a_plan_bounds_sources_connections_and_requests(install: Install) -> None:
    installation = install(relay_plan="free")
    owner = installation.person()
    ids = [source(owner) for _ in range(3)]
    refused = owner.post("/hooks/sources", json={"name": "one more"})
    assert (refused.status_code, refused.json()["error"]) == (403, "PLAN_LIMIT_REACHED")
    new = {"name": "x", "destinationUrl": DESTINATION}
    path = f"/hooks/sources/{ids[0]}/connections"
    assert [owner.post(path, json=new).status_code for _ in range(3)] == [201, 201, 403]
    owner.delete(f"/hooks/sources/{ids[2]}")
    assert owner.post("/hooks/sources", json={"name": "in its place"}).status_code == 201
    sender = installation.browser()
    # The minute may turn on the way, once.
    statuses = [sender.post(f"/in/{ids[1]}").status_code for _ in range(205)]
    assert set(statuses) == {202, 429}
    event_id = owner.get(f"/hooks/sources/{ids[1]}/events").json()["events"][0]["eventId"]
    event = owner.get(f"/hooks/events/{event_id}").json()
    assert event["expiresAt"] == event["receivedAt"] // 1000 + 86_400


# -- billing


def stripe(installation: Installation, body: bytes, *, secret: str = STRIPE_SECRET) -> httpx.Response:
    stamp = installation.clock.epoch_seconds()
    signature = hmac.new(secret.encode(), f"{stamp}.".encode() + body, "sha256").hexdigest()
    headers = {"stripe-signature": f"t={stamp},v1={signature}", "content-type": "application/json"}
    return installation.browser().post("/hooks/billing/stripe", content=body, headers=headers)


def test_billing_takes_only_what_stripe_signed(installation: Installation) -> None:
    body = b'{"type":"invoice.paid","data":{"object":{}}}'
    assert stripe(installation, body).json() == {"received": True, "changed": False}
    assert stripe(installation, body, secret="other").status_code == 401
    assert stripe(installation, b'{"type":"customer.subscription.updated"}').status_code == 400
    unknown = b'{"type":"customer.subscription.updated","data":{"object":{"id":"s","customer":"c","status":"active"}}}'
    assert stripe(installation, unknown).json() == {"received": True, "changed": False}


def test_billing_is_off_without_a_secret(install: Install) -> None:
    answer = stripe(install(), b"{}")
    assert (answer.status_code, answer.json()["error"]) == (404, "BILLING_OFF")
