"""Phase 0: the legacy fleet as it was, on Supabase's roles and auth schema."""

from entrepot.fleet.migrations.sql import run

revision = "phase_0"
down_revision = None


def upgrade() -> None:
    run("phase_0")


def downgrade() -> None:
    run("phase_0_back")
