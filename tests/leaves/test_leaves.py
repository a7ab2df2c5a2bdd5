"""The clock, identifiers and logs."""

from __future__ import annotations

import io
import itertools
import json
import logging
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entrepot import log
from entrepot.clock import Clock, stamp_of
from entrepot.ids import BASE62_ALPHABET, CROCKFORD_ALPHABET, NANOID_ALPHABET, Ulids, base62, nanoid, ulid_of


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)


def test_the_clock_moves_forward_only() -> None:
    clock = Clock(offset_seconds=3600)
    before = clock.epoch_ms()

    clock.advance(86400)

    assert 86_400_000 <= clock.epoch_ms() - before < 86_460_000
    with pytest.raises(ValueError, match="back"):
        clock.advance(-1)


def test_the_three_kinds_of_time_agree() -> None:
    clock = Clock()

    assert abs(clock.epoch_seconds() - clock.epoch_ms() / 1000) < 2
    assert abs(clock.utc().timestamp() - clock.epoch_seconds()) < 2
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", clock.stamp())
    assert stamp_of(1_700_000_000_999) == "2023-11-14T22:13:20Z"


@given(st.integers(1, 64))
def test_random_ids_have_their_size_and_alphabet(size: int) -> None:
    assert re.fullmatch(rf"[{re.escape(NANOID_ALPHABET)}]{{{size}}}", nanoid(size))
    assert re.fullmatch(rf"[{BASE62_ALPHABET}]{{{size}}}", base62(size))


def test_the_alphabets_are_complete() -> None:
    assert len(set(NANOID_ALPHABET)) == 64
    assert len(set(BASE62_ALPHABET)) == 62
    assert set(base62(20_000)) == set(BASE62_ALPHABET)


@given(st.lists(st.integers(0, 2**48 - 2), min_size=2, max_size=50))
def test_ulids_rise_whatever_the_clock_does(times: list[int]) -> None:
    ulids = Ulids()

    made = [ulids.make(time) for time in times]

    assert all(before < after for before, after in itertools.pairwise(made))
    assert all(len(ulid) == 26 and set(ulid) <= set(CROCKFORD_ALPHABET) for ulid in made)


def test_a_ulid_is_its_time_and_its_random_bits() -> None:
    assert ulid_of(1469918176385, 0) == "01ARYZ6S410000000000000000"
    assert ulid_of(2**48 - 1, 2**80 - 1) == "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"


SECRETS = [
    "Authorization: Bearer {}",
    "authorization=Basic {}",
    "token={}&next=1",
    '"password": "{}"',
    "'client_secret': '{}'",
    "postgres://user:{}@host/db",
    "Cookie: theme=dark; session={}",
    "X-API-Key: {}",
    "ENTREPOT_ADMIN_TOKEN={}",
]


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_never_reaches_the_log(text: str, root_logger: logging.Logger) -> None:
    stream = io.StringIO()
    log.configure("info", "json", stream)

    root_logger.info(
        "sent %s", text.format("s3cr3tValue"), extra=log.fields(header=text.format("s3cr3tValue"))
    )

    assert "s3cr3tValue" not in stream.getvalue()
    assert "***" in stream.getvalue()


def test_a_key_is_scrubbed_wherever_it_stands() -> None:
    assert log.scrub("bad key ek_" + "a" * 43) == "bad key ***"
    assert log.scrub("hash " + "0f" * 32 + " unknown") == "hash *** unknown"
    assert log.scrub("GET /telemetry/devices 200") == "GET /telemetry/devices 200"


def test_logs_are_json_off_a_terminal_with_what_is_bound(root_logger: logging.Logger) -> None:
    stream = io.StringIO()
    log.configure("info", "auto", stream)

    with log.bind(request_id="r1"):
        root_logger.warning("low on %s", "disk", extra=log.fields(free=3))
    root_logger.debug("not shown")

    (line,) = [json.loads(text) for text in stream.getvalue().splitlines()]
    assert {name: line[name] for name in ("level", "message", "request_id", "free")} == {
        "level": "warning", "message": "low on disk", "request_id": "r1", "free": 3,
    }  # fmt: skip
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])


def test_logs_are_readable_when_asked(root_logger: logging.Logger) -> None:
    stream = io.StringIO()
    log.configure("info", "text", stream)

    root_logger.info("store opened", extra=log.fields(tables=3))
    try:
        raise ValueError("token=abc")
    except ValueError:
        root_logger.exception("failed")

    first, *rest = stream.getvalue().splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d info    store opened  tables=3", first)
    assert rest[-1] == "ValueError: token=***"
