"""Transforms: what a connection sends instead of the event's own body.

passthrough   the bytes as they came
field_map     {rules: [{from: "$.a", to: "b.c"}]}; a dotted `to` nests, a missing `from` leaves it out
jmespath      {expression} on the body
template      {template}: any JSON, in which texts starting with `$` are paths, and `$$` is a plain `$`
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import msgspec

from entrepot.relay.errors import TransformFailed, WrongValue
from entrepot.relay.queries import Query, query_of
from entrepot.relay.shapes import DEPTH_MAX, bounded
from entrepot.relay.views import MISSING, EventView, Path, path_of

RULES_MAX = 200
TEMPLATE_BYTES_MAX = 64 * 1024
OUTPUT_BYTES_MAX = 512 * 1024
TRANSFORMS_KEPT = 1024

JSON = "application/json"

Make = Callable[[EventView], Any]


class Output(msgspec.Struct, frozen=True):
    """What is sent: a body and its type."""

    body: bytes
    content_type: str


class Transform:
    """A transform that was checked; without `make` the event goes on as it came."""

    def __init__(self, make: Make | None) -> None:
        self._make = make

    def apply(self, view: EventView) -> Output:
        """What to send for this event; raises TransformFailed, and then nothing is to be sent."""
        if self._make is None:
            return Output(view.body, view.content_type)
        value = self._make(view)
        if not bounded(value):
            raise TransformFailed(f"The output is too large, or more than {DEPTH_MAX} levels deep.")
        try:
            body = msgspec.json.encode(value)
        except (msgspec.EncodeError, TypeError, UnicodeEncodeError, RecursionError) as error:
            raise TransformFailed(f"The output is no JSON: {error}") from None
        if len(body) > OUTPUT_BYTES_MAX:
            raise TransformFailed(f"The output has {len(body)} bytes; {OUTPUT_BYTES_MAX} is the most.")
        return Output(body, JSON)


@functools.lru_cache(maxsize=TRANSFORMS_KEPT)
def parse(text: str) -> Transform:
    """The transform of a connection, from its JSON; made once for each text. Raises WrongValue."""
    return checked(msgspec.json.decode(text))


def checked(given: Any) -> Transform:
    """The transform that is described so; raises WrongValue for one that could not work."""
    if not isinstance(given, dict) or given.get("type") not in _READERS:
        raise WrongValue("transform.type", f"must be one of {', '.join(_READERS)}")
    field, read = _READERS[given["type"]]
    if unknown := given.keys() - {"type", field}:
        raise WrongValue(f"transform.{min(unknown)}", "is not known here")
    if field is None:
        return Transform(None)
    if field not in given:
        raise WrongValue(f"transform.{field}", "is missing")
    return Transform(read(given[field]))


def _field_map(rules: Any) -> Make:
    at = "transform.rules"
    if not isinstance(rules, list) or len(rules) > RULES_MAX:
        raise WrongValue(at, f"must be a list of at most {RULES_MAX} rules {{from, to}}")
    moves: list[tuple[Path, tuple[str, ...]]] = []
    taken: dict[str, Any] = {}
    for index, rule in enumerate(rules):
        if not isinstance(rule, dict) or rule.keys() != {"from", "to"}:
            raise WrongValue(f"{at}[{index}]", "must be {from, to}")
        target = _target(rule["to"], f"{at}[{index}].to")
        # Put once when saved: two rules that want the same place are found now, not at a delivery.
        if not _place(taken, target, True):
            raise WrongValue(f"{at}[{index}].to", f"{rule['to']!r} is where another rule puts something")
        moves.append((_path(rule["from"], f"{at}[{index}].from"), target))

    def make(view: EventView) -> Any:
        output: dict[str, Any] = {}
        for path, target in moves:
            found = path.find(view)
            if found is not MISSING:
                _place(output, target, found)
        return output

    return make


def _place(output: dict[str, Any], target: tuple[str, ...], value: Any) -> bool:
    inner = output
    for name in target[:-1]:
        inner = inner.setdefault(name, {})
        if not isinstance(inner, dict):
            return False
    if target[-1] in inner:
        return False
    inner[target[-1]] = value
    return True


def _target(given: Any, at: str) -> tuple[str, ...]:
    names = tuple(given.split(".")) if isinstance(given, str) else ()
    if not names or not all(names) or len(names) > DEPTH_MAX:
        raise WrongValue(at, "must be a name, or several with dots between them")
    return names


def _jmespath(expression: Any) -> Make:
    query: Query = query_of(expression)
    return lambda view: query.run(None if view.content is MISSING else view.content)


def _template(template: Any) -> Make:
    if not bounded(template) or len(msgspec.json.encode(template)) > TEMPLATE_BYTES_MAX:
        raise WrongValue(
            "transform.template",
            f"has more than {TEMPLATE_BYTES_MAX} bytes, or is more than {DEPTH_MAX} levels deep",
        )
    made = _part(template, "transform.template")

    def make(view: EventView) -> Any:
        found = made(view)
        return None if found is MISSING else found

    return make


def _part(given: Any, at: str) -> Make:
    if isinstance(given, dict):
        parts = {name: _part(value, f"{at}.{name}") for name, value in given.items()}
        return lambda view: _object(parts, view)
    if isinstance(given, list):
        entries = [_part(value, f"{at}[{index}]") for index, value in enumerate(given)]
        return lambda view: [None if (found := make(view)) is MISSING else found for make in entries]
    if isinstance(given, str) and given.startswith("$$"):
        return lambda _: given[1:]
    if isinstance(given, str) and given.startswith("$"):
        return _path(given, at).find
    return lambda _: given


def _object(parts: dict[str, Make], view: EventView) -> dict[str, Any]:
    found = {name: make(view) for name, make in parts.items()}
    return {name: value for name, value in found.items() if value is not MISSING}


def _path(given: Any, at: str) -> Path:
    if not isinstance(given, str):
        raise WrongValue(at, "must be a path like $.data.id")
    try:
        return path_of(given)
    except WrongValue as wrong:
        raise WrongValue(at, wrong.complaint) from None


_READERS: dict[str, tuple[str | None, Callable[[Any], Make]]] = {
    "passthrough": (None, _template),
    "field_map": ("rules", _field_map),
    "jmespath": ("expression", _jmespath),
    "template": ("template", _template),
}
