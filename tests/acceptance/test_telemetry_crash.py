"""A server that is killed in the middle of requests loses and doubles no reading."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.acceptance.process import started
from tests.telemetry.floor import MAC, reading

TOKEN = "the operator's own token"
REQUESTS = 60
READINGS = 20


@pytest.mark.timeout(120)
def test_a_kill_in_the_middle_of_requests_loses_and_doubles_nothing(tmp_path: Path) -> None:
    operator = {"authorization": f"Bearer {TOKEN}"}
    acknowledged: set[str] = set()
    sent: list[list[dict[str, object]]] = []
    with started("up", "--port", "0", directory=tmp_path, admin_token=TOKEN) as up:
        made = httpx.post(f"{up.url}/telemetry/api-keys", json={}, headers=operator, timeout=20).json()
        device = {"x-api-key": made["api_key"]}
        base = int(time.time() * 1000) - 3_600_000
        sent = [[reading(base + (n * READINGS + k) * 1000) for k in range(READINGS)] for n in range(REQUESTS)]
        under_way = threading.Event()

        def send(own: list[list[dict[str, object]]]) -> None:
            with httpx.Client(base_url=up.url, headers=device, timeout=20) as client:
                for readings in own:
                    try:
                        answer = client.post("/telemetry/data", json={"readings": readings})
                    except httpx.TransportError:
                        return
                    acknowledged.update(answer.json()["acknowledged_batch_ids"])
                    if len(acknowledged) > REQUESTS * READINGS // 3:
                        under_way.set()

        threads = [threading.Thread(target=send, args=(sent[n::4],)) for n in range(4)]
        for thread in threads:
            thread.start()
        assert under_way.wait(60)
        up.process.send_signal(signal.SIGKILL)
        up.process.wait(10)
        for thread in threads:
            thread.join(30)
    assert len(acknowledged) < REQUESTS * READINGS

    with started("up", "--port", "0", directory=tmp_path, admin_token=TOKEN) as up:
        with httpx.Client(base_url=up.url, headers=device, timeout=30) as client:
            duplicates: set[str] = set()
            for readings in sent:
                answer = client.post("/telemetry/data", json={"readings": readings}).json()
                assert answer["rejected"] == []
                assert acknowledged.isdisjoint(answer["acknowledged_batch_ids"])
                duplicates.update(answer["duplicate_batch_ids"])
        assert acknowledged <= duplicates
        found: list[str] = []
        query: dict[str, str | int] = {"limit": 1000}
        while True:
            path = f"{up.url}/telemetry/devices/{MAC}/readings"
            page = httpx.get(path, params=query, headers=operator, timeout=30).json()
            found += [each["batch_id"] for each in page["readings"]]
            if "next_cursor" not in page:
                break
            query["cursor"] = page["next_cursor"]
    assert sorted(found) == sorted(str(body["batch_id"]) for readings in sent for body in readings)
