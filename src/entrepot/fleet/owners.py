"""Whose boards a caller asks about: the UUID of an account, which never changes, asked for once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from uuid import UUID

from entrepot.http.caller import Caller

REMEMBERED_MAX = 10_000

FindUuid = Callable[[str], Awaitable[str | None]]


class Owners:
    """Finds a caller's UUID by the account's id; a caller that is no person has none."""

    def __init__(self, find: FindUuid) -> None:
        self._find = find
        self._known: OrderedDict[str, UUID] = OrderedDict()

    async def __call__(self, caller: Caller) -> UUID | None:
        if caller.user_id is None:
            return None
        known = self._known.get(caller.user_id)
        if known is not None:
            return known
        found = await self._find(caller.user_id)
        if found is None:
            return None
        self._known[caller.user_id] = UUID(found)
        if len(self._known) > REMEMBERED_MAX:
            self._known.popitem(last=False)
        return self._known[caller.user_id]
