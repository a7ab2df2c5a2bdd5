"""Streams: change records, decoded by the same entities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeVar

import msgspec

from entrepot.tables.model import Entity
from entrepot.tables.recognition import find
from entrepot.tables.table import Table

E = TypeVar("E", bound=Entity)

_KINDS: dict[str, Literal["created", "changed", "deleted"]] = {
    "INSERT": "created",
    "MODIFY": "changed",
    "REMOVE": "deleted",
}


class Changed(msgspec.Struct, Generic[E], frozen=True):
    """What happened to one item; `expired` when its time to live deleted it, not a call."""

    kind: Literal["created", "changed", "deleted"]
    old: E | None
    new: E | None
    expired: bool = False


def changed(table: Table, record: Mapping[str, Any]) -> Changed[Any] | None:
    """The change that a stream record tells; None for guard items, and where the stream has no images."""
    change = record["dynamodb"]
    old, new = change.get("OldImage"), change.get("NewImage")
    image = new or old
    model = None if image is None else find(table, image)
    if model is None:
        return None
    identity = record.get("userIdentity") or {}
    return Changed(
        kind=_KINDS[record["eventName"]],
        old=None if old is None else model.decode(old),
        new=None if new is None else model.decode(new),
        expired=identity.get("principalId") == "dynamodb.amazonaws.com"
        or identity.get("PrincipalId") == "dynamodb.amazonaws.com",
    )
