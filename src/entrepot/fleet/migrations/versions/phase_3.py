"""Phase 3: every legacy device gets a project and a number."""

from entrepot.fleet.migrations.sql import run

revision = "phase_3"
down_revision = "phase_2"


def upgrade() -> None:
    run("phase_3")


def downgrade() -> None:
    run("phase_3_back")
