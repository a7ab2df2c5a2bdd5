"""`entrepot accounts`: helping people with their accounts, without a mail server."""

from __future__ import annotations

import asyncio

import click

from entrepot.accounts.links import LinkBook, path_of
from entrepot.accounts.model import Email, Users
from entrepot.app import TABLES, StorePart, connector
from entrepot.cli.options import CANT_START, WRONG_USE, stop, with_settings
from entrepot.clock import Clock
from entrepot.datadir import DataDir, DataDirError
from entrepot.engine.errors import DynamoError
from entrepot.settings import Core, Settings, SettingsError
from entrepot.tables import Database, TablesError


@click.group()
def command() -> None:
    """Help people with their accounts."""


@command.command("reset-link")
@click.argument("email")
@with_settings
def reset_link(settings: Settings, email: str) -> None:
    """Print a link that sets a new password for EMAIL, once, within an hour."""
    core = settings[Core]
    data = DataDir(core.data_dir)
    try:
        data.open()
        path = asyncio.run(_reset_path(core, data, email))
    except (DataDirError, DynamoError, TablesError, OSError) as error:
        stop(str(error), CANT_START)
    except SettingsError as error:
        stop(str(error), WRONG_USE)
    if path is None:
        stop(f"there is no account with the e-mail {email}", CANT_START)
    base = core.public_url or f"http://127.0.0.1:{core.port}"
    click.echo(f"{base.rstrip('/')}{path}   (once, 1 h)")


async def _reset_path(core: Core, data: DataDir, email: str) -> str | None:
    clock = Clock(offset_seconds=core.clock_offset_seconds)
    store = StorePart(connector(core, data, clock), tables=TABLES)
    await store.start()
    try:
        db = Database(store, clock=clock)
        user = await Users(db).by_email(Email(email))
        if user is None or user.deletingAt is not None:
            return None
        _, token = await LinkBook(db).make("reset", user_id=user.userId)
        return path_of("reset", token)
    finally:
        await store.stop()
