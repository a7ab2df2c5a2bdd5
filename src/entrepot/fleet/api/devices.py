"""Routes of devices."""

from __future__ import annotations

import msgspec
from litestar import delete, get, patch, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody

from entrepot.fleet.api.requests import TAGS, Context, answered
from entrepot.fleet.model import Device
from entrepot.http.caller import Caller, reader, writer


class NewDevice(msgspec.Struct, forbid_unknown_fields=True):
    """A board to register; without a number it gets the lowest that is free."""

    name: str
    device_number: int | None = None
    hardware_id: str | None = None


class DeviceChange(msgspec.Struct, forbid_unknown_fields=True):
    """What to change of a board."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    hardware_id: str | msgspec.UnsetType | None = msgspec.UNSET


class DeviceWithKey(Device, frozen=True, kw_only=True):
    """A board with its key, which is shown this once."""

    device_key: str


class DeviceList(msgspec.Struct):
    """The boards of a project, by number."""

    devices: list[Device]


def routes(context: Context) -> list[HTTPRouteHandler]:
    """The routes of devices."""

    @post(
        "/fleet/projects/{project_id:str}/devices",
        guards=[writer],
        tags=TAGS,
        summary="Register a board",
        opt={"shown_once": ("device_key",)},
    )
    async def register(
        caller: NamedDependency[Caller], project_id: FromPath[str], data: JSONBody[NewDevice]
    ) -> DeviceWithKey:
        """Registers a board. `device_key` is shown this once; its hash is all that is kept."""
        with answered():
            device, key = await context.devices.register(
                await context.owner(caller),
                project_id,
                data.name,
                number=data.device_number,
                hardware_id=data.hardware_id,
            )
        return _with_key(device, key)

    @get("/fleet/projects/{project_id:str}/devices", guards=[reader], tags=TAGS, summary="A project's boards")
    async def of_project(caller: NamedDependency[Caller], project_id: FromPath[str]) -> DeviceList:
        """The boards of a project by number, 20 at most."""
        with answered():
            return DeviceList(await context.devices.of_project(await context.owner(caller), project_id))

    @get("/fleet/devices/{composite_device_id:str}", guards=[reader], tags=TAGS, summary="A board")
    async def one(caller: NamedDependency[Caller], composite_device_id: FromPath[str]) -> Device:
        """One of one's boards; never `online` when it was silent for over 2 minutes."""
        with answered():
            return await context.devices.get(await context.owner(caller), composite_device_id)

    @patch("/fleet/devices/{composite_device_id:str}", guards=[writer], tags=TAGS, summary="Change a board")
    async def change(
        caller: NamedDependency[Caller], composite_device_id: FromPath[str], data: JSONBody[DeviceChange]
    ) -> Device:
        """Changes a board's name, or the telemetry device that it is."""
        with answered():
            return await context.devices.change(
                await context.owner(caller),
                composite_device_id,
                name=None if data.name is msgspec.UNSET else data.name,
                hardware_id=None if data.hardware_id is msgspec.UNSET else data.hardware_id,
                sets_hardware_id=data.hardware_id is not msgspec.UNSET,
            )

    @delete("/fleet/devices/{composite_device_id:str}", guards=[writer], tags=TAGS, summary="Delete a board")
    async def end(caller: NamedDependency[Caller], composite_device_id: FromPath[str]) -> None:
        """Deletes a board with its history; its number is free again."""
        with answered():
            await context.devices.delete(await context.owner(caller), composite_device_id)

    @post(
        "/fleet/devices/{composite_device_id:str}/rotate-key",
        guards=[writer],
        tags=TAGS,
        summary="A new key",
        status_code=200,
    )
    async def rotate(caller: NamedDependency[Caller], composite_device_id: FromPath[str]) -> DeviceWithKey:
        """Gives a board a new key, shown this once; the old one ends at once."""
        with answered():
            device, key = await context.devices.rotate_key(await context.owner(caller), composite_device_id)
        return _with_key(device, key)

    return [register, of_project, one, change, end, rotate]


def _with_key(device: Device, key: str) -> DeviceWithKey:
    return DeviceWithKey(**msgspec.structs.asdict(device), device_key=key)
