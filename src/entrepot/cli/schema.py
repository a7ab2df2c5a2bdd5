"""`entrepot schema`: the data model as a lock, a template, a policy, a page."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from pathlib import Path

import click

from entrepot.tables import Table
from entrepot.tables import schema as tools

SERVICES = ("accounts", "collect", "inventory", "relay", "telemetry")
# Models that are not a service's own.
SHARED = ("work",)
LOCK = Path("schema.lock")

lock_option = click.option(
    "--lock", "path", type=click.Path(path_type=Path), default=LOCK, show_default=True, help="The lock file."
)


@click.group()
def command() -> None:
    """The data model as a lock, a template, a policy, a page."""


@command.command()
@lock_option
def lock(path: Path) -> None:
    """Write what the models declare."""
    path.write_text(tools.write(tools.describe(load_tables())), encoding="utf-8")
    click.echo(f"{path} written")


@command.command()
@lock_option
def check(path: Path) -> None:
    """Compare the models with the lock; exits 1 when data must be migrated, or can't be."""
    if not path.exists():
        raise click.ClickException(f"{path} is not there; `entrepot schema lock` writes it")
    differences = tools.compare(tools.read(path.read_text(encoding="utf-8")), tools.describe(load_tables()))
    for difference in differences:
        click.echo(str(difference))
    if any(difference.verdict != "safe" for difference in differences):
        sys.exit(1)
    if differences:
        click.echo("All safe: `entrepot schema lock` takes them over.")


@command.command()
def cloudformation() -> None:
    """Print a CloudFormation template of the tables."""
    click.echo(json.dumps(tools.template(load_tables()), indent=2))


@command.command()
@click.argument("service", type=click.Choice([*SERVICES, *SHARED]))
@click.option("--prefix", default="", help="What stands before the names of the tables.")
@click.option("--region", default="*", show_default=True)
@click.option("--account", default="*", show_default=True)
def iam(service: str, prefix: str, region: str, account: str) -> None:
    """Print the least policy of a service."""
    made = tools.policy(load_tables(), service, prefix=prefix, region=region, account=account)
    click.echo(json.dumps(made, indent=2))


@command.command()
def docs() -> None:
    """Print the page of documentation of the tables."""
    click.echo(tools.document(load_tables()), nl=False)


def load_tables() -> list[Table]:
    """The tables of all models that are there, each once."""
    found: dict[str, Table] = {}
    for package in (*SERVICES, *SHARED):
        name = f"entrepot.{package}.model"
        if importlib.util.find_spec(f"entrepot.{package}") is None or importlib.util.find_spec(name) is None:
            continue
        module = importlib.import_module(name)
        found.update({table.name: table for table in vars(module).values() if isinstance(table, Table)})
    return list(found.values())
