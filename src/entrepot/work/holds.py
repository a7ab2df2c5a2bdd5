"""Releasing what is held by a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from entrepot.tables import ConditionFailed, Transaction
from entrepot.work import rules
from entrepot.work.claims import Lease
from entrepot.work.model import Place, WorkItem
from entrepot.work.outcomes import DONE, Outcome

if TYPE_CHECKING:
    from entrepot.work.service import Work

RELEASE = "work.release"
PAGE = 100
# An index shows late what was held just before the release: it is looked at again after these times.
PASSES_MS = (0, 2_000, 30_000)


class Holds:
    """Makes held work due, page by page."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def put(self, transaction: Transaction, key: str, later_ms: Sequence[int]) -> None:
        """Add a release to a transaction, after the first of these times."""
        self._work.put(
            transaction,
            kind=RELEASE,
            subject=key,
            arguments={"laterMs": list(later_ms[1:])},
            due_at_ms=self._work.clock.epoch_ms() + later_ms[0],
        )

    async def run(self, item: WorkItem, lease: Lease) -> Outcome:
        """Release what the index shows now, then look again for what it showed too late."""
        held_pk = rules.held_pk(item.subject or "")
        items = self._work.claims.items
        after = "0"
        while True:
            page = await items.places_between(held_pk, after, rules.due_until(9_999_999_999_999)).page(
                limit=PAGE
            )
            places = [place for place in page.items if place.dueSk != after]
            for place in places:
                await self._release(held_pk, place)
            if page.cursor is None or not places:
                break
            after = places[-1].dueSk
            await lease.renew()
        later = item.arguments.get("laterMs", [])
        if later:
            self.put(lease.transaction, item.subject or "", later)
        return DONE

    async def _release(self, held_pk: str, place: Place) -> None:
        items, clock = self._work.claims.items, self._work.clock
        id_ = rules.work_id_at(place.dueSk)
        held = await items.one(id_).get()
        if held is None or held.duePk != held_pk:
            return
        lane = self._work.lanes.get(held.kind)
        shard = rules.shard_of(id_, lane.kind.shards if lane is not None else 1)
        try:
            await items.released(
                id_, held_pk, rules.due_pk(held.kind, shard), rules.due_sk(clock.epoch_ms(), id_)
            )
        except ConditionFailed:
            return
        if lane is not None and lane.open:
            lane.stir()
