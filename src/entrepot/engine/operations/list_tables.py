"""ListTables: the names of the tables, in order."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from entrepot.engine.operations.operation import Operation
from entrepot.engine.shapes import Record, Text, Whole

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

LIMIT_MAX = 100

SHAPE = Record(
    "ListTablesInput",
    {
        "Limit": Whole(lowest=1, highest=LIMIT_MAX),
        "ExclusiveStartTableName": Text(pattern=r"[a-zA-Z0-9_.-]+", shortest=3, longest=255),
    },
)


def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    names = engine.catalog.names()
    start = request.get("ExclusiveStartTableName")
    if start is not None:
        names = names[bisect_right(names, start) :]
    limit = request.get("Limit") or LIMIT_MAX
    answer: dict[str, Any] = {"TableNames": names[:limit]}
    if len(names) > limit:
        answer["LastEvaluatedTableName"] = names[limit - 1]
    return answer


OPERATION = Operation("ListTables", SHAPE, run, answers_at_once=True)
