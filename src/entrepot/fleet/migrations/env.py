"""What Alembic runs: our phases on the connection that `schema.py` hands over."""

from typing import Any

from alembic import context

from entrepot.fleet.phases import VERSION_TABLE

attributes = context.config.attributes


def tell(ctx: Any, step: Any, heads: Any, run_args: Any) -> None:
    attributes["progress"](f"{step.up_revision_id} {'forwards' if step.is_upgrade else 'back'}")


context.configure(
    connection=attributes["connection"],
    version_table=VERSION_TABLE,
    transaction_per_migration=True,
    on_version_apply=tell,
)
with context.begin_transaction():
    context.run_migrations()
