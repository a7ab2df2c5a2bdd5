"""Alerts: thresholds with hysteresis, silence only while somebody listened, told once and in groups."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from entrepot.telemetry.errors import Unfit
from entrepot.telemetry.events import DomainEvent
from entrepot.telemetry.model import Alert
from entrepot.telemetry.thresholds import AlertBody
from tests.telemetry.conftest import Installation
from tests.telemetry.floor import ANN, BOB, MAC, Floor, reading

MINUTE = 60


async def alert(floor: Floor, **terms: Any) -> Alert:
    return await floor.part.alerts.make(ANN, AlertBody(**terms))


async def measure(floor: Floor, value: float, *, mac: str = MAC, ago_ms: int = 0) -> None:
    floor.clock.advance(1)
    answer = await floor.send(reading(floor.now() - ago_ms, mac=mac, sensors={"t": value}))
    assert len(answer.acknowledged_batch_ids) == 1


async def told(floor: Floor) -> list[list[tuple[str, str]]]:
    """The devices and states of each event that is told by now."""
    floor.clock.advance(20)
    await floor.work.run_due()
    events, floor.events = floor.events, []
    return [[(each["hardware_id"], each["state"]) for each in event.data["devices"]] for event in events]


async def listen(floor: Floor, seconds: float) -> None:
    """Let time go by while somebody listens."""
    while seconds > 0:
        floor.clock.advance(min(seconds, 30))
        await floor.part.silence.listen()
        seconds -= 30


@pytest.mark.anyio
async def test_a_crossing_is_told_once_and_ends_past_its_hysteresis(floor: Floor) -> None:
    await alert(floor, metric="t", above=30, hysteresis=2)
    for value in (29, 30, 31, 35, 29, 31):
        await measure(floor, value)
    assert await told(floor) == [[(MAC, "raised")]]
    await measure(floor, 28.0)
    assert await told(floor) == [[(MAC, "cleared")]]
    await measure(floor, 29)
    assert await told(floor) == []


@pytest.mark.anyio
async def test_the_event_names_the_alert_the_value_and_the_owner(floor: Floor) -> None:
    made = await alert(floor, metric="t", below=5, hardware_id=MAC)
    await measure(floor, 4)
    floor.clock.advance(20)
    await floor.work.run_due()
    (event,) = floor.events
    assert (event.type, event.subject, event.user_id) == ("telemetry.threshold.crossed", MAC, ANN)
    assert event.data["alert_id"] == made.alert_id
    assert (event.data["metric"], event.data["below"]) == ("t", 5)
    assert event.data["devices"][0]["value"] == 4


@pytest.mark.anyio
async def test_a_replayed_reading_alerts_on_nobody_again(floor: Floor) -> None:
    await alert(floor, metric="t", above=30)
    hot = reading(floor.now(), sensors={"t": 40})
    await asyncio.gather(*(floor.send(hot) for _ in range(8)))
    assert await told(floor) == [[(MAC, "raised")]]
    await measure(floor, 20)
    await floor.send(hot)
    assert await told(floor) == [[(MAC, "cleared")]]


@pytest.mark.anyio
async def test_a_late_reading_does_not_move_the_state(floor: Floor) -> None:
    await alert(floor, metric="t", above=30)
    await measure(floor, 40)
    await measure(floor, 20, ago_ms=60_000)
    await measure(floor, 50, ago_ms=2 * 24 * 3_600_000)
    assert await told(floor) == [[(MAC, "raised")]]


@pytest.mark.anyio
async def test_many_crossings_in_one_request_leave_the_state_of_the_newest(floor: Floor) -> None:
    made = await alert(floor, metric="t", above=30)
    values = [40, 20, 40, 20, 40]
    sent = [reading(floor.now() - n * 1000, sensors={"t": value}) for n, value in enumerate(values)]
    assert len((await floor.send(*sent)).acknowledged_batch_ids) == 5
    assert await floor.part.alerts.raised(made) == [MAC]
    assert [state for event in await told(floor) for _, state in event] == [
        "raised",
        "cleared",
        "raised",
        "cleared",
        "raised",
    ]


@pytest.mark.anyio
async def test_crossings_of_many_devices_at_once_are_one_event(floor: Floor) -> None:
    await alert(floor, metric="t", above=30)
    floor.clock.advance(10 - floor.now() / 1000 % 10)
    macs = [f"AA:BB:CC:DD:EE:{n:02X}" for n in range(8)]
    for mac in macs:
        await floor.send(reading(floor.now(), mac=mac, sensors={"t": 50}))
    (event,) = await told(floor)
    assert sorted(event) == [(mac, "raised") for mac in macs]


@pytest.mark.anyio
async def test_others_alerts_are_not_about_my_devices(floor: Floor) -> None:
    await floor.part.alerts.make(BOB, AlertBody(metric="t", above=30))
    await alert(floor, metric="t", above=30, is_active=False)
    await alert(floor, metric="t", above=30, hardware_id="AA:BB:CC:DD:EE:00")
    await measure(floor, 50)
    assert await told(floor) == []


@pytest.mark.anyio
async def test_crossings_hold_on_an_unkind_store(floor: Floor) -> None:
    await alert(floor, metric="t", above=30)
    floor.engine.set_chaos("throttle=0.1,conflict=0.2,index_lag_ms=100")
    sent = [reading(floor.now() - n * 1000, sensors={"t": 40 if n % 2 else 20}) for n in range(10)]
    answers = await asyncio.gather(*(floor.send(*sent[n::3]) for n in range(3)))
    assert sum(len(answer.acknowledged_batch_ids) for answer in answers) == 10
    floor.engine.set_chaos(None)
    states = [state for event in await told(floor) for _, state in event]
    assert states == ["raised", "cleared"] * (len(states) // 2) + ["raised"] * (len(states) % 2)


@pytest.mark.anyio
async def test_a_silent_device_is_told_once_and_again_after_it_came_back(floor: Floor) -> None:
    await alert(floor, silent_for=10 * MINUTE)
    await floor.part.silence.listen(fresh=True)
    await measure(floor, 1)
    await listen(floor, 14 * MINUTE)
    assert await floor.part.silence.sweep() == 0
    await listen(floor, 2 * MINUTE)
    assert await floor.part.silence.sweep() == 1
    assert await floor.part.silence.sweep() == 0
    floor.clock.advance(20)
    await floor.part.silence.listen()
    await floor.work.run_due()
    assert [(event.type, event.subject) for event in floor.events] == [("telemetry.device.silent", MAC)]
    floor.events = []
    await measure(floor, 1)
    floor.clock.advance(1)
    assert await floor.part.silence.sweep() == 1
    await listen(floor, 16 * MINUTE)
    assert await floor.part.silence.sweep() == 1
    assert await told(floor) == [[(MAC, "raised")]]


@pytest.mark.anyio
async def test_an_outage_or_a_restart_of_ours_alerts_on_nobody(floor: Floor) -> None:
    await alert(floor, silent_for=10 * MINUTE)
    await floor.part.silence.listen(fresh=True)
    await measure(floor, 1)
    floor.clock.advance(24 * 3600)
    assert await floor.part.silence.sweep() == 0
    await floor.part.silence.listen()
    assert await floor.part.silence.sweep() == 0
    await listen(floor, 14 * MINUTE)
    await floor.part.silence.listen(fresh=True)
    await listen(floor, 10 * MINUTE)
    assert await floor.part.silence.sweep() == 0
    await listen(floor, 6 * MINUTE)
    assert await floor.part.silence.sweep() == 1


@pytest.mark.anyio
async def test_devices_that_fall_silent_together_are_one_event(floor: Floor) -> None:
    await alert(floor, silent_for=10 * MINUTE)
    await floor.part.silence.listen(fresh=True)
    macs = [f"AA:BB:CC:DD:EE:{n:02X}" for n in range(100)]
    await floor.send(*(reading(floor.now(), mac=mac) for mac in macs))
    await listen(floor, 16 * MINUTE)
    floor.clock.advance(10 - floor.now() / 1000 % 10)
    assert await floor.part.silence.sweep() == 100
    assert [len(event) for event in await told(floor)] == [90, 10]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"metric": "t"},
        {"metric": "t", "above": 1, "below": 2},
        {"above": 1},
        {"silent_for": 10},
        {"silent_for": 600, "metric": "t"},
        {"metric": "t", "above": 1e300},
        {"metric": "t", "above": 1, "hysteresis": -1},
        {"metric": "t", "above": 1, "hardware_id": "nobody"},
    ],
)
async def test_terms_that_make_no_sense_are_refused(floor: Floor, terms: dict[str, Any]) -> None:
    with pytest.raises(Unfit):
        await alert(floor, **terms)


def test_alerts_are_kept_by_their_owner_over_http(here: Installation) -> None:
    ann, bob = here.person(), here.person()
    made = ann.post("/telemetry/alerts", json={"metric": "t", "above": 30, "hysteresis": 1})
    assert made.status_code == 201, made.text
    path = f"/telemetry/alerts/{made.json()['alert_id']}"
    assert ann.get(path).json()["raised_for"] == []
    device = here.device(ann)
    device.post("/telemetry/data", json={"readings": [reading(here.clock.epoch_ms(), sensors={"t": 31})]})
    assert ann.get(path).json()["raised_for"] == [MAC]
    changed = ann.patch(path, json={"above": 40, "is_active": False}).json()
    assert (changed["above"], changed["metric"], changed["is_active"]) == (40, "t", False)
    assert ann.get(path).json()["raised_for"] == []
    assert bob.get(path).json()["error"] == "ALERT_NOT_FOUND"
    assert ann.patch(path, json={"above": None}).status_code == 400
    assert [each["alert_id"] for each in ann.get("/telemetry/alerts").json()["alerts"]] == [
        made.json()["alert_id"]
    ]
    assert ann.delete(path).status_code == 204
    assert ann.get(path).status_code == 404
    assert here.operator().get("/telemetry/alerts").status_code == 403


@pytest.mark.anyio
async def test_an_event_that_is_told_again_after_a_failure_is_the_same_event(floor: Floor) -> None:
    await alert(floor, metric="t", above=30)
    await measure(floor, 40)
    failing = floor.part.notices
    events: list[str] = []

    async def publish(event: DomainEvent) -> None:
        events.append(event.id)
        if len(events) == 1:
            raise ConnectionError("the relay is away")

    failing._publish = publish
    floor.clock.advance(20)
    await floor.work.run_due()
    await measure(floor, 20)
    floor.clock.advance(60)
    await floor.work.run_due()
    assert len(events) == 3
    assert len(set(events)) == 2
