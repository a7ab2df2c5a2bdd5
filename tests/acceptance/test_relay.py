"""The relay as its users meet it: a real installation, a real destination, a laptop that listens."""

from __future__ import annotations

import http.server
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from standardwebhooks.webhooks import Webhook

from tests.acceptance.process import environment, started

WHO = {"email": "ada@example.com", "name": "Ada", "password": "correct horse battery"}
SECONDS_MAX = 20


class Destination:
    """A server that hands over what it was sent."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: queue.Queue[tuple[dict[str, str], bytes]] = queue.Queue()


@contextmanager
def destination() -> Iterator[Destination]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            made.requests.put(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any, **__: Any) -> None:
            """Nothing is said."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Destination(f"http://127.0.0.1:{server.server_address[1]}/hook")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()


def until(found: Callable[[], bool]) -> None:
    """Ask again until it is so; each question is a request that takes its time."""
    deadline = time.monotonic() + SECONDS_MAX
    while not found():
        assert time.monotonic() < deadline, "it never was so"


def test_an_event_goes_out_is_replayed_followed_and_reported(tmp_path: Path) -> None:
    with (
        destination() as shop,
        destination() as laptop,
        started(
            "up",
            "--port",
            "0",
            directory=tmp_path,
            signup="open",
            relay_allow_http="true",
            relay_allow_networks="127.0.0.0/8",
            # Nobody reads the log here, and a full pipe would stop the server.
            log_level="warning",
        ) as up,
        httpx.Client(base_url=up.url, timeout=SECONDS_MAX) as person,
    ):
        person.post("/accounts/signup", json=WHO).raise_for_status()
        body = {"name": "laptop", "permissions": "write"}
        key = person.post("/accounts/keys", json=body).json()["apiKey"]
        caller = httpx.Client(
            base_url=up.url, timeout=SECONDS_MAX, headers={"Authorization": f"Bearer {key}"}
        )
        source = caller.post("/hooks/sources", json={"name": "Shop"}).json()
        path = f"/hooks/sources/{source['sourceId']}"
        connected = caller.post(f"{path}/connections", json={"name": "crm", "destinationUrl": shop.url})
        secret = connected.json()["signingSecret"]

        listen = [sys.executable, "-m", "entrepot", "listen", "--url", up.url, "--source", source["sourceId"]]
        with started(
            directory=tmp_path,
            last_line="Listening",
            program=[*listen, "--to", laptop.url],
            more={**environment(), "ENTREPOT_KEY": key},
        ):
            taken = httpx.post(f"{up.url}/in/{source['sourceId']}", json={"paid": 5}, timeout=SECONDS_MAX)
            assert taken.status_code == 202
            event_id = taken.json()["id"]
            headers, sent = shop.requests.get(timeout=SECONDS_MAX)
            assert Webhook(secret).verify(sent, headers) == {"paid": 5}
            headers, sent = laptop.requests.get(timeout=SECONDS_MAX)
            assert (headers["webhook-id"], sent) == (event_id, b'{"paid":5}')

        until(lambda: caller.get(f"/hooks/events/{event_id}").json()["status"] == "delivered")
        replayed = caller.post(f"/hooks/events/{event_id}/replay", json={})
        assert (replayed.status_code, replayed.json()["run"]) == (202, 2)
        assert shop.requests.get(timeout=SECONDS_MAX)[0]["webhook-id"] == event_id

        until(lambda: caller.get(f"/hooks/events/{event_id}").json()["status"] == "delivered")
        job = caller.post("/hooks/replays", json={"sourceId": source["sourceId"], "status": "delivered"})
        assert job.status_code == 202
        assert shop.requests.get(timeout=SECONDS_MAX)[0]["webhook-id"] == event_id
        progress = f"/hooks/replays/{job.json()['id']}"
        until(lambda: caller.get(progress).json()["status"] == "done")
        assert caller.get(progress).json()["done"] == 1
        assert caller.delete(progress).status_code == 204

        tried = caller.post(f"/hooks/connections/{connected.json()['connectionId']}/test").json()
        assert (tried["statusCode"], tried["error"]) == (200, None)
        headers, sent = shop.requests.get(timeout=SECONDS_MAX)
        Webhook(secret).verify(sent, headers)

        until(lambda: caller.get("/hooks/analytics").json()["totals"]["delivered"] == 3)
        assert caller.get("/hooks/analytics", params={"period": "7d"}).json()["usage"]["plan"] == "team"
        assert caller.get("/hooks/analytics", params={"period": "9y"}).status_code == 400
        assert caller.get("/hooks/replays/job_nothing").status_code == 404
        assert caller.get("/hooks/sources/src_0000000000000000/tail").status_code == 404
        caller.close()
