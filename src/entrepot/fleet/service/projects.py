"""Projects: made with an id of their own, listed, changed, archived, deleted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import asyncpg

from entrepot.clock import Clock
from entrepot.fleet import queries
from entrepot.fleet.database import Database
from entrepot.fleet.errors import Exhausted, NotFound, Refused, Taken
from entrepot.fleet.model import Project, ProjectStatus
from entrepot.fleet.rules import (
    DESCRIPTION_CHARACTERS_MAX,
    DEVICES_PER_PROJECT_MAX,
    checked_name,
    checked_text,
    is_project_id,
)
from entrepot.fleet.service.people import People

# An owner who was deleted elsewhere is made known again once.
_TRIES = 2


class Projects:
    """The projects of people."""

    def __init__(self, database: Database, people: People, clock: Clock) -> None:
        self._database = database
        self._people = people
        self._clock = clock

    async def create(self, owner: UUID, name: str, description: str | None) -> Project:
        """Make a project with the next id."""
        name = checked_name(name)
        description = checked_text("description", description, DESCRIPTION_CHARACTERS_MAX)
        for _ in range(_TRIES):
            await self._people.know(owner)
            try:
                async with self._database.person(owner) as connection:
                    row = await connection.fetchrow(
                        queries.PROJECT_CREATE, name, description, self._clock.utc()
                    )
            except asyncpg.UniqueViolationError:
                raise _name_taken(name) from None
            except asyncpg.SequenceGeneratorLimitExceededError:
                raise Exhausted(
                    "All 9999 project ids have been given out.", code="PROJECT_IDS_EXHAUSTED"
                ) from None
            except asyncpg.ForeignKeyViolationError:
                self._people.unlearn(owner)
                continue
            if row is not None:
                return Project.of(row)
        raise NotFound("The owner is not known.", code="OWNER_NOT_FOUND")

    async def get(self, owner: UUID, project_id: str) -> Project:
        """One project."""
        async with self._database.person(owner) as connection:
            row = await connection.fetchrow(queries.PROJECT_GET, _checked(project_id))
        if row is None:
            raise _no_project(project_id)
        return Project.of(row)

    async def page(
        self, owner: UUID, statuses: Sequence[ProjectStatus], *, before: tuple[datetime, UUID], limit: int
    ) -> tuple[list[Project], tuple[datetime, UUID] | None]:
        """Projects of these statuses, newest first, and where to go on when there are more."""
        async with self._database.person(owner) as connection:
            rows = await connection.fetch(queries.PROJECTS_OF_USER, list(statuses), *before, limit + 1)
        last = rows[limit - 1] if len(rows) > limit else None
        return [Project.of(row) for row in rows[:limit]], (last["created_at"], last["id"]) if last else None

    async def change(
        self,
        owner: UUID,
        project_id: str,
        *,
        name: str | None,
        description: str | None,
        sets_description: bool,
        status: ProjectStatus | None,
    ) -> Project:
        """Change what is given, leave the rest."""
        name = checked_name(name) if name is not None else None
        description = checked_text("description", description, DESCRIPTION_CHARACTERS_MAX)
        try:
            async with self._database.person(owner) as connection:
                row = await connection.fetchrow(
                    queries.PROJECT_CHANGE, _checked(project_id), name, sets_description, description, status,
                    self._clock.utc(),
                )  # fmt: skip
        except asyncpg.UniqueViolationError:
            raise _name_taken(name or "") from None
        if row is None:
            raise _no_project(project_id)
        return Project.of(row)

    async def delete(self, owner: UUID, project_id: str, *, confirmed: bool) -> None:
        """Delete a project with all its boards; the last one only when confirmed."""
        async with self._database.person(owner) as connection:
            if await connection.fetchval(queries.PROJECT_LOCK, _checked(project_id)) is None:
                raise _no_project(project_id)
            if not confirmed and await connection.fetchval(queries.PROJECTS_COUNT) == 1:
                raise Refused(
                    f"{project_id} is your last project; its boards and their history go with it. "
                    "Send confirm=true to delete it.",
                    code="LAST_PROJECT",
                )
            await connection.execute(queries.PROJECT_DELETE, project_id)

    async def free_numbers(self, owner: UUID, project_id: str) -> list[int]:
        """The device numbers that a new board of this project can have."""
        async with self._database.person(owner) as connection:
            if await connection.fetchrow(queries.PROJECT_GET, _checked(project_id)) is None:
                raise _no_project(project_id)
            rows = await connection.fetch(queries.NUMBERS_TAKEN, project_id)
        taken = {row["device_number"] for row in rows}
        return [number for number in range(1, DEVICES_PER_PROJECT_MAX + 1) if number not in taken]


def _checked(project_id: str) -> str:
    if not is_project_id(project_id):
        raise _no_project(project_id)
    return project_id


def _no_project(project_id: str) -> NotFound:
    return NotFound(f"There is no project {project_id[:20]}.", code="PROJECT_NOT_FOUND")


def _name_taken(name: str) -> Taken:
    return Taken(f"The name {name!r} is taken.", code="PROJECT_NAME_TAKEN")
