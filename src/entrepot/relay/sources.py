"""Sources: where events arrive. Made, changed and deleted by their owners, looked up by every request of a sender."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

from entrepot.accounts.model import UserId
from entrepot.accounts.sealing import Sealer
from entrepot.ids import nanoid
from entrepot.relay.deliveries import release_source
from entrepot.relay.errors import Changed, NotFound, PlanLimit, WrongValue
from entrepot.relay.model import Rejection, Rejections, Source, SourceId, Sources
from entrepot.relay.plans import PlanBook
from entrepot.relay.rules import source_seal
from entrepot.relay.views import path_of
from entrepot.tables import Change, Database, Page, TransactionLost, attr
from entrepot.work import Work

ID_CHARACTERS = 16
# As long may another process take a request for a source that was paused, changed or deleted here.
KEPT_SECONDS = 1.0
SOURCES_KEPT = 10_000


class SourceBook:
    """The sources of all owners."""

    def __init__(self, db: Database, work: Work, *, sealer: Sealer, plans: PlanBook) -> None:
        self._db = db
        self._work = work
        self._sealer = sealer
        self._plans = plans
        self._sources = Sources(db)
        self._rejections = Rejections(db)
        self._known: OrderedDict[SourceId, tuple[float, Source]] = OrderedDict()

    async def receiving(self, source_id: SourceId) -> Source | None:
        """The source that a sender names, or None when nothing is taken for it; as of a second ago at most."""
        known = self._known.get(source_id)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        found = await self._sources.by_id(source_id)
        # One that is not there is asked for each time: it may be made at any moment.
        if found is None or found.status == "deleted" or found.provider == "entrepot":
            self._known.pop(source_id, None)
            return None
        self._known[source_id] = (time.monotonic() + KEPT_SECONDS, found)
        self._known.move_to_end(source_id)
        if len(self._known) > SOURCES_KEPT:
            self._known.popitem(last=False)
        return found

    def secret_of(self, source: Source) -> str | None:
        """What the source's sender signs with."""
        if source.signingSecret is None:
            return None
        return self._sealer.open(source.signingSecret, purpose=source_seal(source.sourceId))

    async def create(self, user_id: UserId, fields: dict[str, Any]) -> Source:
        """Make a source of these attributes; raises PlanLimit, WrongValue."""
        standing = await self._plans.standing(user_id)
        most = standing.allowance.sources
        owned = [source for source in await self.of_user(user_id) if source.provider != "entrepot"]
        if len(owned) >= most:
            raise PlanLimit(f"The plan {standing.plan} has {most} sources.")
        source_id = SourceId("src_" + nanoid(ID_CHARACTERS))
        source = Source(
            sourceId=source_id,
            userId=user_id,
            createdAt=self._db.clock.stamp(),
            **self._stored(source_id, fields),
        )
        await self._db.create(source)
        return source

    async def of_user(self, user_id: UserId) -> list[Source]:
        """An owner's sources, without those that were deleted."""
        return [source for source in await self._sources.of_user(user_id).all() if source.status != "deleted"]

    async def page(self, user_id: UserId, *, limit: int, cursor: str | None) -> Page[Source]:
        """A page of an owner's sources, without those that were deleted."""
        listed = self._sources.of_user(user_id).where(attr(Source.status) != "deleted")
        return await listed.page(limit=limit, cursor=cursor)

    async def get(self, user_id: UserId, source_id: SourceId, *, deleted: bool = False) -> Source:
        """One of an owner's sources; one that was deleted only where it says so. Raises NotFound."""
        found = await self._sources.one(user_id, source_id)
        if found is None or (found.status == "deleted" and not deleted):
            raise NotFound("source", source_id)
        return found

    async def change(self, user_id: UserId, source_id: SourceId, fields: dict[str, Any]) -> Source:
        """Change some attributes; a source that is resumed lets go what it held."""
        old = await self.get(user_id, source_id)
        if old.provider == "entrepot" and fields.keys() - {"name", "status"}:
            raise WrongValue(min(fields.keys() - {"name", "status"}), "is fixed for the built-in source")
        stored = self._stored(source_id, fields)
        changes = [
            attr(getattr(Source, name)).remove() if value is None else attr(getattr(Source, name)).set(value)
            for name, value in stored.items()
        ]
        try:
            await self._write(user_id, source_id, changes, release=fields.get("status") == "active")
        except TransactionLost:
            raise Changed("source", source_id) from None
        self._known.pop(source_id, None)
        return await self.get(user_id, source_id)

    async def delete(self, user_id: UserId, source_id: SourceId) -> None:
        """Take nothing more for a source; its events stay until their time has passed."""
        source = await self.get(user_id, source_id)
        if source.provider == "entrepot":
            raise WrongValue("sourceId", "the built-in source can be paused, not deleted")
        try:
            await self._write(user_id, source_id, [attr(Source.status).set("deleted")], release=True)
        except TransactionLost:
            raise NotFound("source", source_id) from None
        self._known.pop(source_id, None)

    async def _write(
        self, user_id: UserId, source_id: SourceId, changes: list[Change], *, release: bool
    ) -> None:
        async with self._db.transaction() as transaction:
            if changes:
                source = self._sources.one(user_id, source_id)
                transaction.update(source, *changes, when=attr(Source.status) != "deleted")
            if release:
                # Also when it was active: what a lost race left held goes on, and what is deleted meets its end.
                release_source(self._work, transaction, source_id)

    async def rejections(
        self, user_id: UserId, source_id: SourceId, *, limit: int, cursor: str | None
    ) -> Page[Rejection]:
        """Requests that were not taken, newest first."""
        await self.get(user_id, source_id, deleted=True)
        return await self._rejections.of_source(source_id).page(limit=limit, cursor=cursor)

    def _stored(self, source_id: SourceId, fields: dict[str, Any]) -> dict[str, Any]:
        stored = dict(fields)
        if stored.get("dedupePath") is not None:
            _check_path(stored["dedupePath"])
        if stored.get("signingSecret") is not None:
            stored["signingSecret"] = self._sealer.seal(
                stored["signingSecret"], purpose=source_seal(source_id)
            )
        return stored


def _check_path(text: str) -> None:
    try:
        path_of(text)
    except WrongValue as wrong:
        raise WrongValue("dedupePath", wrong.complaint) from None
