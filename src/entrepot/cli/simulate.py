"""`entrepot simulate`: things that report in, without the things; each service brings its own."""

from __future__ import annotations

import importlib

import click

# Where each simulation is, and its line of help, so that `--help` imports none of them.
SIMULATIONS = {
    "fleet": ("entrepot.fleet.commands", "Boards that heartbeat, lose power and come back."),
    "telemetry": ("entrepot.telemetry.commands", "Sensors that report in, with the habits of real ones."),
}


class Simulations(click.Group):
    """Imports a simulation when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(SIMULATIONS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SIMULATIONS:
            return None
        command = importlib.import_module(SIMULATIONS[cmd_name][0]).simulate
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, SIMULATIONS[name][1]) for name in self.list_commands(ctx)])


@click.command(cls=Simulations)
def command() -> None:
    """Simulate things that report in."""
