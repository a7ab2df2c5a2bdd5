"""The settings of chaos: read from text, by table, with errors that name what is wrong."""

from __future__ import annotations

import pytest

from entrepot.engine import Chaos, ChaosError


def test_a_text_sets_all_tables_and_one() -> None:
    chaos = Chaos.parse(" index_lag_ms=500, throttle=0.05,my.orders.throttle=0.5 ,seed=7,")
    assert chaos.of("anything").throttle == 0.05
    assert chaos.of("my.orders").throttle == 0.5
    assert chaos.of("my.orders").index_lag_ms == 500
    assert chaos.seed == 7
    assert chaos == Chaos(seed=7, index_lag_ms=500, throttle=0.05, tables={"my.orders": {"throttle": 0.5}})


def test_every_setting_of_the_design_is_known() -> None:
    text = (
        "index_lag_ms=500,throttle=0.05,conflict=0.02,stale=0.1,unprocessed=0.3,short_pages=0.3,slow_ms=20,"
        "reset=0.01,in_progress=0.01,request_limit=0.01,seed=7"
    )
    assert Chaos.parse(str(Chaos.parse(text))) == Chaos.parse(text)
    assert Chaos.parse(text).of("t").reset == 0.01


def test_an_empty_text_is_kind() -> None:
    assert Chaos.parse("") == Chaos()
    assert Chaos.parse("").memory_seconds == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("throtle=0.5", "unknown setting 'throtle'; there are index_lag_ms"),
        ("orders.throtle=0.5", "unknown setting 'orders.throtle'"),
        ("throttle=1.5", "throttle=1.5 is not a probability between 0 and 1"),
        ("orders.conflict=-1", "orders.conflict=-1 is not a probability"),
        ("throttle=often", "throttle=often is not a number"),
        ("throttle=nan", "throttle=nan is not a number"),
        ("index_lag_ms=-5", "index_lag_ms=-5 is not between 0 and 3600000 milliseconds"),
        ("throttle", "'throttle' is not of the form name=value"),
        ("throttle=", "'throttle=' is not of the form name=value"),
        ("throttle=0.1,throttle=0.2", "throttle is given twice"),
        ("seed=1,seed=2", "seed is given twice"),
        ("orders.seed=1", "unknown setting 'orders.seed'; a seed is for all tables"),
        ("a b.throttle=1", "'a b' is not the name of a table"),
    ],
)
def test_a_wrong_text_is_told_by_name(text: str, words: str) -> None:
    with pytest.raises(ChaosError) as caught:
        Chaos.parse(text)
    assert words in str(caught.value)
