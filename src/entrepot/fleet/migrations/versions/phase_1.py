"""Phase 1: projects and their ids beside the legacy columns."""

from entrepot.fleet.migrations.sql import run

revision = "phase_1"
down_revision = "phase_0"


def upgrade() -> None:
    run("phase_1")


def downgrade() -> None:
    run("phase_1_back")
