"""What whoever runs the process asks it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx
import pytest

Serve = Callable[..., httpx.Client]


class Disk:
    """A part that can be told to fail."""

    name = "disk"

    def __init__(self, events: list[str] | None = None, name: str = "disk") -> None:
        self.name = name
        self.error: Exception | None = None
        self.stuck = False
        self.events = events if events is not None else []

    async def start(self) -> None:
        self.events.append(f"start {self.name}")

    async def check(self) -> None:
        if self.stuck:
            await asyncio.Event().wait()
        if self.error:
            raise self.error

    async def stop(self) -> None:
        self.events.append(f"stop {self.name}")


def test_ready_asks_every_part_and_names_the_one_that_is_down(serve: Serve) -> None:
    good, bad = Disk(name="good"), Disk(name="bad")
    client = serve(parts=[good, bad])
    assert client.get("/readyz").json() == {"status": "ready", "parts": {"good": "ok", "bad": "ok"}}

    bad.error = OSError("the secret path is gone")
    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.headers["retry-after"] == "1"
    body = response.json()
    assert body["error"] == "NOT_READY"
    assert body["message"].startswith("bad: ")
    assert body["parts"]["good"] == "ok"
    assert "secret path" not in response.text
    assert client.get("/healthz").json() == {"status": "alive"}

    bad.error = None
    assert client.get("/readyz").status_code == 200


def test_ready_does_not_wait_for_a_part_that_hangs(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entrepot.web.parts.CHECK_SECONDS_MAX", 0.1)
    disk = Disk()
    client = serve(parts=[disk])
    disk.stuck = True

    response = client.get("/readyz")

    assert response.status_code == 503
    assert "no answer within" in response.json()["message"]


def test_metrics_count_requests_by_route_and_not_by_path(client: httpx.Client) -> None:
    client.get("/docs/assets/start.js")
    client.get("/nowhere/12345")
    client.post("/lane/below/12345")

    text = client.get("/metrics").text

    assert 'entrepot_http_requests_total{method="GET",route="/docs/assets/{name}",status="200"}' in text
    assert 'entrepot_http_requests_total{method="GET",route="none",status="404"}' in text
    assert 'entrepot_http_requests_total{method="POST",route="/lane/below/",status="202"}' in text
    assert "process_resident_memory_bytes" in text
    assert "12345" not in text


def test_metrics_are_for_this_machine_and_for_the_operator(client: httpx.Client) -> None:
    through_proxy = {"x-forwarded-for": "203.0.113.9"}
    rebound = {"host": "attacker.example"}

    assert client.get("/metrics").status_code == 200
    assert client.get("/metrics", headers=through_proxy).status_code == 401
    assert client.get("/metrics", headers=rebound).status_code == 401
    assert (
        client.get("/metrics", headers={**through_proxy, "authorization": "Bearer person"}).status_code == 403
    )
    assert (
        client.get("/metrics", headers={**through_proxy, "authorization": "Bearer operator"}).status_code
        == 200
    )


def test_the_description_names_routes_problems_and_who_may_call(client: httpx.Client) -> None:
    schema = client.get("/openapi.json").json()

    assert schema["openapi"].startswith("3.")
    assert {"/healthz", "/readyz", "/metrics", "/things"} <= set(schema["paths"])
    assert not any(path.startswith("/docs") for path in schema["paths"])
    make = schema["paths"]["/things"]["post"]
    assert make["responses"]["default"] == {"$ref": "#/components/responses/Problem"}
    assert "400" not in make["responses"]
    assert "security" not in make
    assert schema["paths"]["/who/reader"]["get"]["security"] == [{"bearer": []}, {"session": []}]


def test_the_docs_page_loads_nothing_from_elsewhere(client: httpx.Client) -> None:
    page = client.get("/docs")

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "://" not in page.text
    assert "http" not in page.headers["content-security-policy"]
    for name in ("swagger-ui-bundle.js", "swagger-ui.css", "start.js"):
        assert f"/docs/assets/{name}" in page.text
        assert client.get(f"/docs/assets/{name}").status_code == 200


def test_an_asset_is_packed_and_not_sent_twice(client: httpx.Client) -> None:
    first = client.get("/docs/assets/swagger-ui-bundle.js")

    assert first.headers["content-type"].startswith("text/javascript")
    assert first.headers["content-encoding"] == "gzip"
    assert first.headers["vary"] == "Accept-Encoding"
    plain = client.get("/docs/assets/swagger-ui-bundle.js", headers={"accept-encoding": "identity"})
    assert plain.content == first.content
    again = client.get("/docs/assets/swagger-ui-bundle.js", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""


@pytest.mark.parametrize("name", ["..%2fdescription.py", ".hidden", "%2e%2e", "nothing.js"])
def test_nothing_but_assets_can_be_read(client: httpx.Client, name: str) -> None:
    assert client.get(f"/docs/assets/{name}").status_code == 404
