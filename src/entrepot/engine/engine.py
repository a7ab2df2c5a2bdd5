"""The engine: a DynamoDB in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import apsw

from entrepot.engine import keys
from entrepot.engine.backfill import Backfill
from entrepot.engine.chaos import Chaos, RunningChaos
from entrepot.engine.errors import Refused, table_not_found
from entrepot.engine.heat import WINDOW_SECONDS, Heat
from entrepot.engine.operations import OPERATIONS
from entrepot.engine.reaper import Reaper
from entrepot.engine.schema import Table
from entrepot.engine.storage import StoreFile, Writer
from entrepot.engine.storage.catalog import Catalog
from entrepot.engine.storage.file import MEMORY, explain
from entrepot.engine.values import Value

REGION = "us-east-1"
ACCOUNT = "000000000000"

T = TypeVar("T")


class Engine:
    """A store and its operations; open it with `await Engine.open(path)`."""

    def __init__(
        self, path: str | Path = MEMORY, *, clock: Callable[[], float] = time.time, region: str = REGION
    ) -> None:
        self.clock = clock
        self.region = region
        self.file = StoreFile(path)
        self.catalog = Catalog(self.file)
        self.writer = Writer(self.file, clock, self.catalog.begin_group)
        self.reader = self.file.reader
        self.read = self.file.reader.cursor().execute
        self._threads: ThreadPoolExecutor | None = None
        self._thread_reader: apsw.Connection | None = None
        self._closed = False
        self.heat: Heat | None = None
        self.chaos: RunningChaos | None = None
        self.reaper = Reaper(self)
        self.backfill = Backfill(self)

    @classmethod
    async def open(
        cls,
        path: str | Path = MEMORY,
        *,
        clock: Callable[[], float] = time.time,
        region: str = REGION,
        chaos: Chaos | str | None = None,
    ) -> Self:
        """Opens a store, or makes it; raises StoreError with the reason where it can't be used."""
        engine = cls(path, clock=clock, region=region)
        engine.set_chaos(chaos)
        engine.reaper.start()
        engine.backfill.start()
        return engine

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """One DynamoDB operation; attribute values are native, errors are `entrepot.engine.errors`."""
        known = OPERATIONS.get(operation)
        if known is None:
            raise Refused("UnknownOperationException", f"Unknown operation: {operation}")
        try:
            known.shape.check(request)
            if known.answers_at_once:
                answer: dict[str, Any] = known.run(self, request)
            else:
                answer = await known.run(self, request)
        except apsw.Error as error:
            raise explain(error) from error
        except (TypeError, AttributeError, KeyError, ValueError):
            # Requests of this process are not checked for their types, which would cost each of them: only
            # where that went wrong. What is not the request's fault goes on as it is.
            known.shape.demand_type(request)
            raise
        if self.chaos is not None:
            await self.chaos.delay(request)
        return answer

    def set_chaos(self, chaos: Chaos | str | None) -> None:
        """Makes the engine unkind from now on, begins anew with its seed, or, with None, makes it kind again."""
        settings = Chaos.parse(chaos) if isinstance(chaos, str) else chaos
        self.chaos = None if settings is None else RunningChaos(settings, self.clock)
        journal = None if self.chaos is None else self.chaos.journal
        self.writer.transaction.witness = None if journal is None else journal.note

    def enable_heat(self, *, throttles: bool = False, window_seconds: int = WINDOW_SECONDS) -> Heat:
        """Begins to count units by partition key, and, when asked to, to refuse what is over the ceilings."""
        self.heat = Heat(self.clock, throttles=throttles, window_seconds=window_seconds)
        return self.heat

    def table(self, name: str) -> Table:
        """The table that a request names, by its name or its ARN."""
        if name.startswith("arn:"):
            name = name.rsplit("/", 1)[-1]
        return self.catalog.get(name)

    def table_named(self, name: str) -> Table:
        """The table that a call about tables names; its error tells the name."""
        try:
            return self.table(name)
        except Refused:
            raise table_not_found(name) from None

    def read_item(self, table: Table, key: bytes, *, consistent: bool) -> tuple[int, bytes] | None:
        """Size and image of one item, or None."""
        if self.chaos is not None and not consistent:
            before = self.chaos.item_before(table, key)
            if before is not None:
                return before[0]
        row: tuple[int, bytes] | None = self.read(table.sql_get, (key,)).get
        return row

    def collection_bytes(self, table: Table, value: Value) -> int:
        """The bytes of all items of one partition key."""
        low = keys.partition(table.hash.kind, value)
        total = self.read(
            f"SELECT sum(size) FROM {table.rows} WHERE key >= ? AND key < ?", (low, keys.after(low))
        ).get
        return total or 0

    def arn(self, name: str) -> str:
        return f"arn:aws:dynamodb:{self.region}:{ACCOUNT}:table/{name}"

    @property
    def key_arn_prefix(self) -> str:
        """How the ARNs of encryption keys begin."""
        return f"arn:aws:kms:{self.region}:{ACCOUNT}:key/"

    async def in_thread(self, work: Callable[[Callable[..., apsw.Cursor]], T]) -> T:
        """Runs a long read beside the event loop, on a connection of its own."""
        if self.file.in_memory:
            return work(self.read)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(1, thread_name_prefix="entrepot-reader")
            self._thread_reader = self.file.connect_reader()
        connection = self._thread_reader
        return await asyncio.get_running_loop().run_in_executor(
            self._threads,
            lambda: work(connection.cursor().execute),  # type: ignore[union-attr]
        )

    async def close(self) -> None:
        """Finishes what waits and closes the file; nothing may be called afterwards but this, which does nothing."""
        if self._closed:
            return
        self._closed = True
        await self.reaper.stop()
        await self.backfill.stop()
        await self.writer.close()
        if self._threads is not None:
            await asyncio.to_thread(self._threads.shutdown)
        if self._thread_reader is not None:
            self._thread_reader.close()
        self.file.close()

    async def __aenter__(self) -> Self:
        self.reaper.start()
        self.backfill.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
