"""The command line; each command is a module of its own, imported only when it is called."""

from __future__ import annotations

import importlib
import importlib.util

import click

from entrepot import __version__

# Each command's one line of help stands here, so that `--help` too imports none of them.
COMMANDS = {
    "up": "Start everything on this machine.",
    "serve": "Serve HTTP beside others, on a store that may be shared.",
    "worker": "Do what must still happen beside others, on a store that may be shared.",
    "accounts": "Help people with their accounts.",
    "fleet": "Look after projects and boards.",
    "simulate": "Let virtual things report in.",
    "listen": "Forward a source's events to this machine.",
    "jobs": "List your jobs on a server, or follow one to its end.",
    "settings": "Print each setting with its value, origin and meaning.",
    "doctor": "Look for what would keep it from working.",
    "dynamo": "Only the DynamoDB endpoint.",
    "schema": "The data model as a lock, a template, a policy, a page.",
}


class LazyGroup(click.Group):
    """A group that imports `entrepot.cli.NAME` for the command NAME, when it is there."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in COMMANDS if importlib.util.find_spec(f"entrepot.cli.{name}")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command = importlib.import_module(f"entrepot.cli.{cmd_name}").command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="entrepot")
def main() -> None:
    """Entrepot: a self-hosted backend for things that report in."""
