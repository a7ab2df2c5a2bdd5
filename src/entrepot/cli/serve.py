"""`entrepot serve`: HTTP in one process more, beside `up` or `worker`, which do the work."""

from __future__ import annotations

import socket

import click

from entrepot import log
from entrepot.app import build
from entrepot.cli.options import CANT_START, WRONG_USE, stop, with_settings
from entrepot.cli.server import listening_socket, run, url_of
from entrepot.datadir import DataDir, DataDirError
from entrepot.settings import Core, Settings, SettingsError
from entrepot.web.application import Application


@click.command()
@with_settings
def command(settings: Settings) -> None:
    """Serve HTTP; joins others on the same data or the same remote store."""
    core = settings[Core]
    log.configure(core.log_level, core.log_format)
    data = DataDir(core.data_dir)
    try:
        data.open()
        application = build(settings, data, works=False)
    except DataDirError as error:
        stop(str(error), CANT_START)
    except SettingsError as error:
        stop(str(error), WRONG_USE)
    listener = listening_socket(core.host, core.port)
    run(application, core, listener, lambda: _announce(application, core, listener))


def _announce(application: Application, core: Core, listener: socket.socket) -> None:
    url = url_of(listener)
    first_path = application.first_path()
    if first_path is not None:
        click.echo(f"Open    {(core.public_url or url).rstrip('/')}{first_path}   (once, 1 h)")
    click.echo(f"Serving {url}")
