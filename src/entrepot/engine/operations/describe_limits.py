"""DescribeLimits: the quotas that an account starts with; the store itself has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entrepot.engine.operations.operation import Operation
from entrepot.engine.shapes import Record

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

ACCOUNT_UNITS_MAX = 80_000
TABLE_UNITS_MAX = 40_000

SHAPE = Record("DescribeLimitsInput", {})


def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    return {
        "AccountMaxReadCapacityUnits": ACCOUNT_UNITS_MAX,
        "AccountMaxWriteCapacityUnits": ACCOUNT_UNITS_MAX,
        "TableMaxReadCapacityUnits": TABLE_UNITS_MAX,
        "TableMaxWriteCapacityUnits": TABLE_UNITS_MAX,
    }


OPERATION = Operation("DescribeLimits", SHAPE, run, answers_at_once=True)
