"""What filters and transforms see of an event, and the paths by which they name its parts.

`$` the body, `$.a.b[0]` and `$['a.b']` parts of it, `$headers.x`, `$query.x`, `$method`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from entrepot.relay.errors import WrongValue
from entrepot.relay.model import Event

PATH_CHARACTERS_MAX = 256
FORM_FIELDS_MAX = 1000
PATHS_KEPT = 4096

FORM = "application/x-www-form-urlencoded"


class Missing:
    """There is nothing at a path; null would be something."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


class EventView:
    """An event as rules see it: its body is decoded when first asked for."""

    def __init__(
        self, *, method: str, headers: Mapping[str, str], query: str, body: bytes, content_type: str
    ) -> None:
        self.method = method
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.body = body
        self.content_type = content_type
        self._query = query

    @functools.cached_property
    def query(self) -> dict[str, str]:
        """The parameters of the URL; of one that is repeated, the first."""
        found: dict[str, str] = {}
        for name, value in parse_qsl(self._query, keep_blank_values=True)[:FORM_FIELDS_MAX]:
            found.setdefault(name, value)
        return found

    @functools.cached_property
    def content(self) -> Any:
        """The body as a value: JSON, the fields of a form, text, or MISSING when it is none of these."""
        if self.content_type.partition(";")[0].strip().lower() == FORM:
            return self._form()
        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
        try:
            return self.body.decode() if self.body else MISSING
        except UnicodeDecodeError:
            return MISSING

    def _form(self) -> Any:
        fields: dict[str, Any] = {}
        try:
            pairs = parse_qsl(
                self.body.decode(), keep_blank_values=True, max_num_fields=FORM_FIELDS_MAX, errors="strict"
            )
        except (UnicodeDecodeError, ValueError):
            return MISSING
        for name, value in pairs:
            if name not in fields:
                fields[name] = value
            elif isinstance(fields[name], list):
                fields[name].append(value)
            else:
                fields[name] = [fields[name], value]
        return fields


def view_of(event: Event) -> EventView:
    """A stored event as rules see it."""
    return EventView(
        method=event.method,
        headers=headers_of(event),
        query=event.query or "",
        body=body_of(event),
        content_type=event.contentType,
    )


def headers_of(event: Event) -> dict[str, str]:
    """The headers of a stored event, by lower-case name."""
    return msgspec.json.decode(event.headers, type=dict[str, str]) if event.headers else {}


def body_of(event: Event) -> bytes:
    """The body of a stored event, byte for byte."""
    return event.bodyBytes if event.bodyBytes is not None else event.body.encode()


class Path(msgspec.Struct, frozen=True):
    """A place in an event: where it starts, and the steps from there."""

    root: str
    steps: tuple[str | int, ...]

    def find(self, view: EventView) -> Any:
        """What is there, or MISSING."""
        if self.root == "method":
            return view.method
        if self.root in ("headers", "query"):
            name = str(self.steps[0])
            if self.root == "headers":
                return view.headers.get(name.lower(), MISSING)
            return view.query.get(name, MISSING)
        found = view.content
        for step in self.steps:
            if isinstance(step, int):
                if not isinstance(found, list) or step >= len(found):
                    return MISSING
                found = found[step]
            elif not isinstance(found, dict) or step not in found:
                return MISSING
            else:
                found = found[step]
        return found


_STEP = re.compile(r"\.(?P<name>[^.\[\]'\s]+)|\[(?P<index>\d{1,9})\]|\['(?P<quoted>[^']+)'\]")
_NAMED = re.compile(r"\$(headers|query)\.(\S+)")


@functools.lru_cache(maxsize=PATHS_KEPT)
def path_of(text: str) -> Path:
    """The path that is written so; raises WrongValue."""
    if len(text) > PATH_CHARACTERS_MAX:
        raise WrongValue("path", f"is longer than {PATH_CHARACTERS_MAX} characters")
    if text == "$method":
        return Path("method", ())
    if named := _NAMED.fullmatch(text):
        return Path(named[1], (named[2],))
    if not text.startswith("$"):
        raise WrongValue("path", f"{text!r} must start with $, as $.a.b[0], $headers.x, $query.x or $method")
    steps: list[str | int] = []
    at = 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            raise WrongValue("path", f"{text!r} can't be read from {text[at:][:20]!r} on")
        if step["index"] is not None:
            steps.append(int(step["index"]))
        else:
            steps.append(step["name"] if step["name"] is not None else step["quoted"])
        at = step.end()
    return Path("body", tuple(steps))
