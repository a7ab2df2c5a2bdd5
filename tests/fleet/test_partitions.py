"""Heartbeats by month: made ahead, dropped when they are over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.fleet.boards import beat, project, register
from tests.fleet.serving import Serving

PARTITIONS = (
    "SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid"
    " WHERE inhparent = 'device_heartbeats'::regclass ORDER BY 1"
)


def keep(sql: Any, at: datetime) -> tuple[list[str], list[str]]:
    [(made, dropped)] = sql("SELECT made, dropped FROM fleet_keep_partitions(%s)", at)
    return made, dropped


def months(sql: Any) -> list[str]:
    return [name.removeprefix("device_heartbeats_") for (name,) in sql(PARTITIONS)]


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (datetime(2031, 5, 15, tzinfo=UTC), ["2031_04", "2031_05", "2031_06", "2031_07"]),
        (datetime(2031, 3, 1, tzinfo=UTC), ["2031_01", "2031_02", "2031_03", "2031_04", "2031_05"]),
        (datetime(2031, 1, 31, 23, 59, 59, tzinfo=UTC), ["2031_01", "2031_02", "2031_03"]),
        (datetime(2031, 12, 1, tzinfo=UTC), ["2031_11", "2031_12", "2032_01", "2032_02"]),
    ],
)
def test_partitions_reach_from_a_month_ago_to_two_months_ahead(
    sql: Any, at: datetime, expected: list[str]
) -> None:
    keep(sql, at)
    assert [month for month in months(sql) if month >= "2031"] == expected
    assert keep(sql, at) == ([], []), "again changes nothing"


def test_a_partition_goes_when_all_of_it_is_older_than_30_days(sql: Any) -> None:
    keep(sql, datetime(2031, 5, 15, tzinfo=UTC))
    keep(sql, datetime(2031, 5, 31, tzinfo=UTC))
    assert "2031_04" in months(sql)
    _, dropped = keep(sql, datetime(2031, 5, 31, 0, 0, 1, tzinfo=UTC))
    assert dropped == ["device_heartbeats_2031_04"]


def test_a_year_of_upkeep_leaves_few_partitions_and_always_one_for_now(sql: Any) -> None:
    at = datetime(2031, 1, 1, tzinfo=UTC)
    for _ in range(73):
        keep(sql, at)
        assert at.strftime("%Y_%m") in months(sql)
        assert (at - timedelta(hours=24)).strftime("%Y_%m") in months(sql)
        assert len(months(sql)) <= 5
        at += timedelta(days=5)


def test_the_months_are_those_of_utc_whatever_the_server_thinks(sql: Any) -> None:
    sql("SET timezone = 'Pacific/Kiritimati'")
    made, _ = keep(sql, datetime(2031, 1, 31, 12, tzinfo=UTC))
    assert made == [f"device_heartbeats_2031_{month}" for month in ("01", "02", "03")]
    sql("SET timezone = 'UTC'")
    [(bounds,)] = sql(
        "SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname = 'device_heartbeats_2031_02'"
    )
    assert bounds == "FOR VALUES FROM ('2031-02-01 00:00:00+00') TO ('2031-03-01 00:00:00+00')"


def test_upkeep_drops_the_heartbeats_of_old_months_and_keeps_the_boards(fleet: Serving, sql: Any) -> None:
    board = register(fleet.alice, project(fleet.alice))
    beat(fleet, board)
    fleet.clock.advance(65 * 86400)
    made, dropped = fleet.run(fleet.part.work.keep_partitions())
    assert made
    assert dropped
    assert sql("SELECT (SELECT count(*) FROM device_heartbeats), (SELECT count(*) FROM devices)") == [(0, 1)]
    assert beat(fleet, board).status_code == 200
