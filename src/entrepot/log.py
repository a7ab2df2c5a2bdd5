"""Structured logs on the standard library: JSON for machines, one readable line for people, never a secret.

log = logging.getLogger(__name__)
log.info("store opened", extra=fields(path=path, tables=3))
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

import msgspec

MASK = "***"
HASH_CHARACTERS = 10

_bound: ContextVar[Mapping[str, Any]] = ContextVar("bound", default={})  # noqa: B039 (never changed in place)

_SECRETS = re.compile(
    r"""(?ix)
    (?P<bearer>\b(?:bearer|basic)\s+)[^\s"',]+
    | \bek_[0-9a-z]{8,}                                   # account keys
    | \bwhsec_[0-9a-z+/=_-]+                              # signing secrets
    | \b[0-9a-f]{64}\b                                    # device keys and digests
    | (?P<cookie>\b(?:set-)?cookie["']?\s*[=:]\s*["']?)[^\r\n"']+
    | (?P<name>\b[a-z0-9_-]*(?:password|passwd|secret|token|api[_-]?key|authorization)["']?\s*[=:]\s*["']?)
      (?!bearer\s|basic\s)[^\s"'&,;}]+
    | (?P<user>://[^\s/:@]+:)[^\s/@]+(?=@)                # a password in an address
    """
)


def fields(**values: Any) -> dict[str, Any]:
    """The `extra` of a log call: named values that are logged beside the message."""
    return {"fields": values}


def clean(values: Mapping[str, Any]) -> dict[str, Any]:
    """The `extra` of a log call whose message and values hold no secret, so that none is looked for."""
    return {"fields": values, "clean": True}


@contextmanager
def bind(**values: Any) -> Iterator[None]:
    """Add these values to every log line of this task and those it starts."""
    token = _bound.set({**_bound.get(), **values})
    try:
        yield
    finally:
        _bound.reset(token)


def scrub(text: str) -> str:
    """The text without what looks like a password, a token, a key or a cookie."""
    return _SECRETS.sub(_masked, text)


def hashed(secret: bytes, value: str) -> str:
    """A short HMAC of a value that must not be logged, so that its lines can still be found together."""
    return hmac.new(secret, value.encode(), hashlib.sha256).hexdigest()[:HASH_CHARACTERS]


def configure(level: str, style: Literal["auto", "text", "json"], stream: TextIO | None = None) -> None:
    """Send all logs of the process to one stream, in one style."""
    stream = stream or sys.stderr
    on_terminal = stream.isatty()
    as_text = style == "text" or (style == "auto" and on_terminal)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TextFormatter(colours=on_terminal) if as_text else JsonFormatter())
    # No line of ours names a thread or a process, so they need not be found out.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # The server's own lines about starting and stopping repeat ours.
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.propagate = name != "uvicorn.access"
        logger.setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(_says_something_new)


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def __init__(self) -> None:
        super().__init__()
        self._encoder = msgspec.json.Encoder(enc_hook=str)

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _time(record).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
            **_bound.get(),
            **_fields(record),
        }
        if record.exc_info:
            line["error"] = scrub(self.formatException(record.exc_info))
        return self._encoder.encode(line).decode()


class TextFormatter(logging.Formatter):
    """A line for people: the time, the level, the message, and the fields behind it."""

    COLOURS = {"WARNING": "33", "ERROR": "31", "CRITICAL": "31", "DEBUG": "2"}

    def __init__(self, *, colours: bool) -> None:
        super().__init__()
        self._colours = colours

    def format(self, record: logging.LogRecord) -> str:
        values = {**_fields(record), **_bound.get()}
        pairs = " ".join(f"{name}={value}" for name, value in values.items() if value not in (None, ""))
        level = self._coloured(record.levelname, f"{record.levelname.lower():7}")
        line = f"{_time(record):%H:%M:%S} {level} {_message(record)}"
        if pairs:
            line = f"{line}  {self._coloured('DEBUG', pairs)}"
        if record.exc_info:
            line = f"{line}\n{scrub(self.formatException(record.exc_info))}"
        return line

    def _coloured(self, level: str, text: str) -> str:
        colour = self.COLOURS.get(level) if self._colours else None
        return f"\x1b[{colour}m{text}\x1b[0m" if colour else text


def _says_something_new(record: logging.LogRecord) -> bool:
    # The command that started the server says in one line why it can't; the server itself only that it can't.
    return not record.getMessage().startswith("Application startup failed")


def _time(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _message(record: logging.LogRecord) -> str:
    text = record.getMessage()
    return text if hasattr(record, "clean") else scrub(text)


def _fields(record: logging.LogRecord) -> Mapping[str, Any]:
    values: Mapping[str, Any] = getattr(record, "fields", {})
    if not values or hasattr(record, "clean"):
        return values
    return {name: scrub(value) if isinstance(value, str) else value for name, value in values.items()}


def _masked(found: re.Match[str]) -> str:
    kept = found["bearer"] or found["name"] or found["cookie"] or found["user"] or ""
    return kept + MASK
