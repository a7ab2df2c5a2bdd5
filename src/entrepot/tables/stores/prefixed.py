"""A store whose tables have a prefix, so that several installations share one account."""

from __future__ import annotations

from typing import Any

from entrepot.tables.stores.protocol import Store

_BY_TABLE = ("Responses", "UnprocessedItems", "UnprocessedKeys")


class PrefixedStore:
    """Adds the prefix to every table's name on the way in, and takes it off on the way out."""

    def __init__(self, store: Store, prefix: str) -> None:
        self._store = store
        self._prefix = prefix

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """One operation on the prefixed tables."""
        answer = await self._store.call(operation, self._named(request))
        for place in _BY_TABLE:
            if isinstance(answer.get(place), dict):
                answer[place] = {self._bare(table): value for table, value in answer[place].items()}
        return answer

    async def close(self) -> None:
        """Closes the store."""
        await self._store.close()

    def _named(self, request: dict[str, Any]) -> dict[str, Any]:
        named = dict(request)
        if "TableName" in named:
            named["TableName"] = self._prefix + named["TableName"]
        if "RequestItems" in named:
            named["RequestItems"] = {self._prefix + table: v for table, v in named["RequestItems"].items()}
        if "TransactItems" in named:
            named["TransactItems"] = [
                {kind: self._named(action) for kind, action in entry.items()}
                for entry in named["TransactItems"]
            ]
        return named

    def _bare(self, table: str) -> str:
        return table.removeprefix(self._prefix)
