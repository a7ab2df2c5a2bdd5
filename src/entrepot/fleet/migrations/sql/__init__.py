"""The SQL of each phase, forwards and back."""

from __future__ import annotations

from pathlib import Path

from alembic import op

from entrepot.fleet.schema import driver_of


def run(name: str) -> None:
    """Run the statements of a file on the migration's connection."""
    statements = (Path(__file__).parent / f"{name}.sql").read_bytes()
    driver_of(op.get_bind()).execute(statements)
