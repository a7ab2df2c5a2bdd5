"""Waiting for something that happens elsewhere, within a bound."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

SECONDS_MAX = 40.0


def until(holds: Callable[[], bool]) -> None:
    """Return when it holds; fail when it does not in time."""
    end = time.monotonic() + SECONDS_MAX
    pause = threading.Event()
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        pause.wait(0.05)
