"""Plans, as the settings give them."""

from __future__ import annotations

from pathlib import Path

import pytest

from entrepot.app import SECTIONS
from entrepot.relay.settings import Plans, Relay
from entrepot.settings import SettingsError, load


def test_plans_are_what_the_design_says() -> None:
    plans = Plans()
    rows = [plans.of(plan) for plan in ("free", "starter", "pro", "team")]
    assert [row.events_per_month for row in rows] == [5_000, 100_000, 1_000_000, 5_000_000]
    assert [row.sources for row in rows] == [3, 10, 50, 200]
    assert [row.connections_per_source for row in rows] == [2, 5, 20, 50]
    assert [row.inbound_per_minute for row in rows] == [100, 500, 2_000, 10_000]
    assert [row.retention_seconds for row in rows] == [86_400, 604_800, 2_592_000, 7_776_000]


def test_the_file_changes_one_number_of_one_plan(tmp_path: Path) -> None:
    (tmp_path / "entrepot.toml").write_text('[relay]\nplan = "free"\n[relay.plans.free]\nsources = 9\n')
    relay = load(SECTIONS, environment={}, directory=tmp_path)[Relay]
    assert (relay.plan, relay.plans.free.sources, relay.plans.free.inbound_per_minute) == ("free", 9, 100)


@pytest.mark.parametrize("line", ["sources = -1", "source = 1", "retention_seconds = 0"])
def test_a_wrong_number_stops_the_start(tmp_path: Path, line: str) -> None:
    (tmp_path / "entrepot.toml").write_text(f"[relay.plans.free]\n{line}\n")
    with pytest.raises(SettingsError, match=r"relay\.plans"):
        load(SECTIONS, environment={}, directory=tmp_path)
