"""Readings as people ask for them: pages, series, hours, files; and heat and what is deleted with an account."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entrepot.accounts.deletion import Leaving
from entrepot.telemetry.model import HardwareId, Hours, Readings
from entrepot.telemetry.readings import Range
from entrepot.telemetry.rollups import DAY_MS, HOUR_MS
from entrepot.telemetry.series import Part, Point, bucketed, lttb
from tests.telemetry.conftest import Installation
from tests.telemetry.floor import ANN, MAC, Floor, reading

HW = HardwareId(MAC)


def fill(here: Installation, owner: Any, count: int) -> int:
    now = here.clock.epoch_ms()
    device = here.device(owner)
    for first in range(0, count, 100):
        sent = [reading(now - n * 1000, sensors={"t": n}) for n in range(first, min(first + 100, count))]
        assert device.post("/telemetry/data", json={"readings": sent}).status_code == 200
    return now


def test_a_range_is_paged_in_both_orders_with_both_ends(here: Installation) -> None:
    owner = here.person()
    now = fill(here, owner, 25)
    path = f"/telemetry/devices/{MAC}/readings"
    span: dict[str, Any] = {"from": now - 20_000, "to": now - 5_000}
    for order in ("desc", "asc"):
        found: list[int] = []
        query = {**span, "limit": 7, "order": order}
        while True:
            page = owner.get(path, params=query).json()
            found += [each["timestamp_ms"] for each in page["readings"]]
            if "next_cursor" not in page:
                break
            query["cursor"] = page["next_cursor"]
        expected = [now - n * 1000 for n in range(5, 21)]
        assert found == (expected if order == "desc" else expected[::-1])
    assert len(owner.get(path).json()["readings"]) == 25


def test_a_cursor_serves_only_its_own_list(here: Installation) -> None:
    owner = here.person()
    now = fill(here, owner, 5)
    path = f"/telemetry/devices/{MAC}/readings"
    cursor = owner.get(path, params={"limit": 2}).json()["next_cursor"]
    for query in ({"order": "asc"}, {"from": now - 3000}):
        answer = owner.get(path, params={"limit": 2, "cursor": cursor, **query})
        assert (answer.status_code, answer.json()["error"]) == (400, "CURSOR_INVALID")
    assert owner.get(path, params={"limit": 1001}).status_code == 400
    assert owner.get(path, params={"from": 5, "to": 4}).status_code == 400
    assert owner.get(path, params={"from": -1}).status_code == 400


def test_a_device_without_readings_says_so(here: Installation) -> None:
    owner = here.operator()
    fill(here, owner, 1)
    here.clock.advance(91 * 24 * 3600)
    answer = owner.get(f"/telemetry/devices/{MAC}/latest")
    assert (answer.status_code, answer.json()["error"]) == (404, "NO_READINGS")
    assert owner.get("/telemetry/devices/AA:00:00:00:00:00/latest").json()["error"] == "DEVICE_NOT_FOUND"


def test_devices_are_listed_by_activity_and_named(here: Installation) -> None:
    owner = here.person()
    device = here.device(owner)
    for n in range(3):
        device.post(
            "/telemetry/data", json={"readings": [reading(here.clock.epoch_ms(), mac=MAC[:-1] + str(n))]}
        )
        here.clock.advance(2)
    first = owner.get("/telemetry/devices", params={"limit": 2}).json()
    rest = owner.get("/telemetry/devices", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [each["hardware_id"][-1] for each in first["devices"] + rest["devices"]] == ["2", "1", "0"]
    path = f"/telemetry/devices/{MAC[:-1]}0"
    assert owner.put(path, json={"friendly_name": "Ταράτσα"}).json()["friendly_name"] == "Ταράτσα"
    assert "friendly_name" not in owner.put(path, json={"friendly_name": None}).json()
    assert owner.put(path, json={"friendly_name": ""}).json()["error"] == "INVALID_VALUE"


def test_an_export_holds_every_reading_once_oldest_first(here: Installation) -> None:
    owner = here.person()
    fill(here, owner, 1200)
    table = owner.get(f"/telemetry/devices/{MAC}/export")
    assert table.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [float(row["t"]) for row in rows] == [float(n) for n in range(1199, -1, -1)]
    lines = owner.get(f"/telemetry/devices/{MAC}/export", params={"format": "jsonl"}).text.splitlines()
    assert [json.loads(line)["timestamp_ms"] for line in lines] == [int(row["timestamp_ms"]) for row in rows]
    assert owner.get(f"/telemetry/devices/{MAC}/export", params={"format": "xml"}).status_code == 400


def test_a_series_over_http_has_its_shape(here: Installation) -> None:
    owner = here.person()
    now = fill(here, owner, 100)
    path = f"/telemetry/devices/{MAC}/series"
    query: dict[str, Any] = {"metric": "t", "from": now - 99_000, "to": now, "points": 10, "fn": "max"}
    series = owner.get(path, params=query).json()
    assert (series["metric"], series["fn"], series["bucket_ms"]) == ("t", "max", 9901)
    assert len(series["points"]) in (10, 11)
    assert max(value for _, value in series["points"]) == 99
    assert len(owner.get(path, params={**query, "fn": "lttb"}).json()["points"]) == 10
    assert owner.get(path, params={**query, "points": 2001}).status_code == 400
    assert owner.get(path, params={**query, "fn": "median"}).status_code == 400
    assert owner.get(path).status_code == 400


VALUES = st.lists(
    st.tuples(st.integers(0, 10**7), st.floats(-1e6, 1e6)), min_size=1, max_size=200, unique_by=lambda p: p[0]
).map(sorted)


@given(VALUES, st.integers(1, 10**6))
def test_buckets_hold_what_lies_in_them(points: list[Point], bucket_ms: int) -> None:
    parts = [Part.of(*point) for point in points]
    by_bucket: dict[int, list[float]] = {}
    for at, value in points:
        by_bucket.setdefault(at // bucket_ms * bucket_ms, []).append(value)
    for fn, reduce in (("min", min), ("max", max), ("last", lambda values: values[-1])):
        expected = [(start, reduce(values)) for start, values in sorted(by_bucket.items())]
        assert bucketed(parts, bucket_ms=bucket_ms, fn=fn) == expected  # type: ignore[arg-type]
    for start, value in bucketed(parts, bucket_ms=bucket_ms, fn="avg"):
        assert min(by_bucket[start]) <= value <= max(by_bucket[start])


@given(VALUES, st.integers(1, 300))
def test_lttb_keeps_the_ends_the_order_and_the_count(points: list[Point], count: int) -> None:
    chosen = lttb(points, count)
    assert len(chosen) == min(count, len(points))
    assert chosen == sorted(set(chosen) & set(points))
    assert chosen[0] == points[0]
    if count > 1:
        assert chosen[-1] == points[-1]


@pytest.mark.anyio
async def test_hours_are_rolled_up_from_all_readings_however_late(floor: Floor) -> None:
    base = floor.now() // DAY_MS * DAY_MS - 3 * DAY_MS
    await floor.send(*(reading(base + n * 60_000, sensors={"t": n}) for n in range(90)))
    assert await Hours(floor.db).between(HW, "t", base, base + DAY_MS).all() == []
    floor.clock.advance(2 * 3600)
    await floor.work.run_due()
    first, second = await Hours(floor.db).between(HW, "t", base, base + DAY_MS).all()
    assert (first.count, first.total, first.low, first.high, first.last) == (60, 1770, 0, 59, 59)
    assert (second.count, second.last_ms) == (30, base + 89 * 60_000)
    assert second.expiration_time == second.hour_ms // 1000 + 2 * 365 * 24 * 3600
    await floor.send(reading(base + 100 * 60_000, sensors={"t": 500}))
    floor.clock.advance(2 * 3600)
    await floor.work.run_due()
    assert (await Hours(floor.db).one(HW, "t", second.hour_ms).required()).high == 500


@pytest.mark.anyio
async def test_a_device_that_reports_all_day_is_rolled_up_all_day(floor: Floor) -> None:
    rolled = []
    for _ in range(30):
        await floor.send(reading(floor.now(), sensors={"t": 1}))
        floor.clock.advance(600)
        await floor.work.run_due()
        rolled.append(len(await Hours(floor.db).between(HW, "t", 0, 9_999_999_999_999).all()))
    assert rolled[-1] >= 3


@pytest.mark.anyio
async def test_hours_outlive_their_readings(floor: Floor) -> None:
    at = floor.now() // HOUR_MS * HOUR_MS
    await floor.send(reading(at, sensors={"t": 7}))
    floor.clock.advance(2 * 3600)
    await floor.work.run_due()
    floor.clock.advance(100 * 24 * 3600)
    assert await Readings(floor.db).latest(HW) is None
    span = Range(at - 200 * HOUR_MS, at + 200 * HOUR_MS)
    series = await floor.part.readings.series(HW, "t", span, points=100, fn="avg")
    assert [value for _, value in series.points] == [7]


@pytest.mark.anyio
async def test_a_long_series_is_the_same_from_hours_and_from_readings(floor: Floor) -> None:
    end = floor.now() // HOUR_MS * HOUR_MS
    sent = [reading(end - n * 600_000, sensors={"t": n % 17}) for n in range(600)]
    for first in range(0, 600, 100):
        await floor.send(*sent[first : first + 100])
    floor.clock.advance(2 * 3600)
    await floor.work.run_due()
    span = Range(end - 100 * HOUR_MS, end + HOUR_MS - 1)
    parts = [Part.of(each["timestamp_ms"], each["sensors"]["t"]) for each in sent]
    for fn in ("avg", "min", "max", "last"):
        series = await floor.part.readings.series(HW, "t", span, points=50, fn=fn)
        assert series.bucket_ms % HOUR_MS == 0
        expected = bucketed(parts, bucket_ms=series.bucket_ms, fn=fn)
        assert [at for at, _ in series.points] == [at for at, _ in expected]
        assert [value for _, value in series.points] == pytest.approx([value for _, value in expected])


@pytest.mark.anyio
async def test_an_export_holds_a_bounded_part_at_a_time(floor: Floor) -> None:
    for first in range(0, 1100, 100):
        await floor.send(*(reading(floor.now() - n * 1000) for n in range(first, first + 100)))
    device = await floor.part.devices.one(MAC, ANN)
    parts = [part async for part in floor.part.readings.export(device, Range(0, floor.now()), "jsonl")]
    assert [part.count(b"\n") for part in parts] == [500, 500, 100]


@pytest.mark.anyio
async def test_a_device_above_one_write_a_second_is_hot_and_a_burst_is_not(floor: Floor) -> None:
    await floor.send(*(reading(floor.now() - n) for n in range(100)))
    floor.clock.advance(301)
    await floor.send(reading(floor.now()))
    assert floor.part.heat.hot == {}
    for minute in range(6):
        await floor.send(*(reading(floor.now() - n) for n in range(100)))
        floor.clock.advance(61 if minute == 5 else 50)
    await floor.send(reading(floor.now()))
    assert list(floor.part.heat.hot) == [MAC]


@pytest.mark.anyio
async def test_all_of_a_person_who_leaves_is_deleted(floor: Floor) -> None:
    await floor.part.keys.make(ANN, None)
    await floor.send(*(reading(floor.now() - n * 1000) for n in range(20)))
    floor.clock.advance(2 * 3600)
    await floor.work.run_due()
    floor.clock.advance(1)
    cleared = await floor.part.clean_up(Leaving(ANN), None)
    while cleared.cursor is not None:
        cleared = await floor.part.clean_up(Leaving(ANN), cleared.cursor)
    floor.engine.set_chaos(None)
    for table in ("devices", "device_readings", "api_keys", "telemetry_hours"):
        assert (await floor.engine.call("Scan", {"TableName": table}))["Count"] == 0, table
