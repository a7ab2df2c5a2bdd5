"""W3C trace context: a caller's trace is continued, else one begins here."""

from __future__ import annotations

import os
import re

import msgspec

_TRACEPARENT = re.compile(
    r"(?!ff)(?P<version>[0-9a-f]{2})-(?P<trace>(?!0{32})[0-9a-f]{32})-(?P<parent>(?!0{16})[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})"
    r"(?P<more>-.*)?"
)


class Trace(msgspec.Struct, frozen=True):
    """The trace that a request is part of, and the span of this request in it."""

    trace_id: str
    span_id: str
    parent_id: str | None
    flags: str

    @property
    def traceparent(self) -> str:
        """What is sent on, so that the next one continues this span."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}"


def continued(traceparent: str | None) -> Trace:
    """A new span in the caller's trace, or in a trace of its own when there is none that can be read."""
    span_id = os.urandom(8).hex()
    found = _TRACEPARENT.fullmatch(traceparent) if traceparent else None
    if found is None or (found["version"] == "00" and found["more"]):
        return Trace(os.urandom(16).hex(), span_id, None, "00")
    # Of the flags only "sampled" is known; the others must not be passed on.
    return Trace(found["trace"], span_id, found["parent"], f"{int(found['flags'], 16) & 1:02x}")
