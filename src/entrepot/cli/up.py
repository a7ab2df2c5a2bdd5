"""`entrepot up`: everything on this machine, in one process."""

from __future__ import annotations

import socket

import click

from entrepot import log
from entrepot.app import build
from entrepot.cli.lan import opened_to_lan
from entrepot.cli.options import CANT_START, WRONG_USE, stop, with_settings
from entrepot.cli.server import listening_socket, run, url_of
from entrepot.datadir import DataDir, DataDirError
from entrepot.settings import Core, Settings, SettingsError


@click.command()
@click.option("--lan", is_flag=True, help="Let the local network in: phones, boards, other machines.")
@with_settings
def command(settings: Settings, *, lan: bool) -> None:
    """Start everything on this machine; Ctrl-C stops it, and nothing is lost."""
    core = settings[Core]
    log.configure(core.log_level, core.log_format)
    data = DataDir(core.data_dir)
    try:
        if lan:
            settings = opened_to_lan(settings)
            core = settings[Core]
        data.open()
        data.lock()
        application = build(settings, data)
    except DataDirError as error:
        stop(str(error), CANT_START)
    except SettingsError as error:
        stop(str(error), WRONG_USE)
    listener = listening_socket(core.host, core.port)
    run(application, core, listener, lambda: _announce(core, listener, application.first_path(), lan=lan))
    data.unlock()
    click.echo("Stopped; nothing is lost.")


def _announce(core: Core, listener: socket.socket, first_path: str | None, *, lan: bool) -> None:
    url = url_of(listener)
    port = listener.getsockname()[1]
    public = (core.public_url or url).rstrip("/")
    click.echo(f"store {core.data_dir if core.store == 'embedded' else core.store}")
    click.echo(f"Open    {public}{first_path}   (once, 1 h)" if first_path else f"Open    {public}/docs")
    if lan:
        click.echo(
            f"Network everyone on this network can reach {public}, and be delivered to, without encryption"
        )
    elif core.public_url is None:
        click.echo("Phones  make up LAN=1")
    click.echo(f"Try     curl http://127.0.0.1:{port}/readyz")
    click.echo("Ctrl-C stops; nothing is lost.")
