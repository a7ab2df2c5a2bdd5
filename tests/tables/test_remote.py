"""The remote store: signed like botocore, errors like the engine's, never a guess about what was done."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from unittest import mock

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from entrepot.engine import Engine
from entrepot.engine import errors as dynamo
from entrepot.tables import Database, StoreLacks, Unreachable, open_store, provision
from entrepot.tables.stores import PrefixedStore, codec
from entrepot.tables.stores.remote import RemoteStore
from entrepot.tables.stores.signing import CONTENT_TYPE, Keys, Signer
from tests.tables.conftest import CREDENTIALS
from tests.tables.sample import OWNER, TABLES, Measure, Measures, NoteId, Notes, note

pytestmark = pytest.mark.anyio

NOW = dt.datetime(2026, 3, 4, 5, 6, 7, tzinfo=dt.UTC)


@given(
    body=st.binary(max_size=100),
    token=st.none() | st.text("abc/+=", min_size=1),
    host=st.sampled_from(
        ["https://dynamodb.eu-north-1.amazonaws.com/", "http://127.0.0.1:8000/", "http://x:80/"]
    ),
)
def test_a_signature_is_the_one_that_botocore_makes(body: bytes, token: str | None, host: str) -> None:
    target = "DynamoDB_20120810.GetItem"
    request = AWSRequest(
        "POST", host, headers={"Content-Type": CONTENT_TYPE, "X-Amz-Target": target}, data=body
    )
    with mock.patch("botocore.auth.get_current_datetime", return_value=NOW.replace(tzinfo=None)):
        signer = botocore.auth.SigV4Auth(Credentials("id", "secret", token), "dynamodb", "eu-north-1")
        signer.add_auth(request)
    ours = Signer(host, "eu-north-1").headers(target, body, Keys("id", "secret", token), now=NOW.timestamp())
    assert ours["Authorization"] == request.headers["Authorization"]
    assert ours["X-Amz-Date"] == request.headers["X-Amz-Date"]


Respond = Callable[[bytes], Awaitable[bytes]]


@pytest.fixture
async def answering() -> AsyncIterator[Callable[[bytes], Awaitable[RemoteStore]]]:
    """Makes a store whose server answers every connection with these bytes."""
    opened: list[Any] = []

    async def make(answer: bytes) -> RemoteStore:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        store = RemoteStore(f"http://127.0.0.1:{port}/", "us-east-1", CREDENTIALS)
        opened.append((server, store))
        return store

    yield make
    for server, store in opened:
        await store.close()
        server.close()


def response(status: str, body: bytes, *headers: bytes) -> bytes:
    lines = [f"HTTP/1.1 {status}".encode(), b"Content-Length: %d" % len(body), b"Connection: close", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


async def test_a_server_that_is_not_there_was_not_reached() -> None:
    server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async with RemoteStore(f"http://127.0.0.1:{port}/", "us-east-1", CREDENTIALS) as store:
        with pytest.raises(Unreachable) as caught:
            await store.call("ListTables", {})
    assert not caught.value.sent


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        response("200 OK", b'{"Item":{}}', b"x-amz-crc32: 1"),
    ],
)
async def test_a_broken_answer_may_have_been_done(
    answering: Callable[[bytes], Awaitable[RemoteStore]], answer: bytes
) -> None:
    store = await answering(answer)
    with pytest.raises(Unreachable) as caught:
        await store.call("GetItem", {})
    assert caught.value.sent


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        ("400 Bad Request", b'{"__type":"x#ValidationException","message":"m"}', dynamo.Validation),
        ("400 Bad Request", b'{"__type":"x#SerializationException"}', dynamo.Serialization),
        ("400 Bad Request", b'{"__type":"x#ProvisionedThroughputExceededException"}', dynamo.Throttled),
        ("400 Bad Request", b'{"__type":"x#RequestLimitExceeded"}', dynamo.Throttled),
        ("400 Bad Request", b'{"__type":"x#ResourceNotFoundException"}', dynamo.Refused),
        ("500 Oops", b'{"__type":"x#InternalServerError"}', dynamo.Internal),
        ("503 Busy", b"<html>", dynamo.Internal),
        ("429 Slow", b"", dynamo.Throttled),
        ("403 No", b"denied", dynamo.Refused),
    ],
)
async def test_errors_are_the_engines_own(
    answering: Callable[[bytes], Awaitable[RemoteStore]], status: str, body: bytes, kind: type[Exception]
) -> None:
    store = await answering(response(status, body))
    with pytest.raises(kind):
        await store.call("GetItem", {})


def test_cancellation_reasons_are_read_from_the_message_when_they_stand_only_there() -> None:
    body = b'{"__type":"x#TransactionCanceledException","message":"\\u2026 [None, ConditionalCheckFailed]"}'
    error = codec.error_of(400, body)
    assert isinstance(error, dynamo.TransactionCanceled)
    assert [reason.code for reason in error.reasons] == ["None", "ConditionalCheckFailed"]


async def test_a_prefix_is_on_every_table_and_in_no_answer() -> None:
    async with await Engine.open(":memory:") as engine:
        db = Database(PrefixedStore(engine, "test-"))
        await provision(db, TABLES)
        assert (await engine.call("ListTables", {}))["TableNames"] == ["test-measures", "test-notes"]
        await db.create(note(1, slug="s"))
        await db.put_all([Measure(device="d", at=1, value=1.0)])
        assert await db.get_all([Measures(db).one("d", 1)]) == [Measure(device="d", at=1, value=1.0)]
        assert (await Notes(db).of_owner(OWNER).all())[0].slug == "s"
        assert await db.snapshot(Notes(db).one(OWNER, NoteId("n001"))) == [note(1, slug="s")]


async def test_a_setting_names_the_store(
    wire_endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    embedded = await open_store("embedded", path=tmp_path / "store.db")
    assert isinstance(embedded, Engine)
    await embedded.close()
    remote = await open_store(f"dynamodb://eu-north-1?endpoint={wire_endpoint}&prefix=p-", path=":memory:")
    await provision(Database(remote), TABLES)
    bare = await open_store(f"dynamodb://eu-north-1?endpoint={wire_endpoint}", path=":memory:")
    assert (await bare.call("ListTables", {}))["TableNames"] == ["p-measures", "p-notes"]
    await bare.close()
    await remote.close()
    for wrong in ("postgres://x", "dynamodb://", "dynamodb://r?colour=red", "embeded"):
        with pytest.raises(ValueError, match="neither 'embedded' nor"):
            await open_store(wrong, path=":memory:")


async def test_botocores_own_rules_find_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
    async with await RemoteStore.open("eu-north-1") as store:
        assert store.endpoint == "http://127.0.0.1:9/"
    monkeypatch.delenv("AWS_ENDPOINT_URL_DYNAMODB")
    async with await RemoteStore.open("eu-north-1") as store:
        assert store.endpoint.startswith("https://dynamodb.eu-north-1.amazonaws.com")


async def test_without_credentials_a_remote_store_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with mock.patch("botocore.session.Session.get_credentials", return_value=None), pytest.raises(StoreLacks):
        await RemoteStore.open("eu-north-1")
