"""The simulator's reconciliation, at a small size, against a real server; and that it notices what is wrong."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from click.testing import CliRunner

from entrepot.cli.simulate import command
from entrepot.telemetry.simulation import HABITS, Account, Sensor, habits_of
from tests.telemetry.conftest import Installation


def test_a_simulated_fleet_is_stored_exactly_once(here: Installation) -> None:
    owner = here.person()
    key = here.key_of(owner)
    words = ["--url", here.url, "--key", key, "--devices", "40", "--minutes", "20", "--speed", "100000"]
    result = CliRunner().invoke(command, ["telemetry", *words, "--seed", "7"])
    assert result.exit_code == 0, result.output
    assert "Reconciled" in result.output
    devices = owner.get("/telemetry/devices", params={"limit": 200}).json()["devices"]
    counts = Counter(
        len(owner.get(f"/telemetry/devices/{device['hardware_id']}/readings").json()["readings"])
        for device in devices
    )
    assert counts == {20: 39}
    assert "20 refused for a wrong key" in result.output


def test_a_hundred_devices_have_the_habits_of_real_ones() -> None:
    habits = habits_of(100, random.Random(1))
    assert Counter(habits) == dict(HABITS)
    assert len(habits_of(7, random.Random(1))) == 7


@pytest.mark.parametrize(("lost", "doubled"), [(1, 0), (0, 1)])
def test_an_account_that_does_not_add_up_is_not_reconciled(lost: int, doubled: int) -> None:
    assert Account().reconciled
    assert not Account(lost=lost, doubled=doubled).reconciled


def test_a_batch_is_the_newest_first_and_bounded() -> None:
    sensor = Sensor(1, "reconnecting", random.Random(1))
    for minute in range(100):
        sensor.take(1_700_000_000_000 + minute, minute)
    assert sensor.next_batch(last=False) == []
    batch = sensor.next_batch(last=True)
    times = [body["timestamp_ms"] for body in batch]
    assert len(batch) == 46
    assert times == sorted(times, reverse=True)
    assert times[0] == 1_700_000_000_099
