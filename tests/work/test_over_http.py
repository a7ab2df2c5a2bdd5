"""Jobs and Idempotency-Key on a real port."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import msgspec
import pytest
import uvicorn
from litestar import Response, Router, delete, post
from litestar.datastructures import Cookie
from litestar.params import JSONBody

from entrepot.app import StorePart
from entrepot.cli.server import listening_socket, server_config, url_of
from entrepot.engine import Engine
from entrepot.http.caller import ANONYMOUS, Caller, Connection, anyone, bearer, writer
from entrepot.http.idempotency import idempotent
from entrepot.http.jobs import job_routes
from entrepot.http.problems import Conflict
from entrepot.settings import Core
from entrepot.tables import Database, Store
from entrepot.web.application import assemble
from entrepot.web.edge import Limits
from entrepot.web.metrics import Metrics
from entrepot.work import Job, Lease, Step, Work, Worker, WorkMetrics
from entrepot.work.model import work as work_table

PATIENCE_SECONDS = 10
CALLERS = {
    "ann": Caller(kind="person", user_id="usr_ann", permission="admin"),
    "bob": Caller(kind="person", user_id="usr_bob", permission="admin"),
    "key": Caller(kind="key", user_id="usr_ann", key_id="key_1", permission="read"),
}


class Thing(msgspec.Struct):
    name: str


class Server:
    """An application whose routes count how often they were really called."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.gate = threading.Event()
        self.entered = threading.Event()
        metrics = Metrics()
        store = StorePart(_open, tables=[work_table])
        self.work = Work(Database(store), metrics=WorkMetrics(metrics.registry))
        self.work.jobs.handle("test.job", self.step)
        routes = Router(
            path="/",
            route_handlers=[*self.routes(), *job_routes(self.work)],
            middleware=[idempotent(self.work.idempotency)],
        )
        self.application = assemble(
            parts=[store, Worker(self.work)],
            limits=Limits(body_bytes_max=100_000, header_bytes_max=8192, timeout_seconds=30),
            authenticator=_caller,
            log_key=b"k",
            metrics=metrics,
            routes=[routes],
        )

    async def step(self, job: Job, lease: Lease) -> Step:
        await asyncio.to_thread(self.gate.wait, PATIENCE_SECONDS)
        at = (job.cursor or 0) + 1
        return Step(cursor=at, done=1, total=3, finished=at == 3)

    def routes(self) -> list[Any]:
        made = self.made

        @post("/things", guards=[writer], opt={"shown_once": ("secret", "inner.secret")})
        async def make(data: JSONBody[Thing]) -> Response[dict[str, Any]]:
            made[data.name] += 1
            if data.name == "broken" and made[data.name] == 1:
                raise RuntimeError("the first time only")
            if data.name == "taken" and made[data.name] == 1:
                raise Conflict("The name is taken.")
            if data.name == "slow":
                self.entered.set()
                await asyncio.to_thread(self.gate.wait, PATIENCE_SECONDS)
            body = {"id": made[data.name], "secret": "s3cret", "inner": {"secret": "s", "kept": 1}}
            return Response(body, headers={"Location": "/things/1"}, cookies=[Cookie("session", value="s")])

        @post("/seen", guards=[anyone], status_code=200)
        async def see() -> int:
            made["seen"] += 1
            return made["seen"]

        @post("/jobs-of-tests", guards=[writer])
        async def start() -> dict[str, str]:
            async with self.work.db.transaction() as transaction:
                job = self.work.jobs.start(transaction, kind="test.job", owner="usr_ann")
            return {"id": job.jobId}

        @delete("/things", guards=[writer])
        async def remove() -> None:
            made["removed"] += 1

        return [make, see, start, remove]


async def _open() -> Store:
    return await Engine.open(":memory:")


async def _caller(connection: Connection) -> Caller:
    return CALLERS.get(bearer(connection) or "", ANONYMOUS)


@contextmanager
def running(server: Server) -> Iterator[httpx.Client]:
    listener = listening_socket("127.0.0.1", 0)
    started = threading.Event()

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets=sockets)
            started.set()

    served = Announcing(server_config(server.application, Core()))
    thread = threading.Thread(target=served.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        assert started.wait(20)
        with httpx.Client(base_url=url_of(listener), headers={"Authorization": "Bearer ann"}) as client:
            yield client
    finally:
        server.gate.set()
        served.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with running(server) as client:
        yield client


def make(client: httpx.Client, name: str, key: str = "k1", **headers: str) -> httpx.Response:
    return client.post("/things", json={"name": name}, headers={"Idempotency-Key": key, **headers})


def test_a_repeat_gets_the_first_answer_without_what_is_shown_once(
    client: httpx.Client, server: Server
) -> None:
    first, second = make(client, "a"), make(client, "a")
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == {"id": 1, "secret": "s3cret", "inner": {"secret": "s", "kept": 1}}
    assert second.json() == {"id": 1, "inner": {"kept": 1}}
    assert second.headers["location"] == "/things/1"
    assert second.headers["idempotent-replayed"] == "true"
    assert "set-cookie" in first.headers
    assert "set-cookie" not in second.headers
    assert second.headers["x-request-id"] != first.headers["x-request-id"]
    assert server.made["a"] == 1


def test_the_same_key_with_another_body_is_a_conflict(client: httpx.Client, server: Server) -> None:
    make(client, "a")
    other = make(client, "b")
    assert (other.status_code, other.json()["error"]) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert server.made["b"] == 0


def test_of_two_at_once_one_is_made_and_the_other_told_to_come_back(
    client: httpx.Client, server: Server
) -> None:
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(make, client, "slow")
        assert server.entered.wait(PATIENCE_SECONDS)
        second = make(client, "slow")
        assert (second.status_code, second.json()["error"]) == (409, "IN_PROGRESS")
        assert second.headers["retry-after"] == "1"
        server.gate.set()
        assert first.result().json()["id"] == 1
    assert make(client, "slow").json()["id"] == 1
    assert server.made["slow"] == 1


@pytest.mark.parametrize("name", ["broken", "taken"])
def test_what_went_wrong_may_be_tried_again_with_its_key(
    client: httpx.Client, server: Server, name: str
) -> None:
    assert make(client, name).status_code >= 400
    assert make(client, name).status_code == 201
    assert make(client, name).status_code == 201
    assert server.made[name] == 2


def test_a_wrong_body_is_not_kept_either(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "k1"}
    assert client.post("/things", json={"name": 5}, headers=headers).status_code == 400
    assert make(client, "a").status_code == 201


def test_the_key_of_one_caller_is_nothing_to_another(client: httpx.Client, server: Server) -> None:
    make(client, "a")
    other = make(client, "a", Authorization="Bearer bob")
    assert other.json()["id"] == 2
    assert "idempotent-replayed" not in other.headers
    # A person's key with less permission gets no answer of the person's.
    assert make(client, "a", Authorization="Bearer key").status_code == 403
    assert make(client, "a", Authorization="").status_code == 401


@pytest.mark.parametrize("key", ["", "a b", "x" * 256])
def test_a_key_that_can_not_be_one_is_refused(client: httpx.Client, key: str) -> None:
    answer = make(client, "a", key)
    assert (answer.status_code, answer.json()["error"]) == (400, "INVALID")
    assert answer.json()["errors"][0]["field"] == "Idempotency-Key"


def test_only_what_creates_takes_part(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "k1"}
    assert [client.post("/seen", headers=headers).json() for _ in range(2)] == [1, 2]
    assert [client.delete("/things", headers=headers).status_code for _ in range(2)] == [204, 204]


def test_a_body_over_the_bound_is_refused_before_it_is_kept(client: httpx.Client) -> None:
    assert make(client, "x" * 200_000).status_code == 413


def test_a_job_shows_its_progress_until_it_is_done(client: httpx.Client, server: Server) -> None:
    job_id = client.post("/jobs-of-tests").json()["id"]
    begun = client.get(f"/jobs/{job_id}").json()
    assert {name: begun[name] for name in ("id", "kind", "total", "done", "failed", "message")} == {
        "id": job_id,
        "kind": "test.job",
        "total": None,
        "done": 0,
        "failed": 0,
        "message": None,
    }
    assert begun["status"] in ("waiting", "running")
    server.gate.set()
    assert ended(client, job_id)["status"] == "done"
    assert ended(client, job_id)["done"] == 3
    assert [job["id"] for job in client.get("/jobs").json()["jobs"]] == [job_id]


def test_a_job_is_cancelled_by_delete(client: httpx.Client, server: Server) -> None:
    job_id = client.post("/jobs-of-tests").json()["id"]
    assert client.delete(f"/jobs/{job_id}").status_code == 204
    server.gate.set()
    assert ended(client, job_id)["status"] == "cancelled"
    # It has ended; asking again changes nothing.
    assert client.delete(f"/jobs/{job_id}").status_code == 204


def test_the_job_of_another_is_not_there(client: httpx.Client, server: Server) -> None:
    server.gate.set()
    job_id = client.post("/jobs-of-tests").json()["id"]
    bob = {"Authorization": "Bearer bob"}
    assert client.get(f"/jobs/{job_id}", headers=bob).json()["error"] == "JOB_NOT_FOUND"
    assert client.delete(f"/jobs/{job_id}", headers=bob).status_code == 404
    assert client.get("/jobs", headers=bob).json() == {"jobs": []}
    assert client.get(f"/jobs/{job_id}", headers={"Authorization": ""}).status_code == 401
    assert client.delete(f"/jobs/{job_id}", headers={"Authorization": "Bearer key"}).status_code == 403


def test_jobs_come_in_pages(client: httpx.Client, server: Server) -> None:
    server.gate.set()
    started = [client.post("/jobs-of-tests").json()["id"] for _ in range(3)]
    first = client.get("/jobs?limit=2").json()
    rest = client.get("/jobs", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [job["id"] for job in first["jobs"] + rest["jobs"]] == started[::-1]
    assert "next_cursor" not in rest
    assert client.get("/jobs?limit=101").status_code == 400
    assert client.get("/jobs?cursor=made-up").json()["error"] == "CURSOR_INVALID"


def test_work_is_counted(client: httpx.Client, server: Server) -> None:
    server.gate.set()
    job_id = client.post("/jobs-of-tests").json()["id"]
    ended(client, job_id)
    text = client.get("/metrics").text
    assert 'entrepot_work_claims_total{kind="work.job"}' in text
    assert 'entrepot_work_outcomes_total{kind="work.job",outcome="done"} 1.0' in text
    assert 'entrepot_work_due{kind="work.job"} 0.0' in text
    assert 'entrepot_work_age_seconds{kind="work.job"} 0.0' in text


def ended(client: httpx.Client, job_id: str) -> dict[str, Any]:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        job: dict[str, Any] = client.get(f"/jobs/{job_id}").json()
        if job["status"] in ("done", "failed", "cancelled"):
            return job
    raise AssertionError(f"{job_id} does not end")
