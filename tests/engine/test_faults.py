"""A full disk, a locked file, a damaged page: clear errors, and nothing that was acknowledged is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import apsw
import pytest

from entrepot.engine import Engine, StoreDamaged, StoreError, StoreTooNew
from entrepot.engine.errors import Internal, Throttled, Validation
from entrepot.engine.integrity import verify
from entrepot.engine.pytest_plugin import MakeEngine
from entrepot.engine.storage import turns, writer

pytestmark = pytest.mark.anyio

TABLE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def put(key: str, size: int = 10) -> dict[str, Any]:
    return {"TableName": "things", "Item": {"pk": key, "body": "x" * size}}


def get(key: str) -> dict[str, Any]:
    return {"TableName": "things", "Key": {"pk": key}}


async def test_a_full_disk_is_said_and_what_was_there_stays(
    dynamo_factory: MakeEngine, tmp_path: Path
) -> None:
    engine = await dynamo_factory(tmp_path / "store.db")
    await engine.call("CreateTable", TABLE)
    await engine.call("PutItem", put("kept"))
    connection = engine.file.writer
    pages = connection.execute("PRAGMA page_count").get
    connection.execute(f"PRAGMA max_page_count = {pages + 2}").fetchall()
    results = await asyncio.gather(
        *(engine.call("PutItem", put(f"big{number}", 200_000)) for number in range(3)), return_exceptions=True
    )
    assert [type(result) for result in results] == [Internal] * 3
    assert "disk is full" in str(results[0])
    assert "Item" in await engine.call("GetItem", get("kept"))
    assert "Item" not in await engine.call("GetItem", get("big0"))
    connection.execute("PRAGMA max_page_count = 1000000").fetchall()
    await engine.call("PutItem", put("big0", 200_000))
    assert "Item" in await engine.call("GetItem", get("big0"))
    assert verify(engine.file) == []


async def test_a_table_that_could_not_be_kept_is_not_there(
    dynamo_factory: MakeEngine, tmp_path: Path
) -> None:
    engine = await dynamo_factory(tmp_path / "store.db")
    connection = engine.file.writer
    connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').get}").fetchall()
    with pytest.raises(Internal, match="disk is full"):
        await engine.call("CreateTable", TABLE)
    assert await engine.call("ListTables", {}) == {"TableNames": []}
    connection.execute("PRAGMA max_page_count = 1000000").fetchall()
    await engine.call("CreateTable", TABLE)
    assert await engine.call("ListTables", {}) == {"TableNames": ["things"]}


async def test_a_file_locked_by_another_program_is_waited_for_then_throttled(
    dynamo_factory: MakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LOCK_DEADLINE_SECONDS", 0.05)
    engine = await dynamo_factory(tmp_path / "store.db")
    await engine.call("CreateTable", TABLE)
    other = apsw.Connection(str(tmp_path / "store.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Throttled, match="busy"):
        await engine.call("PutItem", put("a"))
    assert "Item" not in await engine.call("GetItem", get("a"))
    other.execute("ROLLBACK")
    other.close()
    await engine.call("PutItem", put("a"))
    assert "Item" in await engine.call("GetItem", get("a"))


async def test_a_process_that_never_gives_its_turn_up_throttles_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "TURN_DEADLINE_SECONDS", 0.05)
    engine = await Engine.open(tmp_path / "store.db")
    await engine.call("CreateTable", TABLE)
    hog = turns.Turns(str(tmp_path / "store.db"), 1)
    hog.take()
    with pytest.raises(Throttled, match="another process"):
        await engine.call("PutItem", put("a"))
    hog.give()
    hog.close()
    await engine.call("PutItem", put("a"))
    await engine.close()


async def test_a_damaged_page_is_said_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    engine = await Engine.open(path)
    await engine.call("CreateTable", TABLE)
    for number in range(40):
        await engine.call("PutItem", put(f"k{number}", 4000))
    await engine.close()
    damaged = bytearray(path.read_bytes())
    for at in range(8192 * 8, len(damaged), 8192):
        damaged[at : at + 64] = b"\xa5" * 64
    path.write_bytes(damaged)
    engine = await Engine.open(path)
    with pytest.raises(Internal, match="damaged"):
        await engine.call("Scan", {"TableName": "things"})
    await engine.close()


@pytest.mark.parametrize("content", [b"not a database at all, but some text" * 100, b"\x00" * 10_000])
async def test_a_file_that_is_no_store_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"store\.db is not a store"):
        await Engine.open(path)
    assert path.read_bytes() == content


async def test_another_programs_database_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE theirs (a)")
    other.close()
    with pytest.raises(StoreDamaged, match="not a store of this program"):
        await Engine.open(path)


async def test_a_store_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await (await Engine.open(path)).close()
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE meta SET value = 99 WHERE name = 'format'")
    connection.close()
    with pytest.raises(StoreTooNew, match="format 99"):
        await Engine.open(path)


async def test_a_place_where_no_file_can_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="can't be made"):
        await Engine.open(tmp_path / "file" / "store.db")
    with pytest.raises(StoreError, match="can't be opened"):
        await Engine.open(tmp_path)


async def test_each_request_of_a_group_fails_or_succeeds_alone(
    dynamo_factory: MakeEngine, tmp_path: Path
) -> None:
    engine = await dynamo_factory(tmp_path / "store.db")
    await engine.call("CreateTable", TABLE)
    groups = engine.writer.groups
    fresh = {"ConditionExpression": "attribute_not_exists(pk)"}
    results = await asyncio.gather(
        engine.call("PutItem", put("a") | fresh),
        engine.call("PutItem", put("a") | fresh),
        engine.call("PutItem", put("b")),
        engine.call("PutItem", {"TableName": "things", "Item": {"no": "key"}}),
        engine.call(
            "UpdateItem",
            {
                "TableName": "things",
                "Key": {"pk": "b"},
                "UpdateExpression": "SET n = body + :one",
                "ExpressionAttributeValues": {":one": 1},
            },
        ),
        return_exceptions=True,
    )
    assert [getattr(result, "type", "ok") for result in results] == [
        "ok",
        "ConditionalCheckFailedException",
        "ok",
        "ValidationException",
        "ValidationException",
    ]
    assert isinstance(results[3], Validation)
    assert engine.writer.groups == groups + 1
    assert (await engine.call("GetItem", get("b")))["Item"] == {"pk": "b", "body": "x" * 10}


async def test_a_caller_that_gave_up_before_its_turn_changes_nothing(dynamo: Engine) -> None:
    await dynamo.call("CreateTable", TABLE)
    task = asyncio.ensure_future(dynamo.call("PutItem", put("a")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await dynamo.call("PutItem", put("b"))
    assert "Item" not in await dynamo.call("GetItem", get("a"))


async def test_closing_finishes_what_waits(tmp_path: Path) -> None:
    engine = await Engine.open(tmp_path / "store.db")
    await engine.call("CreateTable", TABLE)
    waiting = [asyncio.ensure_future(engine.call("PutItem", put(f"k{number}"))) for number in range(100)]
    await asyncio.sleep(0)
    await engine.close()
    await asyncio.gather(*waiting)
    engine = await Engine.open(tmp_path / "store.db")
    assert (await engine.call("Scan", {"TableName": "things", "Select": "COUNT"}))["Count"] == 100
    await engine.close()
