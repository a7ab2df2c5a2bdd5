"""What would keep the fleet's database from working, for `entrepot doctor`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import asyncpg

from entrepot.fleet.part import DIRECTORY_NAME
from entrepot.fleet.postgres import EmbeddedPostgres, PostgresError, program, stand_in

SECONDS_MAX = 5.0
VERSION_MIN = 15

Verdict = tuple[Literal["ok", "warning", "failure"], str]


def examine(url: str | None, data_path: Path) -> Verdict:
    """Ask the PostgreSQL at an address for its version, or whether one of our own could start."""
    if url:
        return asyncio.run(_ask(url))
    try:
        path = Path(program("postgres"))
        account = stand_in()
    except PostgresError as error:
        return "failure", str(error)
    if not path.exists():
        return "failure", f"{path} is missing; install the packages again"
    who = f", run by the account {account.pw_name} in place of root" if account else ""
    made = EmbeddedPostgres(data_path / DIRECTORY_NAME).exists
    return "ok", f"one of our own{who}; {'has data' if made else 'starts on first use'}"


async def _ask(url: str) -> Verdict:
    try:
        connection: asyncpg.Connection[Any] = await asyncpg.connect(
            url, timeout=SECONDS_MAX, command_timeout=SECONDS_MAX
        )
    except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return "failure", f"can't be reached: {error}"
    try:
        version = connection.get_server_version()
    finally:
        connection.terminate()
    if version.major < VERSION_MIN:
        return "failure", f"version {version.major} is too old; {VERSION_MIN} or newer is needed"
    return "ok", f"version {version.major}.{version.minor} answers"
