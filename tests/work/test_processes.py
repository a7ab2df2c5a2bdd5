"""Several processes do the work of one store; some are killed, and each effect is there exactly once."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from entrepot.engine.integrity import verify
from entrepot.work import Work
from tests.work.model import Tallies
from tests.work.storm import prepare

pytestmark = pytest.mark.anyio

END_SECONDS_MAX = 120


def start(path: Path, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.work.storm", str(path), str(count)], stdout=subprocess.PIPE
    )


def killed_after(process: subprocess.Popen[bytes], lines: int) -> list[bytes]:
    """Kills a process once it has begun so much; gives all that it began."""
    assert process.stdout is not None
    read = [process.stdout.readline() for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    read += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    return [line.strip() for line in read if line.endswith(b"\n")]


async def put(work: Work, numbers: range) -> None:
    async def one(number: int) -> None:
        await work.add(kind="storm.act", subject=f"n{number}", key=f"key{number % 5}")

    await asyncio.gather(*(one(number) for number in numbers))


async def effects(work: Work, count: int) -> list[int]:
    counts = Tallies(work.db)
    found = await work.db.get_all([counts.one(f"n{number}") for number in range(count)])
    return [0 if tally is None else 1 for tally in found]


async def test_killed_workers_leave_each_effect_exactly_once(tmp_path: Path) -> None:
    chance = random.Random(7)
    path = tmp_path / "store.db"
    engine, work = await prepare(str(path))
    await put(work, range(400))
    began: Counter[bytes] = Counter()
    steady = start(path, 400)
    for _ in range(4):
        began.update(killed_after(start(path, 400), chance.randint(1, 25)))
    output, _ = await asyncio.to_thread(steady.communicate, timeout=END_SECONDS_MAX)
    assert steady.returncode == 0
    began.update(output.split(b"\n"))
    assert await effects(work, 400) == [1] * 400
    assert (await Tallies(work.db).one("total").required()).count == 400
    # At least once outside of the store.
    assert {f"n{number}".encode() for number in range(400)} <= began.keys()
    assert verify(engine.file) == []
    await engine.close()


async def test_two_processes_share_the_work(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    engine, work = await prepare(str(path))
    workers = [start(path, 600) for _ in range(2)]
    for worker in workers:
        assert worker.stdout is not None
        assert await asyncio.to_thread(worker.stdout.readline) == b"ready\n"
    for begin in range(0, 600, 100):
        await put(work, range(begin, begin + 100))
    outputs = [
        (await asyncio.to_thread(worker.communicate, timeout=END_SECONDS_MAX))[0].split()
        for worker in workers
    ]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert await effects(work, 600) == [1] * 600
    assert (await Tallies(work.db).one("total").required()).count == 600
    assert all(outputs)
    await engine.close()


async def test_a_job_goes_on_in_another_process_from_its_cursor(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    engine, work = await prepare(str(path))
    async with work.db.transaction() as transaction:
        job = work.jobs.start(transaction, kind="storm.job", owner="usr_1")
    killed_after(start(path, 20), 5)
    held = next(
        item
        for item in (await engine.call("Scan", {"TableName": "entrepot-work"}))["Items"]
        if "leaseId" in item
    )
    # Nobody waits for the lease of the dead: it is ended as time would end it.
    await engine.call(
        "UpdateItem",
        {
            "TableName": "entrepot-work",
            "Key": {"PK": held["PK"], "SK": held["SK"]},
            "UpdateExpression": "SET dueSk = :past",
            "ExpressionAttributeValues": {":past": f"{0:013}#{held['workId']}"},
        },
    )
    output, _ = await asyncio.to_thread(start(path, 20).communicate, timeout=END_SECONDS_MAX)
    ended = await work.jobs.jobs.one("usr_1", job.jobId).required()
    assert (ended.status, ended.done, ended.steps) == ("done", 20, 20)
    assert (await Tallies(work.db).one("total").required()).count == 20
    assert b"step 1\n" not in output
    await engine.close()
