"""On a store as unkind as the cloud, what was promised holds."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator

import pytest
import uvicorn

from entrepot.accounts.model import ApiKey, ApiKeys, KeyHash, KeyId, UserId, main
from entrepot.engine import Chaos, Engine
from entrepot.engine.wire import Wire, WireApp
from entrepot.relay.model import Source, SourceId, Sources
from entrepot.tables import Database, OutcomeUnknown, provision
from entrepot.tables.stores.remote import RemoteStore
from tests.tables.conftest import CREDENTIALS
from tests.tables.sample import OWNER, TABLES, NoteId, Notes, note

pytestmark = pytest.mark.anyio

ANN = UserId("usr_" + "a" * 16)
NOW = "2026-01-02T03:04:05Z"


@pytest.fixture
async def lagging() -> AsyncIterator[Database]:
    engine = await Engine.open(":memory:")
    db = Database(engine)
    await provision(db, [*TABLES, main])
    engine.set_chaos(Chaos.parse("index_lag_ms=600000,stale=1,stale_ms=600000"))
    yield db
    await engine.close()


async def test_what_was_just_created_is_found_while_every_index_lags(lagging: Database) -> None:
    source = Source(
        sourceId=SourceId("src_" + "1" * 16), userId=ANN, name="n", provider="custom", createdAt=NOW
    )
    key = ApiKey(
        keyId=KeyId("key_" + "1" * 16),
        userId=ANN,
        name="n",
        keyHash=KeyHash("a" * 64),
        keyPrefix="ek_00000",
        permissions="read",
        createdAt=NOW,
    )
    await lagging.create(source)
    await lagging.create(key)
    await lagging.create(note(1, slug="fresh"))
    assert await Sources(lagging).by_id(source.sourceId) == source
    assert await ApiKeys(lagging).by_hash(key.keyHash) == key
    assert await Notes(lagging).by_slug("fresh") == note(1, slug="fresh")


async def test_a_credential_that_was_just_deleted_is_gone_while_its_index_still_shows_it() -> None:
    async with await Engine.open(":memory:") as engine:
        db = Database(engine)
        await provision(db, [main])
        key = ApiKey(
            keyId=KeyId("key_" + "1" * 16),
            userId=ANN,
            name="n",
            keyHash=KeyHash("a" * 64),
            keyPrefix="ek_00000",
            permissions="read",
            createdAt=NOW,
        )
        await db.create(key)
        engine.set_chaos(Chaos.parse("index_lag_ms=600000"))
        await db.delete(key)
        assert await ApiKeys(db).by_hash(key.keyHash) is None


async def test_additions_over_connections_that_break_are_never_counted_twice() -> None:
    """Each addition ends done, or in doubt; what is counted lies between the two."""
    ready, bound = threading.Event(), socket.socket()
    bound.bind(("127.0.0.1", 0))
    servers: list[uvicorn.Server] = []

    async def serve() -> None:
        engine = await Engine.open(":memory:", chaos="reset=0.2,seed=3")
        config = uvicorn.Config(WireApp(Wire(engine)), lifespan="off", log_level="critical", ws="none")
        servers.append(uvicorn.Server(config))
        bound.listen()
        ready.set()
        await servers[0].serve(sockets=[bound])
        await engine.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(10)
    store = RemoteStore(f"http://127.0.0.1:{bound.getsockname()[1]}/", "us-east-1", CREDENTIALS)
    db = Database(store)
    await provision(db, TABLES)
    done = doubtful = 0
    await db.create(note(1))
    for _ in range(60):
        try:
            await Notes(db).viewed(OWNER, NoteId("n001"), 1)
            done += 1
        except OutcomeUnknown:
            doubtful += 1
    for number in range(2, 20):
        await db.create(note(number, slug=f"s{number}"))
    counted = (await Notes(db).one(OWNER, NoteId("n001")).required()).views
    assert doubtful > 0
    assert done <= counted <= done + doubtful
    assert len(await Notes(db).of_owner(OWNER).all()) == 19
    await store.close()
    servers[0].should_exit = True
    thread.join()
