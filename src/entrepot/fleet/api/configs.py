"""Routes of the configuration that boards keep in their EEPROM."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from litestar import Response, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from entrepot.fleet import eeprom
from entrepot.fleet.api.requests import TAGS, AnyRequest, Context, answered
from entrepot.http.caller import Caller, reader, writer

BLOB_BYTES_MAX = 4096

Format = Annotated[
    Literal["bin", "c", "qr"],
    QueryParameter(description="The bytes, a C array, or a QR code (SVG).", required=False),
]


class NewConfig(msgspec.Struct, forbid_unknown_fields=True):
    """What a board needs; the key as it was shown."""

    ssid: str
    device_key: str
    password: str = ""


def routes(context: Context) -> list[HTTPRouteHandler]:
    """The routes of configurations."""

    @post(
        "/fleet/devices/{composite_device_id:str}/config",
        guards=[writer],
        tags=TAGS,
        summary="A board's EEPROM",
        status_code=200,
        media_type="application/octet-stream",
    )
    async def make(
        caller: NamedDependency[Caller],
        composite_device_id: FromPath[str],
        data: JSONBody[NewConfig],
        format: Format = "bin",  # noqa: A002 (the seed's word in the address)
        layout: FromQuery[int] = 1,
    ) -> Response[bytes]:
        """The 184 bytes to write, or the same as a C array or QR code. Nothing of it is kept."""
        with answered():
            owner = await context.owner(caller)
            await context.devices.check_key(owner, composite_device_id, data.device_key)
            config = eeprom.DeviceConfig(
                composite_device_id=composite_device_id,
                ssid=data.ssid,
                password=data.password,
                device_key=data.device_key,
            )
            blob = eeprom.encode(config, layout=layout)
        if format == "c":
            return Response(eeprom.as_c(blob).encode(), media_type="text/x-c; charset=utf-8")
        if format == "qr":
            return Response(eeprom.as_qr(blob), media_type="image/svg+xml")
        name = f'attachment; filename="{composite_device_id}.bin"'
        return Response(blob, media_type="application/octet-stream", headers={"Content-Disposition": name})

    @post(
        "/fleet/config/decode",
        guards=[reader],
        tags=TAGS,
        summary="Read an EEPROM",
        status_code=200,
        opt={"body_bytes_max": BLOB_BYTES_MAX},
    )
    async def read(request: AnyRequest, layout: FromQuery[int] = 1) -> eeprom.DeviceConfig:
        """The configuration in these bytes, when its checksum is right."""
        with answered():
            return eeprom.decode(await request.body(), layout=layout)

    return [make, read]
