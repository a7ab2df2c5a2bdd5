"""The audit trail: who changed what, from where, in which request; for 90 days, never a secret or a body."""

from __future__ import annotations

import asyncio
import logging

from prometheus_client import CollectorRegistry, Counter

from entrepot.accounts.model import AUDIT_SECONDS, Audit, Audits, UserId
from entrepot.http.caller import Caller, Connection
from entrepot.http.exchange import Exchange, exchange_of
from entrepot.ids import nanoid
from entrepot.log import fields
from entrepot.tables import AlreadyExists, Database, NotFound, Page, attr

# A trail that can't be written holds up no answer for longer.
WRITE_SECONDS_MAX = 2.0
SUFFIX_CHARACTERS = 6
FORGET_PAGE = 100
TOKEN_USER = UserId("operator")
"""Whose trail the admin token's changes are in: it has no account."""

_COUNT = "audited"

log = logging.getLogger(__name__)


class Trail:
    """Writes and reads the audit; writing never fails the call that it is about."""

    def __init__(self, db: Database, registry: CollectorRegistry) -> None:
        self._db = db
        self._audits = Audits(db)
        self._failures = Counter(
            "entrepot_audit_failures", "Audit entries that could not be written.", registry=registry
        )

    async def note(
        self,
        connection: Connection,
        who: Caller | UserId,
        event: str,
        resource: str | None = None,
        *,
        from_where: bool = True,
    ) -> None:
        """Note a change; `event` is like `accounts.key.created`, `resource` an id, never a secret or a name."""
        user_id = UserId(who.user_id or TOKEN_USER) if isinstance(who, Caller) else who
        exchange = exchange_of(connection.scope)
        entry = self._entry(exchange, user_id, event, resource)
        if not from_where:
            entry.address = None
        try:
            async with asyncio.timeout(WRITE_SECONDS_MAX):
                await self._write(exchange, entry)
        except Exception as error:
            # Whatever it is, the change has happened, and its answer must say so.
            self._failures.inc()
            log.error("a change was not audited", exc_info=error, extra=fields(user=user_id, event=event))

    async def of_user(self, user_id: UserId, *, limit: int, cursor: str | None) -> Page[Audit]:
        """A page of a user's trail, newest first."""
        return await self._audits.of_user(user_id).page(limit=limit, cursor=cursor)

    async def forget(self, user_id: UserId, cursor: str | None) -> Page[Audit]:
        """Take what is personal out of a page of a user's trail; gives that page."""
        page = await self._audits.of_user(user_id).page(limit=FORGET_PAGE, cursor=cursor)
        for entry in page.items:
            if entry.address is not None:
                await self._forget(entry)
        return page

    async def _forget(self, entry: Audit) -> None:
        try:
            await self._db.update(entry, attr(Audit.address).remove())
        except NotFound:
            # It has reached its end by itself.
            return

    async def _write(self, exchange: Exchange, entry: Audit) -> None:
        written = int(exchange.facts.get(_COUNT, 0))
        exchange.facts[_COUNT] = written + 1
        request_id = exchange.request_id
        entry.requestId = f"{request_id}.{written + 1}" if written else request_id
        try:
            await self._db.create(entry)
        except AlreadyExists:
            # The caller sent the same request id twice in a second.
            entry.requestId = f"{request_id}.{nanoid(SUFFIX_CHARACTERS)}"
            await self._db.create(entry)

    def _entry(self, exchange: Exchange, user_id: UserId, event: str, resource: str | None) -> Audit:
        now = self._db.now()
        return Audit(
            userId=user_id,
            unixEpoch=now,
            requestId=exchange.request_id,
            correlationId=exchange.trace.trace_id,
            eventType=event,
            resource=resource,
            address=exchange.peer.address or None,
            expiresAtUtc=now + AUDIT_SECONDS,
        )
