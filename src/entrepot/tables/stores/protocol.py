"""What a store is."""

from __future__ import annotations

from typing import Any, Protocol


class Store(Protocol):
    """DynamoDB's API: an operation and its request with native values, answered or refused with its own error."""

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]: ...

    async def close(self) -> None: ...
