"""Seed 000's four tables: their locked keys, and each of their query and update patterns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from entrepot.accounts.model import UserId
from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.tables import ConditionFailed, Database, InvalidValue, Repeated, provision
from entrepot.telemetry import model
from entrepot.telemetry.model import (
    Alert,
    AlertId,
    Alerts,
    AlertState,
    AlertStates,
    Batch,
    Batches,
    BatchId,
    Capabilities,
    Device,
    DeviceKey,
    DeviceKeys,
    Devices,
    HardwareId,
    Hour,
    Hours,
    KeyHash,
    KeyId,
    Reading,
    Readings,
)

pytestmark = pytest.mark.anyio

ANN = UserId("usr_" + "a" * 16)
MAC = HardwareId("AA:BB:CC:DD:EE:FF")
BOOT = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
NOW = "2024-01-15T14:22:00Z"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def db(clock: Clock) -> AsyncIterator[Database]:
    engine = await Engine.open(":memory:")
    made = Database(engine, clock=clock)
    tables = [model.devices, model.device_readings, model.processed_batches, model.api_keys]
    await provision(made, [*tables, model.alerts, model.hours])
    yield made
    await engine.close()


def device(last: int = 0xFF, seen: str = NOW, owner: UserId | None = None) -> Device:
    return Device(
        hardware_id=HardwareId(f"AA:BB:CC:DD:EE:{last:02X}"),
        confirmation_id="550e8400-e29b-41d4-a716-446655440000",
        capabilities=Capabilities(["bme280"], {"tft_display": True}),
        first_registered_at="2024-01-15T10:30:00Z",
        last_seen_at=seen,
        last_boot_id=BOOT,
        firmware_version="1.0.16",
        friendly_name="greenhouse-sensor-01",
        owner=owner,
    )


def reading(at: int, expires: int | None = None) -> Reading:
    return Reading(
        hardware_id=MAC,
        timestamp_ms=at,
        batch_id=BatchId(f"{MAC}_{BOOT}_{at - 600_000}_{at}"),
        boot_id=BOOT,
        firmware_version="1.0.16",
        sensors={"bme280_temp_c": 22.5, "humidity_pct": 45.0},
        sensor_status={"bme280": "ok"},
        expiration_time=expires,
    )


async def stored(db: Database, table: str, **key: str) -> dict[str, Any]:
    answer = await db.call("GetItem", {"TableName": table, "Key": key})
    item: dict[str, Any] = answer["Item"]
    return item


def test_the_locked_tables_have_the_documents_keys_and_indexes() -> None:
    described = {
        table.name: (
            table.key_names,
            {index.name: index.key_names for index in table.indexes.values()},
            table.ttl,
        )
        for table in (model.devices, model.device_readings, model.processed_batches, model.api_keys)
    }
    owner = "owner_index"
    assert described == {
        "devices": (
            ("hardware_id",),
            {"gsi1": ("gsi1pk", "gsi1sk"), owner: ("owner", "last_seen_at")},
            None,
        ),
        "device_readings": (("hardware_id", "ts_batch"), {}, "expiration_time"),
        "processed_batches": (("batch_id",), {}, "expiration_time"),
        "api_keys": (
            ("key_id",),
            {
                "api_key_hash_index": ("api_key_hash",),
                "gsi1": ("gsi1pk", "gsi1sk"),
                owner: ("owner", "created_at"),
            },
            None,
        ),
    }


async def test_a_device_is_stored_as_the_document_says(db: Database) -> None:
    await db.create(device())
    assert await stored(db, "devices", hardware_id=MAC) == {
        "hardware_id": MAC,
        "confirmation_id": "550e8400-e29b-41d4-a716-446655440000",
        "capabilities": {"sensors": ["bme280"], "features": {"tft_display": True}},
        "first_registered_at": "2024-01-15T10:30:00Z",
        "last_seen_at": NOW,
        "last_boot_id": BOOT,
        "firmware_version": "1.0.16",
        "friendly_name": "greenhouse-sensor-01",
        "gsi1pk": "devices",
        "gsi1sk": NOW,
    }


async def test_devices_are_listed_by_activity_most_recent_first(db: Database) -> None:
    for last in (1, 3, 2):
        await db.create(device(last, f"2024-01-15T14:22:0{last}Z", ANN if last != 3 else None))
    devices = Devices(db)
    assert [found.hardware_id[-1] for found in await devices.by_activity().all()] == ["3", "2", "1"]
    assert [found.hardware_id[-1] for found in await devices.of_owner(ANN).all()] == ["2", "1"]


async def test_activity_moves_forward_only_and_takes_its_index_along(db: Database) -> None:
    await db.create(device())
    devices = Devices(db)
    await devices.seen(MAC, "2024-01-15T15:00:00Z")
    assert (await stored(db, "devices", hardware_id=MAC))["gsi1sk"] == "2024-01-15T15:00:00Z"
    with pytest.raises(ConditionFailed):
        await devices.seen(MAC, "2024-01-15T14:59:59Z")


async def test_a_friendly_name_is_set_and_cleared(db: Database) -> None:
    await db.create(device())
    devices = Devices(db)
    assert (await devices.named(MAC, "Gewächshaus")).friendly_name == "Gewächshaus"
    assert (await devices.named(MAC, None)).friendly_name is None
    assert "friendly_name" not in await stored(db, "devices", hardware_id=MAC)
    with pytest.raises(InvalidValue, match=r"Device\.friendly_name"):
        await devices.named(MAC, "x" * 65)


async def test_latest_reading(db: Database) -> None:
    for at in (1_704_067_800_000, 1_704_067_900_000, 1_704_067_850_000):
        await db.put(reading(at))
    assert await Readings(db).latest(MAC) == reading(1_704_067_900_000)
    key = f"1704067800000#{reading(1_704_067_800_000).batch_id}"
    item = await stored(db, "device_readings", hardware_id=MAC, ts_batch=key)
    assert item["sensors"] == {"bme280_temp_c": 22.5, "humidity_pct": 45}


async def test_time_range_query_includes_both_ends(db: Database) -> None:
    times = [1_704_067_800_000, 1_704_067_800_001, 1_704_067_800_002, 1_704_067_800_003]
    for at in times:
        await db.put(reading(at))
    between = Readings(db).between(MAC, times[1], times[2])
    assert [found.timestamp_ms for found in await between.all()] == [times[2], times[1]]
    assert [found.timestamp_ms for found in await between.reversed().all()] == [times[1], times[2]]


async def test_times_before_2001_sort_too(db: Database) -> None:
    await db.put(reading(1_704_067_800_000))
    await db.put(reading(946_684_800_000))
    assert (await Readings(db).latest(MAC).required()).timestamp_ms == 1_704_067_800_000


async def test_expired_readings_are_not_the_latest(db: Database, clock: Clock) -> None:
    await db.put(reading(1_704_067_900_000, clock.epoch_seconds() + 10))
    await db.put(reading(1_704_067_800_000))
    clock.advance(10)
    assert (await Readings(db).latest(MAC).required()).timestamp_ms == 1_704_067_800_000


async def test_a_batch_is_ingested_once(db: Database, clock: Clock) -> None:
    made = reading(1_704_067_800_000)

    async def ingest() -> None:
        batch = Batch(
            batch_id=made.batch_id,
            hardware_id=MAC,
            received_at=NOW,
            expiration_time=clock.epoch_seconds() + 30 * 24 * 3600,
        )
        async with db.transaction() as t:
            t.once(batch)
            t.put(made)

    await ingest()
    with pytest.raises(Repeated) as caught:
        await ingest()
    assert caught.value.record.received_at == NOW
    assert (await Batches(db).one(made.batch_id).required()).hardware_id == MAC
    assert await Readings(db).one(MAC, made.timestamp_ms, made.batch_id) == made


def key(number: int, created: str = NOW, owner: UserId | None = None) -> DeviceKey:
    return DeviceKey(
        key_id=KeyId(f"a1b2c3d4-e5f6-4890-abcd-{number:012x}"),
        api_key_hash=KeyHash(f"{number:064x}"),
        created_at=created,
        owner=owner,
    )


async def test_an_api_key_is_validated_by_its_hash(db: Database) -> None:
    await db.create(key(1))
    keys = DeviceKeys(db)
    assert await keys.by_hash(key(1).api_key_hash, key(1).key_id) == key(1)
    assert await keys.by_hash(key(2).api_key_hash, key(2).key_id) is None
    # An id that belongs to another hash leads nowhere.
    assert await keys.by_hash(key(2).api_key_hash, key(1).key_id) is None


async def test_api_keys_are_listed_newest_first(db: Database) -> None:
    for number in (1, 3, 2):
        await db.create(key(number, f"2024-01-1{number}T08:00:00Z", ANN if number != 2 else None))
    keys = DeviceKeys(db)
    assert [found.created_at[9] for found in await keys.by_creation().all()] == ["3", "2", "1"]
    assert [found.created_at[9] for found in await keys.of_owner(ANN).all()] == ["3", "1"]


async def test_the_update_patterns_of_api_keys(db: Database) -> None:
    await db.create(key(1))
    keys = DeviceKeys(db)
    assert (await keys.last_used(key(1).key_id, NOW)).last_used_at == NOW
    for _ in range(2):
        assert not (await keys.revoked(key(1).key_id)).is_active
    assert (await stored(db, "api_keys", key_id=key(1).key_id))["gsi1sk"] == NOW


async def test_alerts_are_found_by_owner_and_by_kind(db: Database) -> None:
    for kind, name in (("above", "a"), ("silent", "b")):
        await db.create(
            Alert(alert_id=AlertId(name), owner=ANN, kind=kind, created_at=NOW, updated_at=NOW)  # type: ignore[arg-type]
        )
    alerts = Alerts(db)
    assert [found.alert_id for found in await alerts.of_owner(ANN).all()] == ["a", "b"]
    assert [found.alert_id for found in await alerts.of_kind("silent").all()] == ["b"]
    assert (await alerts.one(ANN, AlertId("a")).required()).kind == "above"
    state = AlertState(owner=ANN, alert_id=AlertId("a"), hardware_id=MAC, is_raised=True)
    await db.create(state)
    assert await AlertStates(db).of_alert(ANN, AlertId("a")).all() == [state]
    assert await AlertStates(db).one(ANN, AlertId("a"), MAC) == state


async def test_hours_are_read_by_metric_and_time(db: Database, clock: Clock) -> None:
    for number in range(4):
        await db.put(
            Hour(
                hardware_id=MAC,
                metric="bme280_temp_c",
                hour_ms=number * 3_600_000,
                count=12,
                total=250.5,
                low=20.0,
                high=23.25,
                last=21.0,
                last_ms=number * 3_600_000 + 5,
                expiration_time=clock.epoch_seconds() + 1000,
            )
        )
    hours = Hours(db)
    listed = await hours.between(MAC, "bme280_temp_c", 3_600_000, 7_200_000).all()
    assert [found.hour_ms for found in listed] == [3_600_000, 7_200_000]
    assert (await hours.one(MAC, "bme280_temp_c", 0).required()).total == 250.5


async def test_a_mac_that_is_no_mac_is_refused(db: Database) -> None:
    made = device()
    made.hardware_id = HardwareId("aa:bb:cc:dd:ee:ff")
    with pytest.raises(InvalidValue, match=r"Device\.hardware_id = 'aa:bb:cc:dd:ee:ff'"):
        await db.create(made)
