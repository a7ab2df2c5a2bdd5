"""A lane: the work of one kind in this process, found in the index or handed over by who put it."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from entrepot.engine.errors import DynamoError
from entrepot.log import fields
from entrepot.tables import TablesError
from entrepot.work import rules
from entrepot.work.attempts import Attempts
from entrepot.work.claims import Lease
from entrepot.work.kinds import Kind
from entrepot.work.metrics import KindMetrics
from entrepot.work.model import WorkItem
from entrepot.work.outcomes import Again
from entrepot.work.slots import Backlog, Slots

if TYPE_CHECKING:
    from entrepot.work.service import Work

PAGE = 100
BACKLOG_MAX = 256
IDLE_SECONDS_FIRST = 0.02
IDLE_SECONDS_MAX = 1.0
# How long a place that was taken is not taken again: an index shows for a while what is gone.
TAKEN_SECONDS = 2.0
TAKEN_MAX = 20_000
# So many places that another process had taken, and this one looks elsewhere.
MISSES_MAX = 8
# How many claims are under way at once.
CLAIMS_MIN = 4
CLAIMS_FIRST = 16
CLAIMS_MAX = 256

log = logging.getLogger(__name__)


class Lane:
    """Finds, claims and does the work of one kind, within its slots."""

    def __init__(self, work: Work, kind: Kind) -> None:
        self.kind = kind
        self.open = False
        """Whether it takes work that is put in this process at once."""
        self.slots = Slots(kind.concurrency, kind.key_concurrency)
        self.metrics = KindMetrics(work.metrics, kind.name)
        self._work = work
        self._attempts = Attempts(kind, work.claims, work.clock, self.metrics)
        self._backlog = Backlog(BACKLOG_MAX, max(2 * kind.key_concurrency, 4))
        self._tasks: set[asyncio.Task[None]] = set()
        self._taken: dict[str, float] = {}
        self._after = [""] * kind.shards
        self._oldest_ms = [0] * kind.shards
        self._misses = 0
        self._claiming = 0
        self._window = CLAIMS_FIRST
        self._turn = 0
        self._quiet: set[int] = set()
        self._idle_seconds = IDLE_SECONDS_FIRST
        self._read_at = 0.0
        self._stirred = asyncio.Event()

    # -- work that is put in this process

    def reserve(self, tag: str) -> bool:
        """A slot for work that is about to be put, so that it can be put already claimed."""
        if not self.open or self._backlog.has(tag) or not self.slots.admits(tag):
            return False
        self.slots.take(tag)
        return True

    def begin(self, item: WorkItem, *, due_at_ms: int) -> None:
        """Do work that was put already claimed; its slot is reserved."""
        lease = self._lease(item)
        self._spawn(self._do(lease, rules.tag_in(item.workId), due_at_ms))

    def forgo(self, tag: str) -> None:
        """Free a reserved slot: the work was not put after all."""
        self.slots.give(tag)
        self._stirred.set()

    def stir(self) -> None:
        """Look into the index now: something is due there."""
        self._read_at = 0.0
        self._quiet.clear()
        self._idle_seconds = IDLE_SECONDS_FIRST
        self._stirred.set()

    # -- work that the index shows

    async def run(self) -> None:
        """Find work and do it, until cancelled."""
        while True:
            self._stirred.clear()
            self._start_waiting()
            if self._backlog.came_short():
                self._after = [""] * self.kind.shards
                self.stir()
            wait = self._read_at - time.monotonic()
            if len(self._backlog) < min(self.slots.total, BACKLOG_MAX // 2) and wait <= 0:
                await self._read_guarded()
                # The embedded store answers at once; others must have their turn.
                await asyncio.sleep(0)
                continue
            try:
                async with asyncio.timeout(max(wait, 0) or None):
                    await self._stirred.wait()
            except TimeoutError:
                continue

    async def run_due(self) -> int:
        """Do what is due now, shard by shard, and give how much that was; for tests and single runs."""
        started = 0
        for shard in range(self.kind.shards):
            after: str | None = ""
            while after is not None:
                places, after = await self._page(shard, after)
                for place in places:
                    tag = rules.tag_in(rules.work_id_at(place))
                    while not self.slots.admits(tag):
                        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
                    self._start(shard, place, tag)
                    started += 1
        if self._tasks:
            await asyncio.wait(self._tasks)
        return started

    async def drain(self, seconds: float) -> None:
        """Let what is under way end; what does not in time is given back."""
        self.open = False
        until = time.monotonic() + seconds
        # Work whose transaction is being committed may still begin.
        while self._tasks and (left := until - time.monotonic()) > 0:
            await asyncio.wait(self._tasks, timeout=left)
        late = list(self._tasks)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)

    async def measure(self) -> None:
        """Count what is due, and find the oldest of it."""
        now = self._work.clock.epoch_ms()
        due, oldest = 0, now
        for shard in range(self.kind.shards):
            places = self._work.claims.items.places_between(
                rules.due_pk(self.kind.name, shard), "0", rules.due_until(now)
            )
            first = await places.first()
            if first is not None:
                oldest = min(oldest, rules.due_at_ms(first.dueSk))
                due += await places.count()
        self.metrics.waiting(due, (now - oldest) / 1000)

    async def _read_guarded(self) -> None:
        shard, self._turn = self._turn, (self._turn + 1) % self.kind.shards
        try:
            found = await self._read(shard)
        except (TablesError, DynamoError) as error:
            log.warning("the index of work can't be read", exc_info=error, extra=fields(kind=self.kind.name))
            found = 0
            self._quiet.update(range(self.kind.shards))
        if found:
            self._quiet.clear()
            self._idle_seconds = IDLE_SECONDS_FIRST
            return
        if len(self._quiet) < self.kind.shards:
            return
        # Each shard in turn had nothing: wait, twice as long every time.
        self._quiet.clear()
        self._read_at = time.monotonic() + self._idle_seconds
        self._idle_seconds = min(IDLE_SECONDS_MAX, self._idle_seconds * 2)

    async def _read(self, shard: int) -> int:
        """Take one page of a shard into the backlog, the next time from where it ended."""
        backlog, found = self._backlog, 0
        places, after = await self._page(shard, self._after[shard])
        if places and not self._after[shard]:
            self._oldest_ms[shard] = rules.due_at_ms(places[0])
        if self._misses >= MISSES_MAX:
            self._misses = 0
            if after is not None:
                self._move_away(shard)
                return 1
        for place in places:
            if backlog.full:
                return found
            if place not in backlog and not self._recently_taken(place):
                found += backlog.offer(place, shard, rules.tag_in(rules.work_id_at(place)))
            self._after[shard] = place
        if after is None:
            self._after[shard] = ""
            self._quiet.add(shard)
        return found

    def _move_away(self, shard: int) -> None:
        """Go on elsewhere in a long queue: another process takes what is here."""
        now = max(self._work.clock.epoch_ms(), self._oldest_ms[shard])
        self._after[shard] = rules.due_sk(random.randint(self._oldest_ms[shard], now), "")  # noqa: S311

    async def _page(self, shard: int, after: str) -> tuple[list[str], str | None]:
        """The due places after one, and the last of them when there may be more."""
        until = rules.due_until(self._work.clock.epoch_ms())
        query = self._work.claims.items.places_between(
            rules.due_pk(self.kind.name, shard), after or "0", until
        )
        page = await query.page(limit=PAGE)
        places = [place.dueSk for place in page.items if place.dueSk != after]
        return places, (places[-1] if places and page.cursor is not None else None)

    def _learn(self, claimed: bool) -> None:
        """Claim more at once while it goes well, fewer when another process is at the same work."""
        if claimed:
            self._window = min(self._window + 1, CLAIMS_MAX)
            return
        self.metrics.misses.inc()
        self._misses += 1
        self._window = max(self._window // 2, CLAIMS_MIN)
        if self._misses == MISSES_MAX:
            # What waits here is as stale as what was tried; the index is fresher.
            self._backlog.clear()
            self.stir()

    def _start_waiting(self) -> None:
        while self._claiming < self._window:
            found = self._backlog.take(self.slots.admits)
            if found is None:
                return
            self._start(*found)

    def _start(self, shard: int, place: str, tag: str) -> None:
        self.slots.take(tag)
        self._claiming += 1
        self._note_taken(place)
        self._spawn(self._claim_and_do(shard, place, tag))

    async def _claim_and_do(self, shard: int, place: str, tag: str) -> None:
        due_pk = rules.due_pk(self.kind.name, shard)
        lease: Lease | None = None
        try:
            item = await self._work.claims.claim(due_pk, rules.work_id_at(place), lease_ms=self.kind.lease_ms)
            self._learn(item is not None)
            if item is not None:
                lease = self._lease(item)
        except (TablesError, DynamoError) as error:
            log.warning("work can't be claimed", exc_info=error, extra=fields(kind=self.kind.name))
        finally:
            self._claiming -= 1
            if lease is None:
                self.forgo(tag)
            else:
                self._stirred.set()
        if lease is not None:
            await self._do(lease, tag, rules.due_at_ms(place))

    async def _do(self, lease: Lease, tag: str, due_at_ms: int) -> None:
        try:
            if lease.seconds_left * 2 < self.kind.lease_seconds:
                # Its transaction took long; without this the handler would not have its whole time.
                await lease.renew()
            outcome = await self._attempts.make(lease, due_at_ms=due_at_ms)
            if isinstance(outcome, Again) and outcome.at_ms <= self._work.clock.epoch_ms():
                self.stir()
        except Exception:
            # The edge of the loop: the lease ends by itself, and the work is due again.
            log.exception("an attempt at work failed", extra=fields(kind=self.kind.name))
        finally:
            self.forgo(tag)

    def _lease(self, item: WorkItem) -> Lease:
        return Lease(self._work.claims, item, lease_ms=self.kind.lease_ms)

    def _spawn(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- what an index may still show

    def _note_taken(self, place: str) -> None:
        now = time.monotonic()
        self._taken[place] = now
        if len(self._taken) % 64 == 0:
            for old, taken in list(self._taken.items()):
                if now - taken < TAKEN_SECONDS and len(self._taken) <= TAKEN_MAX:
                    break
                del self._taken[old]

    def _recently_taken(self, place: str) -> bool:
        taken = self._taken.get(place)
        return taken is not None and time.monotonic() - taken < TAKEN_SECONDS
