"""A DynamoDB under test: calls, refusals, and tables that are made once and shared."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from .shapes import SHAPES
from .transports import Answer, Json, Transport

ACTIVE_WITHIN_SECONDS = 30
POLL_SECONDS = 0.05

# The service answers single-item writes and reads through a newer validation layer, which wraps what used to be
# a bare sentence in this envelope. Both are its answers, differing by operation and region, so that neither can be wrong.
ENVELOPE = "1 validation error detected: "


class Refusal(NamedTuple):
    """An error as the server gave it; `body` holds what came with it (an old item, cancellation reasons)."""

    type: str
    message: str
    body: Json


class Differs(AssertionError):
    """The server answered something else than DynamoDB does."""

    def __init__(self, asked: str, expected: str, got: str) -> None:
        super().__init__(f"{asked}\n  expected: {expected}\n  got:      {got}")
        self.asked = asked
        self.expected = expected
        self.got = got


class Dynamo:
    """One server, with names of its own for this run so that nothing else in it matters."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self._run = uuid.uuid4().hex[:8]
        self._numbers = itertools.count(1)
        self._tables: dict[str, str] = {}

    def call(self, operation: str, payload: Json) -> Json:
        answer = self.transport.send(operation, payload)
        if answer.error is not None:
            raise Differs(operation, "an answer", _told(answer))
        return answer.payload

    def refused(self, operation: str, payload: Any) -> Refusal:
        answer = self.transport.send(operation, payload)
        if answer.error is None:
            raise Differs(operation, "a refusal", _told(answer))
        return Refusal(answer.error, answer.message, answer.payload)

    def refuses(self, operation: str, payload: Any, type_: str, *messages: str) -> Refusal:
        """Any one of the messages will do: where there are several, the service gives them by region."""
        refusal = self.refused(operation, payload)
        told = plain(refusal.message)
        if refusal.type != type_ or (messages and told not in {plain(m) for m in messages}):
            expected = f"{type_}: {' | '.join(messages) or '(any message)'}"
            raise Differs(operation, expected, f"{refusal.type}: {refusal.message}")
        return refusal

    def invalid(self, operation: str, payload: Any, *messages: str) -> Refusal:
        return self.refuses(operation, payload, "ValidationException", *messages)

    def violates(self, operation: str, payload: Any, *violations: Sequence[str]) -> Refusal:
        """Refused with a list of violated constraints, in any order: the service's layers list members differently.

        Where there are several lists, the service gives them by region.
        """
        refusal = self.refused(operation, payload)
        expected = [_listed(parts) for parts in violations]
        if refusal.type != "ValidationException" or _unlisted(refusal.message) not in [
            sorted(v) for v in violations
        ]:
            raise Differs(operation, " | ".join(expected), f"{refusal.type}: {refusal.message}")
        return refusal

    def unique(self, word: str = "k") -> str:
        return f"{word}-{self._run}-{next(self._numbers)}"

    def table(self, shape: str) -> str:
        """The name of the shared table of that shape, made the first time."""
        if shape not in self._tables:
            self._tables[shape] = self.create(SHAPES[shape])
        return self._tables[shape]

    def create(self, definition: Json) -> str:
        """A table of one's own, active; the caller may delete it."""
        name = definition.get("TableName") or self.unique("conformance")
        self.call("CreateTable", {"BillingMode": "PAY_PER_REQUEST", **definition, "TableName": name})
        self.wait_active(name)
        return name

    def wait_active(self, name: str) -> Json:
        """The description of a table once it and its indexes are active."""
        deadline = time.monotonic() + ACTIVE_WITHIN_SECONDS
        while time.monotonic() < deadline:
            table: Json = self.call("DescribeTable", {"TableName": name})["Table"]
            states = [
                table["TableStatus"],
                *(i["IndexStatus"] for i in table.get("GlobalSecondaryIndexes", [])),
            ]
            if set(states) == {"ACTIVE"}:
                return table
            time.sleep(POLL_SECONDS)
        raise Differs("DescribeTable", f"ACTIVE within {ACTIVE_WITHIN_SECONDS} s", ", ".join(states))

    def wait_gone(self, name: str) -> None:
        deadline = time.monotonic() + ACTIVE_WITHIN_SECONDS
        while time.monotonic() < deadline:
            answer = self.transport.send("DescribeTable", {"TableName": name})
            if answer.error == "ResourceNotFoundException":
                return
            time.sleep(POLL_SECONDS)
        raise Differs("DescribeTable", f"gone within {ACTIVE_WITHIN_SECONDS} s", "still there")

    def put(self, table: str, **attributes: Any) -> Json:
        """Writes an item given as attributes in DynamoDB JSON, and returns it."""
        self.call("PutItem", {"TableName": table, "Item": attributes})
        return attributes

    def get(self, table: str, **key: Any) -> Json | None:
        return self.call("GetItem", {"TableName": table, "Key": key, "ConsistentRead": True}).get("Item")

    def stored(self, value: Json) -> Json:
        """What comes back of a value that is written to an item and read again."""
        key = {"a": {"S": self.unique()}}
        self.put(self.table("hash"), **key, v=value)
        item = self.get(self.table("hash"), **key)
        assert item is not None
        stored: Json = item["v"]
        return stored


def plain(message: str) -> str:
    """A message without the envelope of the newer layer, unless the envelope is part of a constraint's own form."""
    rest = message.removeprefix(ENVELOPE)
    return message if rest.startswith(("Value '", "Value null", "Value at '")) else rest


def member(path: str, value: str | None, constraint: str) -> str:
    """One violated constraint, as the service words it."""
    told = "null" if value is None else f"'{value}'"
    return f"Value {told} at '{path}' failed to satisfy constraint: {constraint}"


NOT_NULL = "Member must not be null"


def _listed(parts: Sequence[str]) -> str:
    return f"{len(parts)} validation error{'s' if len(parts) > 1 else ''} detected: {'; '.join(parts)}"


def _unlisted(message: str) -> list[str]:
    head, _, rest = message.partition(" detected: ")
    parts = rest.replace("; Failed to satisfy", "; Value \0Failed to satisfy").split("; Value ")
    whole = [parts[0], *(p[1:] if p.startswith("\0") else f"Value {p}" for p in parts[1:])]
    plural = "s" if len(whole) > 1 else ""
    return sorted(whole) if head == f"{len(whole)} validation error{plural}" else [message]


def _told(answer: Answer) -> str:
    if answer.error is not None:
        return f"{answer.error}: {answer.message}"
    text = str(answer.payload)
    return text if len(text) <= 300 else text[:300] + "…"
