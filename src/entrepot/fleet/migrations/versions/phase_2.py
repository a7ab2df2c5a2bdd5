"""Phase 2: both systems side by side, heartbeats by month, row-level security."""

from entrepot.fleet.migrations.sql import run

revision = "phase_2"
down_revision = "phase_1"


def upgrade() -> None:
    run("phase_2")


def downgrade() -> None:
    run("phase_2_back")
