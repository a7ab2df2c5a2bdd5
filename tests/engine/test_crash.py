"""Killed in the middle of a storm of writes, the store has all that it acknowledged, and nothing by halves."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from entrepot.engine import Engine
from entrepot.engine.integrity import verify

pytestmark = pytest.mark.anyio


def start(path: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.engine.storm", str(path), name, str(count)], stdout=subprocess.PIPE
    )


def kill_after(process: subprocess.Popen[bytes], acknowledged: int) -> set[int]:
    """Kills a storm after so many acknowledgements; gives all that came through."""
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(acknowledged)]
    process.kill()
    lines += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    return {int(line) for line in lines if line.endswith(b"\n")}


async def all_pairs(engine: Engine) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    request: dict[str, Any] = {"TableName": "pairs", "ProjectionExpression": "pk, sk"}
    while True:
        answer = await engine.call("Scan", request)
        for item in answer["Items"]:
            found.setdefault(item["pk"], set()).add(item["sk"])
        if "LastEvaluatedKey" not in answer:
            return found
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


async def survive(path: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    acknowledged: set[int] = set()
    for _ in range(kills):
        acknowledged |= kill_after(start(path, "storm", 0), chance.randint(1, 400))
        engine = await Engine.open(path)
        found = await all_pairs(engine)
        left, right = found.get("storm-left", set()), found.get("storm-right", set())
        assert acknowledged <= left
        assert left == right
        total = await engine.call("GetItem", {"TableName": "pairs", "Key": {"pk": "total", "sk": 0}})
        assert total["Item"]["written"] == len(left)
        assert verify(engine.file) == []
        await engine.close()


async def test_killed_writers_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    await survive(tmp_path / "store.db", kills=5, seed=1)


@pytest.mark.soak
async def test_a_hundred_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    await survive(tmp_path / "store.db", kills=100, seed=2)


async def test_two_processes_write_to_one_store_and_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    names = ["one", "two"]
    storms = [start(path, name, 600) for name in names]
    outputs = [storm.communicate(timeout=120)[0] for storm in storms]
    assert [storm.returncode for storm in storms] == [0, 0]
    for output in outputs:
        assert Counter(map(int, output.split())) == Counter(range(600))
    engine = await Engine.open(path)
    found = await all_pairs(engine)
    for name in names:
        assert found[f"{name}-left"] == found[f"{name}-right"] == set(range(600))
    total = await engine.call("GetItem", {"TableName": "pairs", "Key": {"pk": "total", "sk": 0}})
    assert total["Item"]["written"] == 1200
    assert verify(engine.file) == []
    await engine.close()


async def test_one_process_killed_does_not_stop_the_other(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    victim = start(path, "victim", 0)
    other = start(path, "other", 800)
    acknowledged = kill_after(victim, 100)
    output, _ = other.communicate(timeout=120)
    assert other.returncode == 0
    assert len(output.split()) == 800
    engine = await Engine.open(path)
    found = await all_pairs(engine)
    assert acknowledged <= found["victim-left"] == found["victim-right"]
    assert verify(engine.file) == []
    await engine.close()
