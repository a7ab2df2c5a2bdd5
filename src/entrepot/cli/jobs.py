"""`entrepot jobs`: what runs for you on a server, and how far it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import click

from entrepot.cli.options import CANT_START, stop

POLL_SECONDS = 0.5
ANSWER_SECONDS_MAX = 30.0
ENDED = ("done", "failed", "cancelled")
BAR_CHARACTERS = 30


@click.command()
@click.argument("job_id", required=False)
@click.option("--url", envvar="ENTREPOT_URL", default="http://127.0.0.1:8080", help="The server's address.")
@click.option("--key", envvar="ENTREPOT_KEY", required=True, help="A key of yours, or the admin token.")
@click.option("--cancel", is_flag=True, help="Stop the job before its next step.")
def command(job_id: str | None, url: str, key: str, *, cancel: bool) -> None:
    """List your jobs, or follow one to its end; ends with 1 when it failed."""
    if cancel and job_id is None:
        raise click.UsageError("--cancel needs the id of a job")
    try:
        status = asyncio.run(_run(job_id, url, key, cancel=cancel))
    except (aiohttp.ClientError, TimeoutError) as error:
        stop(f"{url} does not answer: {error}", CANT_START)
    raise SystemExit(1 if status == "failed" else 0)


async def _run(job_id: str | None, url: str, key: str, *, cancel: bool) -> str | None:
    timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS_MAX)
    headers = {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(url, headers=headers, timeout=timeout) as session:
        if job_id is None:
            for job in (await _ask(session, "GET", "/jobs"))["jobs"]:
                click.echo(line_of(job))
            return None
        if cancel:
            await _ask(session, "DELETE", f"/jobs/{job_id}")
        status = None
        async for job in progress(session, job_id):
            click.echo(line_of(job))
            status = str(job["status"])
        return status


async def progress(session: aiohttp.ClientSession, job_id: str) -> AsyncIterator[dict[str, Any]]:
    """A job each time that it has changed, up to its end; for every command that starts one."""
    last: dict[str, Any] = {}
    while last.get("status") not in ENDED:
        job = await _ask(session, "GET", f"/jobs/{job_id}")
        if job != last:
            yield job
            last = job
        if job["status"] not in ENDED:
            await asyncio.sleep(POLL_SECONDS)


def line_of(job: dict[str, Any]) -> str:
    """A job in one line: its id, a bar when its size is known, its counts, its words."""
    done, failed, total = job["done"], job["failed"], job["total"]
    parts = [job["id"], f"{job['status']:9}", job["kind"]]
    if total:
        filled = min(BAR_CHARACTERS, BAR_CHARACTERS * (done + failed) // total)
        parts.append(f"[{'=' * filled}{' ' * (BAR_CHARACTERS - filled)}]")
    parts.append(f"{done}/{total}" if total is not None else str(done))
    if failed:
        parts.append(f"{failed} failed")
    if job["message"]:
        parts.append(job["message"])
    return "  ".join(parts)


async def _ask(session: aiohttp.ClientSession, method: str, path: str) -> dict[str, Any]:
    async with session.request(method, path) as response:
        if response.status == 204:
            return {}
        body: dict[str, Any] = await response.json(content_type=None)
        if response.status >= 400:
            stop(str(body.get("message", f"the server answered {response.status}")), CANT_START)
        return body
