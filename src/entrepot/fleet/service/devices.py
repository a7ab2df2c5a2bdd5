"""Devices: registered under a number of their project, changed, given new keys, deleted."""

from __future__ import annotations

import hmac
from uuid import UUID

import asyncpg

from entrepot.clock import Clock
from entrepot.fleet import queries
from entrepot.fleet.database import Database
from entrepot.fleet.errors import Exhausted, NotFound, Refused, Taken, WrongValue
from entrepot.fleet.model import Device
from entrepot.fleet.rules import (
    DEVICES_PER_PROJECT_MAX,
    HARDWARE_ID_CHARACTERS_MAX,
    checked_name,
    checked_text,
    is_composite_id,
    is_project_id,
    key_hash,
    key_hint,
    new_key,
)


class Devices:
    """The boards of projects."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def register(
        self, owner: UUID, project_id: str, name: str, *, number: int | None, hardware_id: str | None
    ) -> tuple[Device, str]:
        """A new board under this number, or the lowest that is free, and its key, which is shown once."""
        name = checked_name(name)
        checked_text("hardware_id", hardware_id, HARDWARE_ID_CHARACTERS_MAX)
        if number is not None and not 1 <= number <= DEVICES_PER_PROJECT_MAX:
            raise WrongValue("device_number", f"must be 1 to {DEVICES_PER_PROJECT_MAX}, not {number}")
        if not is_project_id(project_id):
            raise NotFound(f"There is no project {project_id[:20]}.", code="PROJECT_NOT_FOUND")
        key = new_key()
        async with self._database.person(owner) as connection:
            status = await connection.fetchval(queries.PROJECT_LOCK, project_id)
            if status is None:
                raise NotFound(f"There is no project {project_id}.", code="PROJECT_NOT_FOUND")
            if status == "archived":
                raise Refused(f"{project_id} is archived and takes no new boards.", code="PROJECT_ARCHIVED")
            rows = await connection.fetch(queries.NUMBERS_TAKEN, project_id)
            number = _free_number(project_id, {row["device_number"] for row in rows}, number)
            composite_id = f"{project_id}-ESP{number}"
            try:
                row = await connection.fetchrow(
                    queries.DEVICE_REGISTER, composite_id, project_id, number, name, key_hint(key), key_hash(key),
                    owner, hardware_id, self._clock.utc(),
                )  # fmt: skip
            except asyncpg.UniqueViolationError:
                # Someone wrote past us, straight into the database.
                raise Taken(f"{composite_id} is taken.", code="DEVICE_NUMBER_TAKEN") from None
        if row is None:
            raise NotFound(f"There is no project {project_id}.", code="PROJECT_NOT_FOUND")
        return Device.of(row), key

    async def of_project(self, owner: UUID, project_id: str) -> list[Device]:
        """The boards of a project by number; never more than 20."""
        async with self._database.person(owner) as connection:
            if not is_project_id(project_id) or not await connection.fetchrow(
                queries.PROJECT_GET, project_id
            ):
                raise NotFound(f"There is no project {project_id[:20]}.", code="PROJECT_NOT_FOUND")
            rows = await connection.fetch(queries.DEVICES_OF_PROJECT, project_id, self._clock.utc())
        return [Device.of(row) for row in rows]

    async def get(self, owner: UUID, composite_id: str) -> Device:
        """One board."""
        async with self._database.person(owner) as connection:
            row = await connection.fetchrow(queries.DEVICE_GET, checked_id(composite_id), self._clock.utc())
        if row is None:
            raise no_device(composite_id)
        return Device.of(row)

    async def change(
        self,
        owner: UUID,
        composite_id: str,
        *,
        name: str | None,
        hardware_id: str | None,
        sets_hardware_id: bool,
    ) -> Device:
        """Change what is given, leave the rest."""
        name = checked_name(name) if name is not None else None
        checked_text("hardware_id", hardware_id, HARDWARE_ID_CHARACTERS_MAX)
        async with self._database.person(owner) as connection:
            row = await connection.fetchrow(
                queries.DEVICE_CHANGE,
                checked_id(composite_id),
                self._clock.utc(),
                name,
                sets_hardware_id,
                hardware_id,
            )
        if row is None:
            raise no_device(composite_id)
        return Device.of(row)

    async def rotate_key(self, owner: UUID, composite_id: str) -> tuple[Device, str]:
        """A new key; the old one ends at once."""
        key = new_key()
        async with self._database.person(owner) as connection:
            row = await connection.fetchrow(
                queries.DEVICE_KEY_CHANGE,
                checked_id(composite_id),
                self._clock.utc(),
                key_hint(key),
                key_hash(key),
            )
        if row is None:
            raise no_device(composite_id)
        return Device.of(row), key

    async def delete(self, owner: UUID, composite_id: str) -> None:
        """Delete a board with its history; its number is free again."""
        async with self._database.person(owner) as connection:
            if await connection.fetchval(queries.DEVICE_DELETE, checked_id(composite_id)) is None:
                raise no_device(composite_id)

    async def check_key(self, owner: UUID, composite_id: str, key: str) -> None:
        """Refuse a key that is not this board's."""
        async with self._database.person(owner) as connection:
            kept = await connection.fetchval(queries.DEVICE_KEY_HASH, checked_id(composite_id))
        if kept is None:
            raise no_device(composite_id)
        if not hmac.compare_digest(kept, key_hash(key)):
            raise WrongValue("device_key", f"is not the key of {composite_id}")


def checked_id(composite_id: str) -> str:
    """An id that can be a board's; any other names none."""
    if not is_composite_id(composite_id):
        raise no_device(composite_id)
    return composite_id


def no_device(composite_id: str) -> NotFound:
    return NotFound(f"There is no board {composite_id[:20]}.", code="DEVICE_NOT_FOUND")


def _free_number(project_id: str, taken: set[int], wanted: int | None) -> int:
    if wanted is not None:
        if wanted in taken:
            raise Taken(f"{project_id}-ESP{wanted} is taken.", code="DEVICE_NUMBER_TAKEN")
        return wanted
    for number in range(1, DEVICES_PER_PROJECT_MAX + 1):
        if number not in taken:
            return number
    raise Exhausted(
        f"{project_id} has {DEVICES_PER_PROJECT_MAX} boards, the most it can.", code="PROJECT_FULL"
    )
