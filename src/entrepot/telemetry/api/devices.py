"""Routes of devices, and of the service's health."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import get, put
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody

from entrepot.http.caller import Caller, anyone
from entrepot.http.pages import limit_within
from entrepot.http.problems import Unavailable
from entrepot.tables import TablesError
from entrepot.telemetry.api.requests import (
    PAGE_DEFAULT,
    PAGE_MAX,
    TAGS,
    Context,
    Cursor,
    Limit,
    answered,
    reader,
    viewer_of,
    writer,
)
from entrepot.telemetry.errors import Unknown
from entrepot.telemetry.model import Device

# A device that can't be, to ask the store for.
NOBODY = "00:00:00:00:00:00"


class DeviceView(msgspec.Struct, omit_defaults=True):
    """A device as the API shows it."""

    hardware_id: str
    confirmation_id: str
    capabilities: dict[str, Any]
    first_registered_at: str
    last_seen_at: str
    last_boot_id: str
    firmware_version: str
    friendly_name: str | None = None
    metrics: list[str] | None = None
    owner: str | None = None

    @classmethod
    def of(cls, device: Device) -> DeviceView:
        return cls(
            device.hardware_id,
            device.confirmation_id,
            msgspec.to_builtins(device.capabilities),
            device.first_registered_at,
            device.last_seen_at,
            device.last_boot_id,
            device.firmware_version,
            device.friendly_name,
            sorted(device.metrics) if device.metrics else None,
            device.owner,
        )


class DevicePage(msgspec.Struct, omit_defaults=True):
    """Devices, the most recently active first."""

    devices: list[DeviceView]
    next_cursor: str | None = None


class DeviceChange(msgspec.Struct, forbid_unknown_fields=True):
    """The name that people give a device; null clears it."""

    friendly_name: str | None


class Health(msgspec.Struct):
    status: str


def routes(context: Context) -> list[HTTPRouteHandler]:
    """The routes of devices."""

    @get("/telemetry/devices", guards=[reader], tags=TAGS, summary="Devices")
    async def devices(
        caller: NamedDependency[Caller], limit: Limit = None, cursor: Cursor = None
    ) -> DevicePage:
        """One's devices, the most recently active first; the operator sees all."""
        size = limit_within(limit, default=PAGE_DEFAULT, most=PAGE_MAX)
        page = await context.devices.page(viewer_of(caller), limit=size, cursor=cursor)
        return DevicePage([DeviceView.of(device) for device in page.items], page.cursor)

    @get("/telemetry/devices/{hardware_id:str}", guards=[reader], tags=TAGS, summary="A device")
    async def device(caller: NamedDependency[Caller], hardware_id: FromPath[str]) -> DeviceView:
        """A device of one's own."""
        with answered():
            return DeviceView.of(await context.devices.one(hardware_id, viewer_of(caller)))

    @put("/telemetry/devices/{hardware_id:str}", guards=[writer], tags=TAGS, summary="Name a device")
    async def name(
        caller: NamedDependency[Caller], hardware_id: FromPath[str], data: JSONBody[DeviceChange]
    ) -> DeviceView:
        """Sets the friendly name (1 to 64 printable characters of any script), or clears it with null."""
        with answered():
            renamed = await context.devices.rename(hardware_id, data.friendly_name, viewer_of(caller))
            return DeviceView.of(renamed)

    @get("/telemetry/health", guards=[anyone], tags=TAGS, summary="Whether readings can be taken")
    async def health() -> Health:
        """Really reads the store."""
        try:
            await context.devices.one(NOBODY, None)
        except Unknown:
            return Health("healthy")
        except (TablesError, OSError) as error:
            raise Unavailable("The store does not answer.", code="STORE_BUSY") from error
        return Health("healthy")

    return [devices, device, name, health]
