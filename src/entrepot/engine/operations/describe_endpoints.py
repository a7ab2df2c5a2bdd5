"""DescribeEndpoints: where requests of this region go; over the wire it is the address that was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entrepot.engine.operations.operation import Operation
from entrepot.engine.shapes import Record

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

CACHE_MINUTES = 1440

SHAPE = Record("DescribeEndpointsRequest", {})


def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    address = f"dynamodb.{engine.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": CACHE_MINUTES}]}


OPERATION = Operation("DescribeEndpoints", SHAPE, run, answers_at_once=True)
