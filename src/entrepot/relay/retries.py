"""When a delivery is tried again, and when it is given up: pure decisions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from entrepot.relay.model import ATTEMPTS_MAX

DELAYS_SECONDS = (0.0, 30.0, 120.0, 900.0, 3600.0, 14_400.0, 43_200.0, 86_400.0)
DELAY_SECONDS_MAX = 7 * 86_400
TIMEOUT_SECONDS = 10.0
TIMEOUT_SECONDS_MAX = 30.0
RETRY_AFTER_SECONDS_MAX = 86_400.0
JITTER = 0.1
CONFIGS_KEPT = 1024
GONE = 410

Delay = Annotated[float, Meta(ge=0, le=DELAY_SECONDS_MAX)]


class RetryConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """A connection's own schedule; `delays[n]` is how long attempt n + 1 waits."""

    delays: Annotated[tuple[Delay, ...], Meta(min_length=1, max_length=ATTEMPTS_MAX)] = DELAYS_SECONDS
    retryableStatuses: tuple[Annotated[int, Meta(ge=100, le=599)], ...] | None = None
    timeoutSeconds: Annotated[float, Meta(gt=0, le=TIMEOUT_SECONDS_MAX)] = TIMEOUT_SECONDS


class Delivered(msgspec.Struct, frozen=True):
    """The destination has taken it."""


class Retry(msgspec.Struct, frozen=True):
    """It is tried again at this time."""

    at_ms: int


class GivenUp(msgspec.Struct, frozen=True):
    """It is not tried again."""

    cause: str


Decision = Delivered | Retry | GivenUp


@functools.lru_cache(maxsize=CONFIGS_KEPT)
def parse(text: str) -> RetryConfig:
    """The schedule as a connection stores it."""
    return msgspec.json.decode(text or "{}", type=RetryConfig)


def decide(
    config: RetryConfig,
    *,
    status: int,
    attempts: int,
    now_ms: int,
    expires_at: int,
    retry_after_seconds: float | None,
    random: Callable[[], float],
) -> Decision:
    """What follows from the answer (status 0: there was none) to the last of so many attempts."""
    if 200 <= status < 300:
        return Delivered()
    if not is_retryable(config, status):
        return GivenUp(f"status {status} is not retried")
    if attempts >= len(config.delays):
        return GivenUp(f"{attempts} attempts failed")
    wait = config.delays[attempts] * (1 - JITTER + 2 * JITTER * random())
    if retry_after_seconds is not None:
        wait = max(wait, min(retry_after_seconds, RETRY_AFTER_SECONDS_MAX))
    at_ms = now_ms + round(wait * 1000)
    return GivenUp("retention") if at_ms >= expires_at * 1000 else Retry(at_ms)


def is_retryable(config: RetryConfig, status: int) -> bool:
    """Whether an answer that is no success leads to another attempt; no answer at all always does."""
    if status == 0:
        return True
    if config.retryableStatuses is not None:
        return status in config.retryableStatuses
    return status != GONE


def retry_after(text: str | None, now_ms: int) -> float | None:
    """The seconds of a Retry-After header, which may be a date; None without one that can be read."""
    if text is None:
        return None
    if text.strip().isascii() and text.strip().isdigit():
        return float(text.strip()[:10])
    try:
        at = parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, at - now_ms / 1000)
