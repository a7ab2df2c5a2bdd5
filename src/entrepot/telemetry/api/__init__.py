"""Telemetry's routes for people; devices call the lanes."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from entrepot.telemetry.api import alerts, devices, keys, readings
from entrepot.telemetry.api.requests import Context


def telemetry_routes(context: Context) -> list[HTTPRouteHandler]:
    """All routes but the devices' own calls."""
    return [route for noun in (devices, readings, keys, alerts) for route in noun.routes(context)]


__all__ = ["Context", "telemetry_routes"]
