"""The fleet's part of the command line: `entrepot fleet migrate` and `entrepot simulate fleet`."""

from __future__ import annotations

import asyncio

import click

from entrepot.fleet.errors import FleetError
from entrepot.fleet.phases import PHASES
from entrepot.fleet.postgres import PostgresError
from entrepot.fleet.simulator import Place, Simulation, SimulationError

MOVES_SHOWN_MAX = 1000


@click.group()
def fleet() -> None:
    """Look after projects and boards."""


@fleet.command()
@click.option(
    "--from", "url", envvar="ENTREPOT_POSTGRES_URL", required=True, metavar="URL",
    help="The legacy database, which is changed in place.",
)  # fmt: skip
@click.option(
    "--to", "phase", type=click.IntRange(0, len(PHASES) - 1), default=len(PHASES) - 1, show_default=True,
    help="The phase to go to, forwards or back.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Do all of it, show what it gives, and take it back.")
def migrate(url: str, phase: int, *, dry_run: bool) -> None:
    """Give every device of a legacy database a project and a number, phase by phase.

    The way back restores the legacy columns and devices, not everything: phase 2 leaves heartbeats of over 30 days
    behind, phase 3 keeps only a hint of a `device_key`, phase 4 drops the API keys. Their hashes stay, and by them the
    boards are known. Have a backup.
    """
    # Imported here: the migrations' libraries take a second.
    from entrepot.fleet import schema

    try:
        click.echo(f"{schema.phase_of(url) or 'no phase yet'}")
        moves = schema.migrate(
            url, to=PHASES[phase], dry_run=dry_run, progress=lambda step: click.echo(f"  {step}")
        )
    except (PostgresError, FleetError) as error:
        raise click.ClickException(str(error)) from None
    for move in moves[:MOVES_SHOWN_MAX]:
        click.echo(f"{move.device_uuid}  {move.composite_device_id}")
    if len(moves) > MOVES_SHOWN_MAX:
        click.echo(f"… and {len(moves) - MOVES_SHOWN_MAX} more; device_migration_log has all")
    click.echo(f"{len(moves)} devices moved; {PHASES[phase]}")
    if dry_run:
        click.echo("A dry run: nothing was changed.")


@click.command()
@click.option("--boards", default=20, show_default=True, type=click.IntRange(1, 20_000), help="How many.")
@click.option("--url", default="http://127.0.0.1:8080", show_default=True, help="The server.")
@click.option("--key", envvar="ENTREPOT_KEY", required=True, help="A key with write permission: ek_…")
@click.option(
    "--speed", default=1.0, show_default=True, type=click.FloatRange(0.01, 10_000), help="How fast time goes."
)
@click.option("--seconds", type=click.FloatRange(min=0), help="How long; without it until Ctrl-C.")
@click.option("--seed", type=int, help="Makes the same day again.")
def simulate(boards: int, url: str, key: str, speed: float, seconds: float | None, seed: int | None) -> None:
    """Virtual ESP8266 boards: set up, heartbeat each 60 s, lose power and network, come back."""
    place = Place(url=url.rstrip("/"), key=key, speed=speed, seconds=seconds, seed=seed)
    try:
        asyncio.run(Simulation(place, boards, click.echo).run())
    except SimulationError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        click.echo("Stopped.")
