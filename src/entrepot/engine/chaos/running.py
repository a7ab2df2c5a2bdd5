"""Chaos on an engine: what happens to its requests.

A request is refused after its checks and before its work, so that a refused one changed nothing. Only a
connection that is cut off after the work leaves its caller in doubt, as in the cloud.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from entrepot.engine.chaos.dice import Dice
from entrepot.engine.chaos.journal import Before, Journal
from entrepot.engine.chaos.past import PastRange
from entrepot.engine.chaos.settings import Chaos
from entrepot.engine.errors import Reason, Refused, TransactionCanceled
from entrepot.engine.pages import Range
from entrepot.engine.schema import Index, Table
from entrepot.engine.throttling import over_account_limit, over_capacity, reason_of

SHORT_PAGE_ITEMS_MAX = 8

CONFLICT = "Transaction is ongoing for the item"
IN_PROGRESS = "The transaction with the given request token is already in progress."


class RunningChaos:
    """The chaos of one engine; `done` counts what it did, by setting."""

    def __init__(self, settings: Chaos, clock: Callable[[], float]) -> None:
        self.settings = settings
        self.done: Counter[str] = Counter()
        self.sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
        self.journal = Journal(settings.memory_seconds) if settings.memory_seconds > 0 else None
        self._clock = clock
        self._dice = Dice(settings.seed)

    def refuse(self, table: Table, *, writing: bool = False, batch: bool = False) -> None:
        """Raises, when the dice say so, what the cloud answers to a request on one table."""
        if self._hit("request_limit", table.name):
            raise over_account_limit(table, writing=writing)
        if self._hit("throttle", table.name):
            raise over_capacity(table, None, writing=writing)
        if writing and not batch and self._hit("conflict", table.name):
            raise Refused("TransactionConflictException", CONFLICT)

    def cancel(self, tables: Sequence[Table], *, writing: bool, has_token: bool = False) -> None:
        """Raises, when the dice say so, what the cloud answers to a transaction; a table for each action."""
        distinct = list({table.name: table for table in tables}.values())
        for table in distinct:
            if writing and has_token and self._hit("in_progress", table.name):
                raise Refused("TransactionInProgressException", IN_PROGRESS)
            if self._hit("request_limit", table.name):
                raise over_account_limit(table, writing=writing)
        reasons = [Reason() for _ in tables]
        for table in distinct:
            actions = [number for number, each in enumerate(tables) if each is table]
            if self._hit("throttle", table.name):
                error = over_capacity(table, None, writing=writing)
                reasons[self._one_of("throttle", table.name, actions)] = reason_of(error)
            if self._hit("conflict", table.name):
                reasons[self._one_of("conflict", table.name, actions)] = Reason(
                    "TransactionConflict", CONFLICT
                )
        if any(reason.code != "None" for reason in reasons):
            raise TransactionCanceled(reasons)

    def left_over(self, tables: Sequence[Table]) -> set[int]:
        """The numbers of a batch's entries that are not carried out; a table for each entry."""
        left = {number for number, table in enumerate(tables) if self._hit("unprocessed", table.name)}
        if left and len(left) == len(tables):
            # The cloud never hands all of a batch back: it refuses it instead.
            left.remove(self._one_of("unprocessed", tables[0].name, sorted(left)))
        return left

    def page_items(self, table: Table, limit: int | None, *, goes_on: bool) -> int | None:
        """How many items a page may look at; a page that goes on behind another may look at none."""
        if not self._hit("short_pages", table.name):
            return limit
        most = SHORT_PAGE_ITEMS_MAX if limit is None else min(limit, SHORT_PAGE_ITEMS_MAX)
        return self._dice.sequence("short_pages", table.name).randint(0 if goes_on else 1, most)

    def range_at(self, range_: Range, *, consistent: bool) -> Range:
        """The range as this read sees it: as it is, or as it was."""
        age = self._age_seconds(range_.table, range_.index, consistent=consistent)
        if self.journal is None or age <= 0:
            return range_
        before = self.journal.before(range_.table, self._clock() - age)
        return PastRange(range_, before) if before else range_

    def item_before(self, table: Table, key: bytes) -> tuple[Before] | None:
        """What an eventually consistent read of one item sees instead of the item, in a tuple; None for the item."""
        age = self._age_seconds(table, None, consistent=False)
        if self.journal is None or age <= 0:
            return None
        before = self.journal.before(table, self._clock() - age)
        return (before[key],) if key in before else None

    async def delay(self, request: dict[str, Any]) -> None:
        """Keeps an answer back for a while."""
        table = _table_named(request)
        slow_ms = self.settings.of(table).slow_ms
        if slow_ms and self._hit("slow", table):
            await self.sleep(self._dice.sequence("slow", table).uniform(0, slow_ms / 1000))

    def reset(self, body: Any) -> Literal["before", "after"] | None:
        """When to cut off the connection of a request: before its work, after it, or not at all."""
        table = _table_named(body)
        if not self._hit("reset", table):
            return None
        return "before" if self._dice.sequence("reset", table).random() < 0.5 else "after"

    def _age_seconds(self, table: Table, index: Index | None, *, consistent: bool) -> float:
        """How old the state is that a read sees."""
        if consistent:
            return 0.0
        settings = self.settings.of(table.name)
        age_ms = 0.0
        if index is not None and index.is_global:
            age_ms = settings.index_lag_ms
            if settings.index_lag_jitter_ms:
                sequence = self._dice.sequence("index_lag_jitter_ms", table.name)
                age_ms += sequence.uniform(0, settings.index_lag_jitter_ms)
        if self._hit("stale", table.name):
            age_ms = max(age_ms, settings.stale_ms)
        return age_ms / 1000

    def _hit(self, kind: str, table: str) -> bool:
        hit = self._dice.hit(kind, table, getattr(self.settings.of(table), kind))
        if hit:
            self.done[kind] += 1
        return hit

    def _one_of(self, kind: str, table: str, numbers: Sequence[int]) -> int:
        return self._dice.sequence(kind, table).choice(numbers)


def _table_named(request: Any) -> str:
    """The table that a request names; one about several counts as naming none."""
    name = request.get("TableName") if isinstance(request, dict) else None
    return name.rsplit("/", 1)[-1] if isinstance(name, str) else ""
