"""Phase 4: the legacy key columns go."""

from entrepot.fleet.migrations.sql import run

revision = "phase_4"
down_revision = "phase_3"


def upgrade() -> None:
    run("phase_4")


def downgrade() -> None:
    run("phase_4_back")
