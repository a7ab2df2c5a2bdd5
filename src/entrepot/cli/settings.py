"""`entrepot settings`: each setting with its value, where it came from, and what it means."""

from __future__ import annotations

import click

from entrepot.cli.options import with_settings
from entrepot.settings import Settings


@click.command()
@with_settings
def command(settings: Settings) -> None:
    """Print each setting with its value (secrets masked), where it came from, and what it means."""
    for name, value, origin, meaning in settings.rows():
        click.echo(f"{click.style(name, bold=True)} = {value or '-'}")
        click.echo(f"    {meaning} ({origin})")
