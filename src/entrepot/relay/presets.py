"""Notify presets: connections on the built-in source, filled in for those who want a message, not a webhook."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Preset = Literal["ntfy", "slack", "home_assistant"]

TYPES_MAX = 50

Type = Annotated[str, Meta(pattern=r"^[a-z0-9._]{1,100}$")]
Topic = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Url = Annotated[str, Meta(min_length=1, max_length=2048)]

_MESSAGE = "join(': ', [type, subject])"


class Notify(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Whom to tell, and of what: `url` is the server of ntfy, or the webhook of Slack or Home Assistant."""

    preset: Preset
    url: Url
    topic: Topic | None = None
    name: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    types: Annotated[list[Type], Meta(max_length=TYPES_MAX)] = []
    token: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None


class TopicMissing(Exception):
    """ntfy needs a topic."""


def connection_of(notify: Notify) -> dict[str, Any]:
    """The fields of the connection that tells them; raises TopicMissing."""
    fields: dict[str, Any] = {
        "name": notify.name or f"Notify by {notify.preset}",
        "destinationUrl": notify.url,
        "transform": _transform(notify),
        "filters": _filters(notify.types),
    }
    if notify.token is not None:
        fields["headers"] = {"Authorization": f"Bearer {notify.token}"}
    return fields


def _filters(types: list[str]) -> list[dict[str, Any]]:
    return [{"path": "$.type", "operator": "in", "value": types}] if types else []


def _transform(notify: Notify) -> dict[str, str]:
    if notify.preset == "home_assistant":
        # Its automations read the event as it is.
        return {"type": "passthrough"}
    if notify.preset == "slack":
        return {"type": "jmespath", "expression": f"{{text: {_MESSAGE}}}"}
    if notify.topic is None:
        raise TopicMissing
    expression = f"{{topic: '{notify.topic}', title: type, message: {_MESSAGE}}}"
    return {"type": "jmespath", "expression": expression}
