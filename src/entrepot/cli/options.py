"""Every setting as a flag, and the settings that flags, variables and the file give."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from entrepot.app import SECTIONS
from entrepot.settings import FILE_NAME, Setting, SettingsError, declared, load

Command = Callable[..., Any]

WRONG_USE = 2
CANT_START = 1


def with_settings(command: Command) -> Command:
    """Give a command a flag for every setting, and call it with the `settings` they make."""

    @functools.wraps(command)
    def run(*, config: Path | None, **flags: Any) -> Any:
        given = {key: flags.pop(_parameter(key)) for key in keys}
        try:
            settings = load(SECTIONS, environment=os.environ, flags=given, config=config)
        except SettingsError as error:
            stop(str(error), WRONG_USE)
        return command(settings=settings, **flags)

    found = [setting for setting in declared(SECTIONS) if not setting.is_table]
    keys = [setting.key for setting in found]
    decorated: Command = run
    for setting in reversed(found):
        decorated = _option(setting)(decorated)
    return click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        help=f"The file of settings, instead of ./{FILE_NAME}.",
    )(decorated)


def stop(message: str, code: int) -> NoReturn:
    """End the process with one line on the error output."""
    click.echo(f"entrepot: {message}", err=True)
    raise SystemExit(code)


def _option(setting: Setting) -> Callable[[Command], Command]:
    names = [setting.flag, _parameter(setting.key)]
    default = "" if setting.default in (None, "", ()) else f" [{setting.default}]"
    text = f"{setting.meaning[:1].upper()}{setting.meaning[1:]}.{default}"
    if setting.is_switch:
        return click.option(names[0], names[1], flag_value="true", default=None, help=text, type=str)
    metavar = "|".join(setting.choices) or "VALUE"
    return click.option(*names, default=None, help=text, type=str, metavar=metavar)


def _parameter(key: str) -> str:
    return "setting_" + key.replace(".", "_")
