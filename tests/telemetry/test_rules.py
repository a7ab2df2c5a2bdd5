"""The rules of ingest, and each row of what is done where the seed contradicts itself."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from typing import Any

import msgspec
import pytest

from entrepot.tables import ConditionFailed
from entrepot.telemetry import rules
from entrepot.telemetry.errors import BadKey, Unfit
from entrepot.telemetry.keys import KeyRing
from entrepot.telemetry.lane import decode_data
from entrepot.telemetry.model import Batches, BatchId, DeviceKeys, Devices, HardwareId, KeyId, Readings
from tests.telemetry.floor import ANN, BOOT, MAC, OTHER_BOOT, PEPPER, Floor, reading

pytestmark = pytest.mark.anyio

DAY = 24 * 3600
HW = HardwareId(MAC)


async def stored(floor: Floor, mac: str = MAC) -> list[Any]:
    # What is there, and not what an unkind store shows.
    floor.engine.set_chaos(None)
    return await Readings(floor.db).between(HardwareId(mac), 0, 9_999_999_999_999).all()


async def errors_of(floor: Floor, *readings: dict[str, Any]) -> list[str]:
    return [rejected.error for rejected in (await floor.send(*readings)).rejected]


# -- rule 1


async def test_two_simultaneous_first_registrations_end_with_one_confirmation_id(floor: Floor) -> None:
    body = rules.RegisterBody(MAC, BOOT, "1.0", rules.CapabilitiesBody())
    devices = await asyncio.gather(*(floor.part.devices.register(ANN, body) for _ in range(8)))
    assert len({device.confirmation_id for device in devices}) == 1


async def test_the_listing_key_always_equals_the_last_activity(floor: Floor) -> None:
    await floor.send(reading(floor.now()))
    floor.clock.advance(400)
    await floor.send(reading(floor.now()))
    key = {"hardware_id": MAC}
    request = {"TableName": "devices", "Key": key, "ConsistentRead": True}
    item = (await floor.db.call("GetItem", request))["Item"]
    assert item["gsi1sk"] == item["last_seen_at"]
    assert item["gsi1pk"] == "devices"


# -- rule 2


async def test_one_bad_reading_never_blocks_the_others(floor: Floor) -> None:
    good = [reading(floor.now() - n * 1000) for n in range(3)]
    bad = reading(floor.now(), sensors={"a": "warm"}, batch_id="bad-one")
    answer = await floor.send(good[0], bad, good[1], reading(floor.now(), boot_id="x"), good[2])
    assert answer.acknowledged_batch_ids == [each["batch_id"] for each in good]
    told = [(rejected.index, rejected.batch_id, rejected.error) for rejected in answer.rejected]
    assert told[0] == (1, "bad-one", "INVALID_FORMAT")
    assert told[1][::2] == (3, "INVALID_FORMAT")
    assert len(await stored(floor)) == 3


async def test_a_request_of_fifty_readings_is_one_commit(floor: Floor) -> None:
    floor.engine.set_chaos(None)
    await floor.send(reading(floor.now()))
    groups, applied = floor.engine.writer.groups, floor.engine.writer.applied
    await floor.send(*(reading(floor.now() - 1000 - n) for n in range(50)))
    assert floor.engine.writer.groups - groups == 1
    assert floor.engine.writer.applied - applied == 50


async def test_a_device_that_never_registered_is_registered_by_its_reading(floor: Floor) -> None:
    await floor.send(reading(floor.now()))
    device = await Devices(floor.db).one(HW).required()
    assert device.owner == ANN
    assert device.capabilities.sensors == []
    assert device.last_boot_id == BOOT


async def test_what_a_reading_lacks_is_taken_from_the_root(floor: Floor) -> None:
    bare = {"batch_id": "x", "sensors": {"t": 1}, "sample_end_epoch_ms": floor.now(), "device_id": "ignored"}
    answer = await floor.send(bare, hardware_id=MAC.lower(), boot_id=BOOT, firmware_version="1.0")
    assert answer.acknowledged_batch_ids == ["x"]
    (kept,) = await stored(floor)
    assert (kept.hardware_id, kept.boot_id, kept.firmware_version) == (MAC, BOOT, "1.0")


# -- rule 4


async def test_activity_is_written_at_most_every_five_minutes_and_forward(floor: Floor) -> None:
    await floor.send(reading(floor.now()))
    first = (await Devices(floor.db).one(HW).required()).last_seen_at
    floor.clock.advance(290)
    await floor.send(reading(floor.now()))
    assert (await Devices(floor.db).one(HW).required()).last_seen_at == first
    floor.clock.advance(20)
    await floor.send(reading(floor.now()))
    assert (await Devices(floor.db).one(HW).required()).last_seen_at == floor.clock.stamp()
    with pytest.raises(ConditionFailed):
        await Devices(floor.db).seen(HW, first)


# -- rule 5


async def test_readings_and_batches_expire_by_their_own_times(floor: Floor) -> None:
    at = floor.now() - 1000
    await floor.send(reading(at))
    (kept,) = await stored(floor)
    assert kept.expiration_time == at // 1000 + 90 * DAY
    batch = await Batches(floor.db).one(BatchId(kept.batch_id)).required()
    assert abs(batch.expiration_time - (floor.now() // 1000 + 30 * DAY)) <= 1
    assert batch.received_at <= floor.clock.stamp()


async def test_expired_readings_are_invisible_at_once(floor: Floor) -> None:
    await floor.send(reading(floor.now() - 90 * DAY * 1000))
    await floor.send(reading(floor.now()))
    assert len(await stored(floor)) == 1
    floor.clock.advance(91 * DAY)
    assert await stored(floor) == []


async def test_a_batch_id_is_remembered_for_thirty_days_and_its_reading_is_idempotent(floor: Floor) -> None:
    again = reading(floor.now())
    await floor.send(again)
    floor.clock.advance(29 * DAY)
    assert (await floor.send(again)).duplicate_batch_ids == [again["batch_id"]]
    floor.clock.advance(2 * DAY)
    assert (await floor.send(again)).acknowledged_batch_ids == [again["batch_id"]]
    assert len(await stored(floor)) == 1


# -- rule 6


async def test_a_key_is_stored_as_its_peppered_hash_under_an_id_made_from_it(floor: Floor) -> None:
    key, raw = await floor.part.keys.make(ANN, None)
    assert len(raw) == 64
    assert raw == raw.lower()
    assert key.api_key_hash == hashlib.sha256(PEPPER.encode() + raw.encode("ascii")).hexdigest()
    assert uuid.UUID(key.key_id).version == 4
    assert key.key_id == rules.key_id_of(key.api_key_hash)


async def test_a_new_key_is_found_before_its_index_shows_it(floor: Floor) -> None:
    floor.engine.set_chaos("index_lag_ms=60000")
    _, raw = await floor.part.keys.make(ANN, None)
    assert (await floor.part.keys.holder_of(raw)).owner == ANN


async def test_a_revocation_elsewhere_takes_effect_within_five_seconds(floor: Floor) -> None:
    key, raw = await floor.part.keys.make(ANN, None)
    other = KeyRing(floor.db, pepper=PEPPER)
    await other.holder_of(raw)
    await floor.part.keys.revoke(key.key_id, ANN)
    floor.engine.set_chaos("index_lag_ms=60000")
    floor.clock.advance(5)
    with pytest.raises(BadKey) as refused:
        await other.holder_of(raw)
    assert refused.value.code == "KEY_REVOKED"


async def test_the_use_of_a_key_is_noted_at_most_every_five_minutes(floor: Floor) -> None:
    key, raw = await floor.part.keys.make(ANN, None)
    notes = []
    for _ in range(4):
        await floor.part.keys.holder_of(raw)
        notes.append((await DeviceKeys(floor.db).one(KeyId(key.key_id)).required()).last_used_at)
        floor.clock.advance(120)
    assert notes[0] == notes[1] == notes[2]
    assert notes[3] != notes[0]


# -- rule 7


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"hardware_id": "AA:BB:CC:DD:EE"}, "INVALID_FORMAT"),
        ({"hardware_id": MAC + "\n"}, "INVALID_FORMAT"),
        ({"boot_id": "7c9e6679-7425-10de-944b-e07fc1f90ae7"}, "INVALID_FORMAT"),
        ({"boot_id": "7c9e6679-7425-40de-c44b-e07fc1f90ae7"}, "INVALID_FORMAT"),
        ({"batch_id": ""}, "INVALID_FORMAT"),
        ({"batch_id": "x" * 257}, "INVALID_FORMAT"),
        ({"batch_id": "a#b"}, "INVALID_FORMAT"),
        ({"batch_id": None}, "MISSING_FIELD"),
        ({"sensors": None}, "MISSING_FIELD"),
        ({"sensors": {"a": 1e127}}, "INVALID_VALUE"),
        ({"sensors": {"a": 1e-131}}, "INVALID_VALUE"),
        ({"sensors": {"": 1}}, "INVALID_VALUE"),
        ({"sensor_status": {"a": "fine"}}, "INVALID_VALUE"),
        ({"friendly_name": "x" * 65}, "INVALID_VALUE"),
        ({"firmware_version": ""}, "INVALID_VALUE"),
        ({"timestamp_ms": 946_684_799_999}, "INVALID_VALUE"),
        ({"timestamp_ms": 9**30}, "INVALID_VALUE"),
        ({"timestamp_ms": None}, "MISSING_FIELD"),
    ],
)
async def test_a_reading_that_breaks_a_rule_is_rejected(
    floor: Floor, more: dict[str, Any], code: str
) -> None:
    assert await errors_of(floor, reading(floor.now(), **more)) == [code]
    assert await stored(floor) == []


async def test_a_number_too_large_for_json_is_rejected_alone(floor: Floor) -> None:
    good = reading(floor.now())
    body = b'{"readings":[{"batch_id":"huge","sensors":{"a":1e999}},%s]}'
    root, bodies = decode_data(body % msgspec.json.encode(good))
    answer = await floor.part.ingest.take(ANN, root, bodies)
    assert answer.acknowledged_batch_ids == [good["batch_id"]]
    assert [(each.batch_id, each.error) for each in answer.rejected] == [("huge", "INVALID_VALUE")]


async def test_values_are_kept_as_rule_seven_says(floor: Floor) -> None:
    at = floor.now()
    sensors = {"known": 1.5, "never_heard_of": -3, "gone": None}
    status = {"a": "ok", "b": "unavailable", "c": "error"}
    body = reading(at, hardware_id=MAC.lower(), sensors=sensors, sensor_status=status, unknown={"x": 1})
    await floor.send(body)
    (kept,) = await stored(floor)
    assert kept.hardware_id == MAC
    assert kept.sensors == {"known": 1.5, "never_heard_of": -3}
    assert kept.sensor_status == {"a": "ok", "b": "error", "c": "error"}


async def test_a_friendly_name_is_kept_with_the_reading_as_it_was(floor: Floor) -> None:
    await floor.send(reading(floor.now() - 2000))
    await floor.part.devices.rename(MAC, "Тепличка", ANN)
    await floor.send(reading(floor.now() - 1000))
    assert [each.friendly_name for each in await stored(floor)] == ["Тепличка", None]
    with pytest.raises(Unfit):
        await floor.part.devices.rename(MAC, "tab\there", ANN)
    assert (await floor.part.devices.rename(MAC, None, ANN)).friendly_name is None


# -- where the seed contradicts itself


async def test_a_batch_id_may_hold_colons_and_dots(floor: Floor) -> None:
    answer = await floor.send(reading(floor.now(), batch_id="a:b.c-d_e"))
    assert answer.acknowledged_batch_ids == ["a:b.c-d_e"]


async def test_ids_without_the_mac_are_told_apart_by_device_and_boot(floor: Floor) -> None:
    at, short = floor.now(), "device_u_100_200"
    answer = await floor.send(
        reading(at, batch_id=short),
        reading(at + 1, batch_id=short, boot=OTHER_BOOT),
        reading(at, batch_id=short, mac="AA:BB:CC:DD:EE:00"),
        reading(at, batch_id=short),
    )
    assert answer.acknowledged_batch_ids == [short] * 3
    assert answer.duplicate_batch_ids == [short]
    assert await Batches(floor.db).one(BatchId(f"{MAC}#{BOOT}#{short}")) is not None


async def test_nobody_can_take_another_devices_batch_id(floor: Floor) -> None:
    victim = reading(floor.now())
    thief = reading(floor.now(), mac="AA:BB:CC:DD:EE:00", batch_id=victim["batch_id"])
    await floor.send(thief)
    assert (await floor.send(victim)).acknowledged_batch_ids == [victim["batch_id"]]


async def test_a_clock_that_was_never_set_is_rejected_or_stamped_here(floor: Floor) -> None:
    assert await errors_of(floor, reading(5000)) == ["INVALID_VALUE"]
    before = floor.now()
    unset = [
        reading(5000, batch_id="u_1", boot=BOOT, time_synced=False),
        reading(5000, batch_id="u_1", boot=OTHER_BOOT, time_synced=False),
    ]
    assert len((await floor.send(*unset)).acknowledged_batch_ids) == 2
    kept = await stored(floor)
    assert [each.time_source for each in kept] == ["server", "server"]
    assert all(before - 1000 <= each.timestamp_ms <= floor.now() for each in kept)


async def test_latest_can_be_pinned_a_day_ahead_and_no_more(floor: Floor) -> None:
    assert await errors_of(floor, reading(floor.now() + 25 * 3_600_000)) == ["INVALID_VALUE"]
    ahead = floor.now() + 23 * 3_600_000
    await floor.send(reading(ahead), reading(floor.now()))
    assert (await floor.part.readings.latest(HW)).timestamp_ms == ahead


async def test_the_keys_of_the_tables_are_the_seeds(floor: Floor) -> None:
    at = floor.now()
    sent = reading(at)
    await floor.send(sent)
    key = {"hardware_id": MAC, "ts_batch": f"{at:013}#{sent['batch_id']}"}
    item = (
        await floor.db.call("GetItem", {"TableName": "device_readings", "Key": key, "ConsistentRead": True})
    )["Item"]
    assert item["sensors"] == sent["sensors"]
