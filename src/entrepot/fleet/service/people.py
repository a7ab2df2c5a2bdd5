"""The owners of boards, as PostgreSQL knows them: `auth.users` follows the accounts."""

from __future__ import annotations

from collections import OrderedDict
from uuid import UUID

from entrepot.fleet import queries
from entrepot.fleet.database import Database

REMEMBERED_MAX = 10_000


class People:
    """Makes an owner known on first use, and forgets one with all that was theirs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: OrderedDict[UUID, None] = OrderedDict()

    async def know(self, person: UUID) -> None:
        """Have a row for this person."""
        if person in self._known:
            return
        async with self._database.service() as connection:
            await connection.execute(queries.USER_KNOW, person)
        self._known[person] = None
        if len(self._known) > REMEMBERED_MAX:
            self._known.popitem(last=False)

    async def forget(self, person: UUID) -> None:
        """Delete a person with all projects, boards and heartbeats; again is fine."""
        self._known.pop(person, None)
        if not self._database.in_use:
            return
        async with self._database.service() as connection:
            await connection.execute(queries.USER_FORGET, person)

    def unlearn(self, person: UUID) -> None:
        """Look anew at the next use: another process may have forgotten this person."""
        self._known.pop(person, None)
