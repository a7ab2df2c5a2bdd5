"""The command line."""

import click


@click.group()
def main() -> None:
    """Entrepot: a self-hosted backend for things that report in."""
