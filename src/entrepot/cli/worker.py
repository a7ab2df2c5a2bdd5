"""`entrepot worker`: does what must still happen in one process more, beside `up` or `serve`."""

from __future__ import annotations

import asyncio
import signal

import click
import uvloop

from entrepot import log
from entrepot.app import build
from entrepot.cli.options import CANT_START, WRONG_USE, stop, with_settings
from entrepot.datadir import DataDir, DataDirError
from entrepot.settings import Core, Settings, SettingsError
from entrepot.web.parts import Parts


@click.command()
@with_settings
def command(settings: Settings) -> None:
    """Do work; joins others on the same data or the same remote store."""
    core = settings[Core]
    log.configure(core.log_level, core.log_format)
    data = DataDir(core.data_dir)
    try:
        data.open()
        parts = build(settings, data, serves=False).parts
    except DataDirError as error:
        stop(str(error), CANT_START)
    except SettingsError as error:
        stop(str(error), WRONG_USE)
    refusal = uvloop.run(_work(parts))
    if refusal is not None:
        stop(str(refusal), CANT_START)


async def _work(parts: Parts) -> Exception | None:
    """Work until SIGINT or SIGTERM; gives what kept it from starting."""
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked.set)
    try:
        await parts.start()
    except Exception as error:
        # The edge of the command: whatever it was is said in one line.
        return error
    click.echo("Working; Ctrl-C stops, and nothing is lost.")
    await asked.wait()
    await parts.stop()
    return None
