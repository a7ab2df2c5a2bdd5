"""The fleet's routes."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from entrepot.fleet.api import configs, devices, events, history, projects
from entrepot.fleet.api.requests import Context


def fleet_routes(context: Context) -> list[HTTPRouteHandler]:
    """All routes but the boards' own call, which is a lane."""
    return [route for noun in (projects, devices, history, configs, events) for route in noun.routes(context)]


__all__ = ["Context", "fleet_routes"]
