"""Telemetry's part of the command line: `entrepot simulate telemetry`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from entrepot.clock import Clock
from entrepot.telemetry.simulation import Account, Place, Simulation, SimulationError

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

BAR_STEPS = 1000


@click.command()
@click.option("--url", default="http://127.0.0.1:8080", show_default=True, help="The server.")
@click.option("--key", envvar="ENTREPOT_DEVICE_KEY", required=True, help="A device key: 64 hex characters.")
@click.option("--devices", default=100, show_default=True, type=click.IntRange(1, 20_000), help="How many.")
@click.option(
    "--minutes", default=60.0, show_default=True, type=click.FloatRange(1, 100_000), help="Simulated time."
)
@click.option(
    "--speed", default=60.0, show_default=True, type=click.FloatRange(0.01), help="How fast time goes."
)
@click.option("--seed", type=int, help="Makes the same fleet again.")
def simulate(url: str, key: str, devices: int, minutes: float, speed: float, seed: int | None) -> None:
    """Sensors that report in: healthy ones, and those that replay, mix up, lose their clock or their key."""
    place = Place(url=url.rstrip("/"), key=key, devices=devices, minutes=minutes, speed=speed, seed=seed)
    shown: ProgressBar[str] = click.progressbar(
        length=BAR_STEPS, label="telemetry", item_show_func=lambda words: words
    )
    with shown as bar:
        done = 0

        def progress(share: float, words: str) -> None:
            nonlocal done
            step = round(share * BAR_STEPS) - done
            done += step
            bar.update(step, words)

        try:
            account = asyncio.run(Simulation(place, progress).run(Clock().epoch_ms()))
        except SimulationError as error:
            raise click.ClickException(str(error)) from None
        except KeyboardInterrupt:
            raise click.ClickException("Stopped before the end: nothing can be said.") from None
    _tell(account)


def _tell(account: Account) -> None:
    click.echo(f"{account.taken} readings taken, {account.requests} requests")
    click.echo(
        f"{account.acknowledged} acknowledged, {account.duplicates} duplicates, "
        f"{account.rejected} rejected, {account.refused} refused for a wrong key"
    )
    if not account.reconciled:
        raise click.ClickException(f"{account.lost} readings lost, {account.doubled} stored twice")
    click.echo("Reconciled: every reading is stored exactly once, or was reported.")
