"""A scan can be said only by the operator's tools."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import entrepot
from entrepot.tables import Database, ScanRefused, Store
from entrepot.tables.scanning import every_item
from tests.tables.sample import Measure, measures, note, notes

pytestmark = pytest.mark.anyio

SOURCE = Path(entrepot.__file__).parent
# The store itself, the library, and the command line of who runs the installation.
MAY_SCAN = ("engine", "tables", "cli")


@pytest.mark.parametrize(
    "operation", ["Scan", "ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"]
)
async def test_a_database_refuses_to_read_without_a_key(engine_db: Database, operation: str) -> None:
    with pytest.raises(ScanRefused, match="a request reads by a declared pattern"):
        await engine_db.call(operation, {"TableName": "notes"})


def test_no_service_scans() -> None:
    scans = re.compile(r"""tables\.scanning|["']Scan["']|ExecuteStatement|ExecuteTransaction""")
    guilty = [
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if file.relative_to(SOURCE).parts[0] not in MAY_SCAN
        and scans.search(file.read_text(encoding="utf-8"))
    ]
    assert guilty == []


async def test_the_operators_scan_sees_everything(db: Database, store: Store) -> None:
    await db.create(note(1, slug="s", expiresAt=1_000))
    assert len([item async for item in every_item(db, notes)]) == 2
    await db.put_all(Measure(device=f"d{n}", at=n, value=1.0) for n in range(40))
    assert len([item async for item in every_item(db, measures)]) == 40
