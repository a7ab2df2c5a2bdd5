"""The fleet's decisions: ids, times, uptime."""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entrepot.fleet.errors import WrongValue
from entrepot.fleet.rules import (
    Change,
    is_composite_id,
    is_project_id,
    kept_ts,
    key_hash,
    key_hint,
    new_key,
    read_time,
    uptime_between,
)

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


@pytest.mark.parametrize("name", ["PROJ0", "PROJ1", "PROJ10", "PROJ999", "P1000", "P9999"])
def test_every_id_of_the_sequence_can_name_a_project_and_its_boards(name: str) -> None:
    assert is_project_id(name)
    for number in range(1, 21):
        assert is_composite_id(f"{name}-ESP{number}")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "PROJ",
        "PROJ007",
        "PROJ1000",
        "P0000",
        "P999",
        "P10000",
        "proj1",
        " PROJ1",
        "PROJ1\n",
        "PROJ\u0661",
        "ABCD",
    ],
)
def test_no_other_spelling_can(name: str) -> None:
    assert not is_project_id(name)
    assert not is_composite_id(f"{name}-ESP1")


@pytest.mark.parametrize("number", ["0", "21", "01", "100", "-1", "", "1 ", "1\n", "\u0661"])
def test_numbers_are_1_to_20_in_one_spelling(number: str) -> None:
    assert not is_composite_id(f"PROJ1-ESP{number}")


@given(st.integers(1, 9999))
def test_ids_of_the_sequence_are_no_longer_than_the_eeprom_has_room_for(number: int) -> None:
    name = f"PROJ{number}" if number < 1000 else f"P{number}"
    assert is_project_id(name)
    assert len(f"{name}-ESP20") <= 14


def test_keys_are_64_hex_digits_and_never_the_same() -> None:
    keys = {new_key() for _ in range(100)}
    assert len(keys) == 100
    assert all(re.fullmatch("[0-9a-f]{64}", key) for key in keys)
    key = keys.pop()
    assert key not in key_hash(key) + key_hint(key)
    assert len(key_hint(key)) == 5


@given(st.integers(-100_000, 100_000))
def test_a_kept_time_is_within_the_last_day_and_never_ahead(offset_seconds: int) -> None:
    said = NOON + timedelta(seconds=offset_seconds)
    kept = kept_ts(said.isoformat(), NOON)
    assert NOON - timedelta(hours=24) <= kept <= NOON
    assert kept in (said, NOON)


def test_times_are_read_as_text_seconds_or_milliseconds() -> None:
    seconds = int(NOON.timestamp())
    assert read_time("ts", "2026-05-01T14:00:00+02:00") == NOON
    assert read_time("ts", seconds) == read_time("ts", seconds * 1000) == NOON
    for wrong in ("yesterday", "2026-05-01", "2026-05-01T12:00:00", 10**18, -(10**15)):
        with pytest.raises(WrongValue):
            read_time("ts", wrong)


def test_uptime_of_a_board_that_was_always_there_is_one() -> None:
    found = uptime_between([Change(NOON - minutes(60), "online")], NOON, NOON + minutes(10))
    assert (found.share, found.outages) == (1.0, [])


def test_uptime_begins_with_the_first_heartbeat() -> None:
    changes = [Change(NOON + minutes(5), "online"), Change(NOON + minutes(9), "offline")]
    found = uptime_between(changes, NOON, NOON + minutes(10))
    assert found.share == pytest.approx(0.8)
    assert found.outages[0].seconds == 60


def test_uptime_cuts_outages_at_the_ends_of_the_time() -> None:
    changes = [
        Change(NOON - minutes(5), "offline"),
        Change(NOON + minutes(1), "online"),
        Change(NOON + minutes(9), "offline"),
    ]
    found = uptime_between(changes, NOON, NOON + minutes(10))
    assert [outage.seconds for outage in found.outages] == [60, 60]
    assert found.share == pytest.approx(0.8)
    assert found.outages[0].from_ == "2026-05-01T12:00:00.000Z"


def test_uptime_of_a_board_that_never_spoke_is_unknown() -> None:
    assert uptime_between([], NOON, NOON + minutes(10)).share is None
    assert uptime_between([Change(NOON + minutes(20), "online")], NOON, NOON + minutes(10)).share is None


@given(st.lists(st.tuples(st.integers(-100, 200), st.sampled_from(["online", "offline"])), max_size=20))
def test_uptime_and_outages_fill_the_time(steps: list[tuple[int, str]]) -> None:
    steps.sort(key=lambda step: step[0])
    changes = [Change(NOON + minutes(at), to) for at, to in steps]  # type: ignore[arg-type]
    found = uptime_between(changes, NOON, NOON + minutes(100))
    if found.share is None:
        assert found.outages == []
        return
    assert 0 <= found.share <= 1
    ends = [(outage.from_, outage.to) for outage in found.outages]
    assert ends == sorted(ends)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(ends))
