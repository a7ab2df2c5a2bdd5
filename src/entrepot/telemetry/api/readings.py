"""Routes of readings: the latest, ranges, series, files."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from litestar import get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, QueryParameter
from litestar.response import Stream

from entrepot.http.caller import Caller
from entrepot.http.pages import limit_within
from entrepot.http.problems import FieldError, Invalid
from entrepot.telemetry.api.requests import (
    READINGS_DEFAULT,
    READINGS_MAX,
    TAGS,
    Context,
    Cursor,
    From,
    Limit,
    To,
    answered,
    reader,
    viewer_of,
)
from entrepot.telemetry.model import Device
from entrepot.telemetry.readings import Format, Range, Series, view_of
from entrepot.telemetry.series import Fn

POINTS_DEFAULT = 500
POINTS_MAX = 2000
SERIES_DEFAULT_MS = 24 * 3600 * 1000

Order = Annotated[Literal["asc", "desc"], QueryParameter(description="Newest first is `desc`.")]
Metric = Annotated[str, QueryParameter(description="The sensor's name.", min_length=1, max_length=128)]
Function = Annotated[Fn, QueryParameter(description="How values are drawn together.")]
Points = Annotated[int | None, QueryParameter(description="How many at most.", required=False)]
FileFormat = Annotated[Format, QueryParameter(name="format", description="`csv` or `jsonl`.")]

_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


class ReadingPage(msgspec.Struct, omit_defaults=True):
    """Readings of a range."""

    readings: list[dict[str, Any]]
    next_cursor: str | None = None


def routes(context: Context) -> list[HTTPRouteHandler]:
    """The routes of readings."""

    async def device_of(caller: Caller, hardware_id: str) -> Device:
        return await context.devices.one(hardware_id, viewer_of(caller))

    def span_of(start: int | None, end: int | None, *, default_ms: int | None = None) -> Range:
        now_ms = context.clock.epoch_ms()
        to_ms = now_ms + (context.bounds_future_ms if default_ms is None else 0) if end is None else end
        earliest = 0 if default_ms is None else max(0, to_ms - default_ms)
        return Range(earliest if start is None else start, to_ms)

    @get("/telemetry/devices/{hardware_id:str}/latest", guards=[reader], tags=TAGS, summary="Newest reading")
    async def latest(caller: NamedDependency[Caller], hardware_id: FromPath[str]) -> dict[str, Any]:
        """The newest reading by the time it was taken."""
        with answered():
            device = await device_of(caller, hardware_id)
            return view_of(await context.readings.latest(device.hardware_id))

    @get("/telemetry/devices/{hardware_id:str}/readings", guards=[reader], tags=TAGS, summary="Readings")
    async def readings(
        caller: NamedDependency[Caller],
        hardware_id: FromPath[str],
        start: From = None,
        end: To = None,
        limit: Limit = None,
        cursor: Cursor = None,
        order: Order = "desc",
    ) -> ReadingPage:
        """The readings of a range, both ends included."""
        size = limit_within(limit, default=READINGS_DEFAULT, most=READINGS_MAX)
        with answered():
            device = await device_of(caller, hardware_id)
            # A bound that moves would make each page's cursor one of another list.
            span = Range(start or 0, end if end is not None else _LAST_MS)
            page = await context.readings.page(
                device.hardware_id, span, ascending=order == "asc", limit=size, cursor=cursor
            )
        return ReadingPage([view_of(reading) for reading in page.items], page.cursor)

    @get("/telemetry/devices/{hardware_id:str}/series", guards=[reader], tags=TAGS, summary="Chart series")
    async def series(
        caller: NamedDependency[Caller],
        hardware_id: FromPath[str],
        metric: Metric,
        start: From = None,
        end: To = None,
        points: Points = None,
        fn: Function = "avg",
    ) -> Series:
        """A metric downsampled for a chart, of the last day unless told; long ones are made of hours."""
        count = POINTS_DEFAULT if points is None else points
        if not 1 <= count <= POINTS_MAX:
            raise Invalid([FieldError("points", f"must be 1 to {POINTS_MAX}, not {count}")])
        with answered():
            device = await device_of(caller, hardware_id)
            span = span_of(start, end, default_ms=SERIES_DEFAULT_MS)
            return await context.readings.series(device.hardware_id, metric, span, points=count, fn=fn)

    @get("/telemetry/devices/{hardware_id:str}/export", guards=[reader], tags=TAGS, summary="Readings file")
    async def export(
        caller: NamedDependency[Caller],
        hardware_id: FromPath[str],
        start: From = None,
        end: To = None,
        file_format: FileFormat = "csv",
    ) -> Stream:
        """The readings of a range as a file, oldest first, streamed."""
        with answered():
            device = await device_of(caller, hardware_id)
            span = span_of(start, end)
        name = f"{device.hardware_id.replace(':', '')}.{file_format}"
        return Stream(
            context.readings.export(device, span, file_format),
            media_type=_TYPES[file_format],
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    return [latest, readings, series, export]


_LAST_MS = 9_999_999_999_999
