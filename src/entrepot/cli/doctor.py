"""`entrepot doctor`: looks for what would keep it from working; each part adds its own questions."""

from __future__ import annotations

import asyncio
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import apsw
import click

from entrepot.app import StorePart, connector
from entrepot.cli.options import with_settings
from entrepot.clock import Clock
from entrepot.datadir import DataDir, DataDirError
from entrepot.fleet.diagnosis import examine
from entrepot.settings import Core, Settings
from entrepot.web.assets import BUILT
from entrepot.web.description import BUNDLE

DISK_BYTES_MIN = 1024**3
# SQLite before this can corrupt a write-ahead log that one connection writes while another moves it.
SQLITE_MIN = (3, 51, 3)
# No clock that is right says less than this program's first release.
EARLIEST = datetime(2025, 1, 1, tzinfo=UTC)
CLOCK_SLACK_SECONDS = 60


class Finding(NamedTuple):
    """What a question found out."""

    verdict: Literal["ok", "warning", "failure"]
    text: str


Question = Callable[[Settings], Finding]


@click.command()
@with_settings
def command(settings: Settings) -> None:
    """Look for what would keep it from working; ends with 1 when something would."""
    failed = False
    for name, finding in diagnose(settings):
        failed = failed or finding.verdict == "failure"
        colour = {"ok": "green", "warning": "yellow", "failure": "red"}[finding.verdict]
        click.echo(f"{click.style(f'{finding.verdict:8}', fg=colour)} {name:10} {finding.text}")
    raise SystemExit(1 if failed else 0)


def diagnose(settings: Settings) -> Iterator[tuple[str, Finding]]:
    """Ask every question in turn."""
    for name, question in QUESTIONS.items():
        yield name, question(settings)


def _directory(settings: Settings) -> Finding:
    data = DataDir(settings[Core].data_dir)
    try:
        data.open()
    except DataDirError as error:
        return Finding("failure", str(error))
    mode = data.path.stat().st_mode & 0o777
    if mode & 0o077:
        return Finding("warning", f"{data.path} is open to other users (mode {mode:o}); chmod 700 closes it")
    return Finding("ok", f"{data.path} can be written, by its owner alone")


def _disk(settings: Settings) -> Finding:
    path = Path(settings[Core].data_dir)
    there = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    free = shutil.disk_usage(there).free
    text = f"{free / 1024**3:.1f} GiB free at {path}"
    return Finding("ok" if free >= DISK_BYTES_MIN else "warning", text)


def _clock(settings: Settings) -> Finding:
    now = time.time()
    text = f"{datetime.fromtimestamp(now, UTC):%Y-%m-%dT%H:%M:%SZ}"
    if now < EARLIEST.timestamp():
        return Finding("failure", f"{text} is in the past; set the clock")
    path = Path(settings[Core].data_dir)
    newest = max((entry.stat().st_mtime for entry in path.iterdir()), default=0.0) if path.is_dir() else 0.0
    if newest > now + CLOCK_SLACK_SECONDS:
        return Finding("warning", f"{text} is {newest - now:.0f} s before the newest file in {path}")
    return Finding("ok", text)


def _sqlite(_: Settings) -> Finding:
    version = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")) < SQLITE_MIN:
        needed = ".".join(str(part) for part in SQLITE_MIN)
        return Finding("failure", f"{version} can corrupt data; {needed} or later is needed")
    return Finding("ok", version)


def _store(settings: Settings) -> Finding:
    core = settings[Core]
    part = StorePart(connector(core, DataDir(core.data_dir), Clock()))

    async def ask() -> None:
        await part.start()
        try:
            await part.check()
        finally:
            await part.stop()

    try:
        asyncio.run(ask())
    except Exception as error:  # The command's edge: whatever is wrong with the store is what was asked for.
        return Finding("failure", f"{core.store} does not open: {error}")
    return Finding("ok", f"{core.store} opens and answers")


def _port(settings: Settings) -> Finding:
    core = settings[Core]
    family = socket.AF_INET6 if ":" in core.host else socket.AF_INET
    with closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((core.host, core.port))
        except OSError as error:
            return Finding("warning", f"{core.host}:{core.port} can't be had now: {error.strerror}")
    return Finding("ok", f"{core.host}:{core.port} is free")


def _pages(_: Settings) -> Finding:
    if (BUILT / BUNDLE).exists():
        return Finding("ok", "the pages' files are there")
    return Finding("warning", "the files of /docs are not built; `make setup` builds them")


def _postgres(settings: Settings) -> Finding:
    core = settings[Core]
    return Finding(*examine(core.postgres_url, Path(core.data_dir)))


QUESTIONS: dict[str, Question] = {
    "directory": _directory,
    "disk": _disk,
    "clock": _clock,
    "sqlite": _sqlite,
    "store": _store,
    "postgres": _postgres,
    "port": _port,
    "pages": _pages,
}
"""The questions by name; a part adds its own."""
