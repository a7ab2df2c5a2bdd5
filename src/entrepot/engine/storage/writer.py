"""The writer: whatever waits is applied in one transaction and made durable by one sync.

Each piece of work is a function of the open transaction that first decides and then writes: when it
raises a DynamoError it has written nothing, and fails alone. Work is applied in the event loop (it is
short, and a thread would fight for the interpreter's lock at every statement); only the wait for the disk
happens in a thread. Nobody is answered before the commit, those that were refused included: what they saw
may have been written in the same group.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import apsw

from entrepot.engine.errors import DynamoError, Internal, Throttled
from entrepot.engine.storage.checkpoints import Checkpoints
from entrepot.engine.storage.file import StoreFile, explain
from entrepot.engine.storage.turns import Turns

WAITING_MAX = 20_000
GROUP_MAX = 512
GROUP_SECONDS_MAX = 0.010
TURN_DEADLINE_SECONDS = 5.0
LOCK_DEADLINE_SECONDS = 5.0

log = logging.getLogger(__name__)

Work = Callable[["Transaction"], Any]


class Transaction:
    """The open transaction of a group, as a piece of work sees it."""

    __slots__ = ("_endings", "_growth", "changes", "execute", "last_row_id", "now", "witness")

    def __init__(self, connection: apsw.Connection) -> None:
        self.execute = connection.cursor().execute
        self.changes = connection.changes
        self.last_row_id = connection.last_insert_rowid
        self.now = 0.0
        self.witness: Callable[[float, Any, bytes, Any], None] | None = None
        """Told of every item that is about to be written over: the time, its table, its key, what is there."""
        self._growth: dict[str, list[int]] = {}
        self._endings: list[tuple[Callable[[], None], Callable[[], None]]] = []

    def grow(self, rows: str, items: int, size: int = 0) -> None:
        """Counts items and bytes that a table or an index won or lost; kept once per group."""
        growth = self._growth.get(rows)
        if growth is None:
            self._growth[rows] = [items, size]
        else:
            growth[0] += items
            growth[1] += size

    def on_end(self, *, kept: Callable[[], None], dropped: Callable[[], None]) -> None:
        """What to do in memory once the group is durable, or once it was taken back."""
        self._endings.append((kept, dropped))

    def settle(self) -> None:
        for rows, (items, size) in self._growth.items():
            self.execute(
                "UPDATE counts SET items = items + ?, bytes = bytes + ? WHERE rows = ?", (items, size, rows)
            )
        self._growth.clear()

    def end(self, *, durable: bool) -> None:
        endings = list(self._endings)
        self._endings.clear()
        self._growth.clear()
        for kept, dropped in endings:
            (kept if durable else dropped)()


class Writer:
    """The one writer of a store in this process."""

    def __init__(
        self,
        file: StoreFile,
        clock: Callable[[], float] = time.time,
        begin_group: Callable[[apsw.Connection], None] = lambda connection: None,
    ) -> None:
        self._file = file
        file.writer.set_busy_timeout(0)
        self._clock = clock
        self._begin_group = begin_group
        self._waiting: deque[tuple[Work, asyncio.Future[Any]]] = deque()
        self._busy = False
        self._closing = False
        self._idle: asyncio.Future[None] | None = None
        self.transaction = Transaction(file.writer)
        self._execute = file.writer.cursor().execute
        self._turns = None if file.in_memory else Turns(file.path, TURN_DEADLINE_SECONDS)
        self._checkpoints = None if file.in_memory else Checkpoints(file)
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="entrepot-writer", daemon=True)
        if not file.in_memory:
            self._thread.start()
        self.groups = 0
        self.applied = 0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def submit(self, work: Work) -> asyncio.Future[Any]:
        """Queues work; the future is done when it is durable, or refused."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if self._closing or len(self._waiting) >= WAITING_MAX:
            reason = "The store is closing" if self._closing else "Too many writes are waiting; try again"
            future.set_exception(Throttled(reason))
            return future
        self._waiting.append((work, future))
        if not self._busy:
            self._busy = True
            loop.call_soon(self._begin, loop)
        return future

    async def close(self) -> None:
        """Finishes what waits, then lets go of the file."""
        self._closing = True
        if self._busy:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle
        if not self._file.in_memory:
            self._jobs.put(None)
            await asyncio.to_thread(self._thread.join)
        if self._checkpoints is not None:
            await asyncio.to_thread(self._checkpoints.close)
        if self._turns is not None:
            self._turns.close()

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        turns = self._turns
        if turns is not None and not turns.try_take():
            self._jobs.put(lambda: self._wait(loop, turns.take))
            return
        try:
            self._begin_transaction()
        except apsw.BusyError:
            # A program that knows nothing of turns is writing to the file.
            self._jobs.put(lambda: self._wait(loop, None))
        except apsw.Error as error:
            self._give_up(loop, [], explain(error))
        else:
            self._run_group(loop)

    def _begin_transaction(self) -> None:
        # Never a deferred BEGIN: taking the write lock later fails where another process was faster.
        self._execute("BEGIN IMMEDIATE")

    def _wait(self, loop: asyncio.AbstractEventLoop, take_turn: Callable[[], None] | None) -> None:
        """Waits for the turn and for SQLite's own lock, within a deadline; in the writer's thread."""
        try:
            if take_turn is not None:
                take_turn()
        except Throttled as error:
            loop.call_soon_threadsafe(self._refuse_all, loop, error)
            return
        refusal = self._wait_for_lock()
        # Only now: from here on the connection belongs to the loop again.
        if refusal is None:
            loop.call_soon_threadsafe(self._run_group, loop)
        else:
            loop.call_soon_threadsafe(self._give_up, loop, [], refusal)

    def _wait_for_lock(self) -> DynamoError | None:
        self._file.writer.set_busy_timeout(int(LOCK_DEADLINE_SECONDS * 1000))
        try:
            self._begin_transaction()
        except apsw.Error as error:
            return explain(error)
        finally:
            self._file.writer.set_busy_timeout(0)
        return None

    def _refuse_all(self, loop: asyncio.AbstractEventLoop, error: DynamoError) -> None:
        answers = [(future, error) for _, future in self._waiting]
        self._waiting.clear()
        self._answer(loop, answers)

    def _run_group(self, loop: asyncio.AbstractEventLoop) -> None:
        """Applies what waits, inside the transaction that has begun."""
        answers: list[tuple[asyncio.Future[Any], Any]] = []
        transaction = self.transaction
        try:
            self._begin_group(self._file.writer)
            transaction.now = self._clock()
            self._apply(transaction, answers)
            transaction.settle()
        except apsw.Error as error:
            self._give_up(loop, answers, explain(error))
            return
        except Exception:
            # A defect of ours, half-way through its writes perhaps: the group can't be trusted.
            log.exception("a write failed in a way that it must not")
            self._give_up(loop, answers, Internal("The store failed; nothing was written"))
            return
        if self._turns is None:
            self._commit(loop, answers)
        else:
            self._jobs.put(lambda: self._commit(loop, answers))

    def _apply(self, transaction: Transaction, answers: list[tuple[asyncio.Future[Any], Any]]) -> None:
        waiting = self._waiting
        deadline = time.perf_counter() + GROUP_SECONDS_MAX
        for count in range(GROUP_MAX):
            if not waiting or (count % 16 == 15 and time.perf_counter() > deadline):
                return
            work, future = waiting.popleft()
            if future.cancelled():
                continue
            # First in the list, so that a failure of SQLite inside the work finds it there.
            answers.append((future, None))
            try:
                answers[-1] = (future, work(transaction))
            except DynamoError as error:
                answers[-1] = (future, error)

    def _commit(
        self, loop: asyncio.AbstractEventLoop, answers: list[tuple[asyncio.Future[Any], Any]]
    ) -> None:
        """Makes the group durable; in the writer's thread, or in place for a store in memory."""
        try:
            self._execute("COMMIT")
        except apsw.Error as error:
            self._hand_back(loop, self._give_up, answers, explain(error))
            return
        if self._checkpoints is not None:
            try:
                self._checkpoints.after_commit()
            except apsw.Error as error:
                log.warning("a checkpoint failed and will be tried again: %s", error)
        self._hand_back(loop, self._finish, answers)

    def _hand_back(self, loop: asyncio.AbstractEventLoop, step: Callable[..., None], *arguments: Any) -> None:
        if self._turns is None:
            step(loop, *arguments)
        else:
            loop.call_soon_threadsafe(step, loop, *arguments)

    def _finish(
        self, loop: asyncio.AbstractEventLoop, answers: list[tuple[asyncio.Future[Any], Any]]
    ) -> None:
        self.transaction.end(durable=True)
        self.groups += 1
        self.applied += len(answers)
        if self._turns is not None:
            self._turns.give()
        self._answer(loop, answers)

    def _give_up(
        self,
        loop: asyncio.AbstractEventLoop,
        answers: list[tuple[asyncio.Future[Any], Any]],
        error: DynamoError,
    ) -> None:
        """The group can't be kept: nothing of it is, and everyone in it is told so."""
        log.error("a group of %d writes was taken back: %s", len(answers), error)
        if self._file.writer.in_transaction:
            self._execute("ROLLBACK")
        self.transaction.end(durable=False)
        if self._turns is not None:
            self._turns.give()
        if not answers and self._waiting:
            # The transaction could not even begin: whoever waits is told, or it would be tried for ever.
            answers = [(future, None) for _, future in self._waiting]
            self._waiting.clear()
        self._answer(loop, [(future, error) for future, _ in answers])

    def _answer(
        self, loop: asyncio.AbstractEventLoop, answers: list[tuple[asyncio.Future[Any], Any]]
    ) -> None:
        for future, answer in answers:
            if future.done():
                continue
            if isinstance(answer, DynamoError):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        if self._waiting:
            # Not at once: those who were just answered may have more for the same group.
            loop.call_soon(self._begin, loop)
            return
        self._busy = False
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except Exception:
                # The edge of the thread: without it, whoever waits would wait for ever.
                log.exception("the writer's thread failed in a way that it must not")
                raise
