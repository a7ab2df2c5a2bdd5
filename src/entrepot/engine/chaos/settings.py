"""What chaos is asked for: a setting per kind of unkindness, for all tables or for one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

TABLE_NAME = re.compile(r"[a-zA-Z0-9_.-]{3,255}")
MILLISECONDS_MAX = 3_600_000.0


class ChaosError(ValueError):
    """A setting of chaos is not known, or has no such value."""


class Unkindness(msgspec.Struct, frozen=True, kw_only=True):
    """What a table does to its requests: probabilities from 0 to 1, and times in milliseconds."""

    index_lag_ms: float = 0.0
    """A global index shows a write only after this time."""
    index_lag_jitter_ms: float = 0.0
    """Up to this much more, another time at each read."""
    stale: float = 0.0
    """How likely an eventually consistent read sees the state of `stale_ms` ago."""
    stale_ms: float = 1000.0
    throttle: float = 0.0
    """How likely the table has no capacity for a request."""
    request_limit: float = 0.0
    """How likely the account has none (RequestLimitExceeded)."""
    conflict: float = 0.0
    """How likely a write or a transaction meets a transaction on the same item."""
    in_progress: float = 0.0
    """How likely a transaction with a client token meets itself (TransactionInProgressException)."""
    unprocessed: float = 0.0
    """How likely an entry of a batch is left over; one is always carried out."""
    short_pages: float = 0.0
    """How likely a page of Query or Scan ends early."""
    slow: float = 1.0
    """How likely an answer takes up to `slow_ms` longer."""
    slow_ms: float = 0.0
    reset: float = 0.0
    """How likely a connection is cut off, before the work or after it."""


SETTINGS = Unkindness.__struct_fields__


class Chaos:
    """Settings for all tables, others for some, and the seed that makes them repeatable."""

    def __init__(
        self,
        *,
        seed: int | str = 0,
        tables: Mapping[str, Mapping[str, float]] | None = None,
        **settings: float,
    ) -> None:
        self.seed = seed
        self.everywhere = _unkindness(Unkindness(), settings, "")
        self.tables: dict[str, Unkindness] = {}
        for name, own in (tables or {}).items():
            if not TABLE_NAME.fullmatch(name):
                raise ChaosError(f"chaos: {name!r} is not the name of a table")
            self.tables[name] = _unkindness(self.everywhere, own, f"{name}.")

    @classmethod
    def parse(cls, text: str) -> Chaos:
        """Reads `throttle=0.05,index_lag_ms=500,orders.throttle=0.5,seed=7`: `orders.` is for that table alone."""
        everywhere: dict[str, float] = {}
        tables: dict[str, dict[str, float]] = {}
        seed: int | str | None = None
        for part in filter(None, (part.strip() for part in text.split(","))):
            place, equals, given = (word.strip() for word in part.partition("="))
            if not equals or not given:
                raise ChaosError(f"chaos: {part!r} is not of the form name=value")
            table, _, name = place.rpartition(".")
            if place == "seed":
                if seed is not None:
                    raise ChaosError("chaos: seed is given twice")
                seed = int(given) if given.lstrip("-").isdecimal() else given
                continue
            chosen = tables.setdefault(table, {}) if table else everywhere
            if name in chosen:
                raise ChaosError(f"chaos: {place} is given twice")
            chosen[name] = _number(place, given)
        return cls(seed=0 if seed is None else seed, tables=tables, **everywhere)

    def of(self, table: str) -> Unkindness:
        """The settings of one table."""
        return self.tables.get(table, self.everywhere)

    def seeded(self, seed: int | str) -> Chaos:
        """The same settings with another seed."""
        other = Chaos(seed=seed)
        other.everywhere, other.tables = self.everywhere, dict(self.tables)
        return other

    @property
    def memory_seconds(self) -> float:
        """How far back a read may look under these settings."""
        return max(_memory_ms(each) for each in (self.everywhere, *self.tables.values())) / 1000

    def __str__(self) -> str:
        plain = Unkindness()
        parts = _differences(plain, self.everywhere, "")
        for name, own in self.tables.items():
            parts += _differences(self.everywhere, own, f"{name}.")
        return ",".join([*parts, f"seed={self.seed}"])

    def __repr__(self) -> str:
        return f"Chaos({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chaos) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def _unkindness(start: Unkindness, settings: Mapping[str, Any], place: str) -> Unkindness:
    for name, value in settings.items():
        _demand(name, value, place)
    return msgspec.structs.replace(start, **{name: float(value) for name, value in settings.items()})


def _demand(name: str, value: Any, place: str) -> None:
    if name not in SETTINGS:
        rest = "; a seed is for all tables" if name == "seed" else ""
        raise ChaosError(
            f"chaos: unknown setting {place + name!r}{rest}; there are {', '.join(SETTINGS)}, seed"
        )
    if not isinstance(value, (int, float)) or isinstance(value, bool) or math.isnan(value):
        raise ChaosError(f"chaos: {place}{name}={value!r} is not a number")
    if name.endswith("_ms"):
        if not 0 <= value <= MILLISECONDS_MAX:
            raise ChaosError(
                f"chaos: {place}{name}={value:g} is not between 0 and {MILLISECONDS_MAX:.0f} milliseconds"
            )
    elif not 0 <= value <= 1:
        raise ChaosError(f"chaos: {place}{name}={value:g} is not a probability between 0 and 1")


def _number(place: str, given: str) -> float:
    try:
        return float(given)
    except ValueError:
        raise ChaosError(f"chaos: {place}={given} is not a number") from None


def _memory_ms(settings: Unkindness) -> float:
    lag = settings.index_lag_ms + settings.index_lag_jitter_ms
    return max(lag, settings.stale_ms if settings.stale else 0.0)


def _differences(start: Unkindness, other: Unkindness, place: str) -> list[str]:
    return [
        f"{place}{name}={getattr(other, name):g}"
        for name in SETTINGS
        if getattr(other, name) != getattr(start, name)
    ]
