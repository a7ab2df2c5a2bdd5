"""Routes of projects."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

import msgspec
from litestar import delete, get, patch, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from entrepot.fleet.api.requests import (
    PAGE_DEFAULT,
    PAGE_MAX,
    TAGS,
    Context,
    Cursor,
    Limit,
    answered,
)
from entrepot.fleet.errors import WrongValue
from entrepot.fleet.model import Project, ProjectStatus
from entrepot.http.caller import Caller, reader, writer
from entrepot.http.pages import limit_within

_LATER = datetime(9999, 1, 1, tzinfo=UTC)
_LAST = UUID(int=(1 << 128) - 1)
_STATUSES: dict[str, tuple[ProjectStatus, ...]] = {
    "active": ("active",),
    "archived": ("archived",),
    "all": ("active", "archived"),
}

Status = Annotated[
    str | None,
    QueryParameter(description="`active` (as without it), `archived` or `all`.", required=False),
]


class NewProject(msgspec.Struct, forbid_unknown_fields=True):
    """A project to make."""

    name: str
    description: str | None = None


class ProjectChange(msgspec.Struct, forbid_unknown_fields=True):
    """What to change of a project."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    description: str | msgspec.UnsetType | None = msgspec.UNSET
    status: ProjectStatus | msgspec.UnsetType = msgspec.UNSET


class ProjectPage(msgspec.Struct, omit_defaults=True):
    """Projects, newest first."""

    projects: list[Project]
    next_cursor: str | None = None


class FreeNumbers(msgspec.Struct):
    """Device numbers that are free."""

    available: list[int]


def routes(context: Context) -> list[HTTPRouteHandler]:
    """The routes of projects."""

    @post("/fleet/projects", guards=[writer], tags=TAGS, summary="Make a project")
    async def create(caller: NamedDependency[Caller], data: JSONBody[NewProject]) -> Project:
        """Makes a project; its `project_id` is the next of PROJ1 … PROJ999, P1000 … P9999."""
        with answered():
            return await context.projects.create(await context.owner(caller), data.name, data.description)

    @get("/fleet/projects", guards=[reader], tags=TAGS, summary="One's projects")
    async def page(
        caller: NamedDependency[Caller], status: Status = None, limit: Limit = None, cursor: Cursor = None
    ) -> ProjectPage:
        """One's projects, newest first; without archived ones unless `status` says so."""
        owner = await context.owner(caller)
        with answered():
            statuses = _statuses(status)
            scope = f"projects {','.join(statuses)}"
            before = (_LATER, _LAST)
            if cursor is not None:
                at, last = context.unsealed(scope, owner, cursor)
                before = (datetime.fromisoformat(at), UUID(last))
            size = limit_within(limit, default=PAGE_DEFAULT, most=PAGE_MAX)
            found, more = await context.projects.page(owner, statuses, before=before, limit=size)
        if more is None:
            return ProjectPage(found)
        return ProjectPage(found, context.sealed(scope, owner, more[0].isoformat(), str(more[1])))

    @get("/fleet/projects/{project_id:str}", guards=[reader], tags=TAGS, summary="A project")
    async def one(caller: NamedDependency[Caller], project_id: FromPath[str]) -> Project:
        """One of one's projects."""
        with answered():
            return await context.projects.get(await context.owner(caller), project_id)

    @patch("/fleet/projects/{project_id:str}", guards=[writer], tags=TAGS, summary="Change a project")
    async def change(
        caller: NamedDependency[Caller], project_id: FromPath[str], data: JSONBody[ProjectChange]
    ) -> Project:
        """Changes what is sent. An archived project takes heartbeats, but no new boards."""
        with answered():
            return await context.projects.change(
                await context.owner(caller),
                project_id,
                name=None if data.name is msgspec.UNSET else data.name,
                description=None if data.description is msgspec.UNSET else data.description,
                sets_description=data.description is not msgspec.UNSET,
                status=None if data.status is msgspec.UNSET else data.status,
            )

    @delete("/fleet/projects/{project_id:str}", guards=[writer], tags=TAGS, summary="Delete a project")
    async def end(
        caller: NamedDependency[Caller], project_id: FromPath[str], confirm: FromQuery[bool] = False
    ) -> None:
        """Deletes a project with its boards; the last one only with `confirm=true`."""
        with answered():
            await context.projects.delete(await context.owner(caller), project_id, confirmed=confirm)

    @get("/fleet/projects/{project_id:str}/available", guards=[reader], tags=TAGS, summary="Free numbers")
    async def available(caller: NamedDependency[Caller], project_id: FromPath[str]) -> FreeNumbers:
        """The device numbers, 1 to 20, that no board of this project has."""
        with answered():
            return FreeNumbers(await context.projects.free_numbers(await context.owner(caller), project_id))

    return [create, page, one, change, end, available]


def _statuses(given: str | None) -> tuple[ProjectStatus, ...]:
    found: set[ProjectStatus] = set()
    for name in (given or "active").split(","):
        if name not in _STATUSES:
            raise WrongValue("status", f"must be of {', '.join(_STATUSES)}, not {name[:20]!r}")
        found.update(_STATUSES[name])
    return tuple(sorted(found))
