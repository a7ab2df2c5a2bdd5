"""The data plane over HTTP: keys, registration and readings, as firmware sends them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.telemetry.conftest import Installation
from tests.telemetry.floor import BOOT, MAC, OTHER_BOOT, reading

REGISTRATION = {
    "hardware_id": MAC,
    "boot_id": BOOT,
    "firmware_version": "1.0.16",
    "capabilities": {"sensors": ["bme280"], "features": {"tft_display": True}},
}


def send(device: httpx.Client, *readings: dict[str, Any]) -> dict[str, Any]:
    answer = device.post("/telemetry/data", json={"readings": list(readings)})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_device_registers_sends_and_is_seen_by_its_owner(here: Installation) -> None:
    owner = here.person()
    device = here.device(owner)
    registered = device.post("/telemetry/register", json=REGISTRATION).json()
    assert registered["status"] == "registered"
    assert registered["hardware_id"] == MAC
    now = here.clock.epoch_ms()
    first = reading(now)
    assert send(device, first)["acknowledged_batch_ids"] == [first["batch_id"]]
    assert send(device, first)["duplicate_batch_ids"] == [first["batch_id"]]
    seen = owner.get(f"/telemetry/devices/{MAC}").json()
    assert seen["confirmation_id"] == registered["confirmation_id"]
    assert seen["capabilities"]["features"] == {"tft_display": True}
    latest = owner.get(f"/telemetry/devices/{MAC.lower()}/latest").json()
    assert latest["timestamp_ms"] == now
    assert latest["sensors"] == {"bme280_temp_c": 22.5, "humidity_pct": 45.2}


def test_authentication_comes_before_the_body(here: Installation) -> None:
    nobody = here.client()
    for path in ("/telemetry/data", "/telemetry/register"):
        answer = nobody.post(path, content=b"{ no JSON")
        assert (answer.status_code, answer.json()["error"]) == (401, "MISSING_API_KEY")
        answer = nobody.post(path, content=b"{ no JSON", headers={"x-api-key": "0" * 64})
        assert (answer.status_code, answer.json()["error"]) == (401, "INVALID_API_KEY")
        answer = nobody.post(path, content=b"{ no JSON", headers={"x-api-key": "short"})
        assert (answer.status_code, answer.json()["error"]) == (401, "INVALID_API_KEY")


def test_a_key_may_come_as_a_bearer_token_too(here: Installation) -> None:
    key = here.key_of(here.person())
    device = here.client(authorization=f"Bearer {key}")
    assert send(device, reading(here.clock.epoch_ms()))["acknowledged_batch_ids"]


def test_a_revoked_key_opens_nothing(here: Installation) -> None:
    owner = here.person()
    made = owner.post("/telemetry/api-keys", json={}).json()
    device = here.client(**{"x-api-key": made["api_key"]})
    send(device, reading(here.clock.epoch_ms()))
    for _ in range(2):
        answer = owner.delete(f"/telemetry/api-keys/{made['key_id']}")
        assert (answer.status_code, answer.json()) == (200, {"status": "revoked", "key_id": made["key_id"]})
    answer = device.post("/telemetry/data", json={"readings": [reading(here.clock.epoch_ms())]})
    assert (answer.status_code, answer.json()["error"]) == (401, "KEY_REVOKED")


def test_keys_are_listed_newest_first_without_their_secrets(here: Installation) -> None:
    owner, other = here.person(), here.person()
    first = owner.post("/telemetry/api-keys", json={"description": "first"}).json()
    here.clock.advance(2)
    second = owner.post("/telemetry/api-keys", json={"description": "second"}).json()
    listed = owner.get("/telemetry/api-keys").json()["api_keys"]
    assert [key["key_id"] for key in listed] == [second["key_id"], first["key_id"]]
    assert not any("api_key" in key or "api_key_hash" in key for key in listed)
    assert other.get("/telemetry/api-keys").json() == {"api_keys": []}
    assert other.delete(f"/telemetry/api-keys/{first['key_id']}").json()["error"] == "API_KEY_NOT_FOUND"
    assert len(here.operator().get("/telemetry/api-keys").json()["api_keys"]) == 2


def test_a_repeated_creation_does_not_show_the_key_again(here: Installation) -> None:
    owner = here.person()
    headers = {"Idempotency-Key": "once"}
    first = owner.post("/telemetry/api-keys", json={}, headers=headers).json()
    again = owner.post("/telemetry/api-keys", json={}, headers=headers).json()
    assert first["key_id"] == again["key_id"]
    assert "api_key" not in again


def test_a_registration_keeps_what_was_first_and_moves_the_rest(here: Installation) -> None:
    owner = here.person()
    device = here.device(owner)
    first = device.post("/telemetry/register", json={**REGISTRATION, "friendly_name": "温室 1"}).json()
    here.clock.advance(60)
    again = {**REGISTRATION, "boot_id": OTHER_BOOT, "firmware_version": "2.0.0"}
    second = device.post("/telemetry/register", json=again).json()
    assert second["confirmation_id"] == first["confirmation_id"]
    assert second["registered_at"] == first["registered_at"]
    seen = owner.get(f"/telemetry/devices/{MAC}").json()
    assert seen["friendly_name"] == "温室 1"
    assert (seen["last_boot_id"], seen["firmware_version"]) == (OTHER_BOOT, "2.0.0")
    assert seen["last_seen_at"] > seen["first_registered_at"]


def test_another_owners_device_is_out_of_reach(here: Installation) -> None:
    ann, bob = here.person(), here.person()
    anns, bobs = here.device(ann), here.device(bob)
    anns.post("/telemetry/register", json=REGISTRATION)
    answer = bobs.post("/telemetry/register", json=REGISTRATION)
    assert (answer.status_code, answer.json()["error"]) == (409, "DEVICE_TAKEN")
    mine = reading(here.clock.epoch_ms(), mac="AA:BB:CC:DD:EE:00")
    told = send(bobs, reading(here.clock.epoch_ms()), mine)
    assert told["acknowledged_batch_ids"] == [mine["batch_id"]]
    assert [(each["index"], each["error"]) for each in told["rejected"]] == [(0, "DEVICE_TAKEN")]
    for path in ("", "/latest", "/readings", "/export", "/series?metric=x"):
        answer = bob.get(f"/telemetry/devices/{MAC}{path}")
        assert (answer.status_code, answer.json()["error"]) == (404, "DEVICE_NOT_FOUND"), path
    assert len(bob.get("/telemetry/devices").json()["devices"]) == 1
    assert len(here.operator().get("/telemetry/devices").json()["devices"]) == 2


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "INVALID_FORMAT"),
        (b'{"readings": [{"sensors": {"a": NaN}}]}', "INVALID_FORMAT"),
        (b"[]", "INVALID_FORMAT"),
        (b"{}", "MISSING_FIELD"),
        (b'{"readings": []}', "MISSING_FIELD"),
        (b'{"readings": {}}', "INVALID_FORMAT"),
        (b'{"readings": [' + b"{}," * 100 + b"{}]}", "BATCH_SIZE_EXCEEDED"),
    ],
)
def test_a_broken_envelope_is_refused_whole(here: Installation, body: bytes, code: str) -> None:
    device = here.device(here.person())
    answer = device.post("/telemetry/data", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]) == (400, code)


def test_the_wrong_verb_and_type_are_refused(here: Installation) -> None:
    device = here.device(here.person())
    assert device.get("/telemetry/data").status_code == 405
    answer = device.post("/telemetry/data", content=b"x", headers={"content-type": "text/plain"})
    assert answer.status_code == 415


def test_health_reads_the_store_for_anyone(here: Installation) -> None:
    assert here.client().get("/telemetry/health").json() == {"status": "healthy"}


def test_people_are_told_what_is_wrong_with_their_token(here: Installation) -> None:
    answer = here.client().get("/telemetry/devices")
    assert (answer.status_code, answer.json()["error"]) == (401, "MISSING_TOKEN")
    answer = here.client(authorization="Bearer nobody's").get("/telemetry/devices")
    assert (answer.status_code, answer.json()["error"]) == (401, "INVALID_TOKEN")


def test_of_one_batch_from_32_clients_at_once_one_is_acknowledged(here: Installation) -> None:
    key = here.key_of(here.person())
    body = reading(here.clock.epoch_ms())
    clients = [here.client(**{"x-api-key": key}) for _ in range(32)]
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda client: send(client, body), clients))
    assert sum(len(answer["acknowledged_batch_ids"]) for answer in answers) == 1
    assert sum(len(answer["duplicate_batch_ids"]) for answer in answers) == 31
