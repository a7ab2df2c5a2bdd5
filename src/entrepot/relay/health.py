"""The health of connections: failing, recovered, paused, each told to the owner once."""

from __future__ import annotations

from datetime import datetime

from entrepot.accounts.model import UserId
from entrepot.relay.attempts import Answer
from entrepot.relay.model import Connection, Connections, Delivery
from entrepot.relay.notify import DomainEvents, is_built_in
from entrepot.relay.retries import GONE
from entrepot.tables import Condition, Database, Transaction, TransactionLost, attr
from entrepot.tables.expressions import Change

PAUSE_AFTER_SECONDS = 5 * 24 * 3600


class Health:
    """Notes how a connection does. Nothing is written as long as that stays as it was."""

    def __init__(
        self, db: Database, domain: DomainEvents, *, pause_after_seconds: float = PAUSE_AFTER_SECONDS
    ) -> None:
        self._db = db
        self._domain = domain
        self._connections = Connections(db)
        self._pause_after_seconds = pause_after_seconds

    async def note(self, connection: Connection, answer: Answer) -> None:
        """Take note of an answer, or that none came."""
        if 200 <= answer.status < 300:
            if connection.failingSince is not None:
                await self._recovered(connection)
            return
        if answer.status == GONE:
            await self._paused(connection, "The destination answered 410: it is gone for good.")
        elif connection.failingSince is None:
            await self._failing(connection, answer)
        elif self._seconds_since(connection.failingSince) >= self._pause_after_seconds:
            days = self._pause_after_seconds / 86_400
            await self._paused(connection, f"Nothing but failures for {days:g} days.")

    async def tell_failed(
        self, transaction: Transaction, connection: Connection, delivery: Delivery, cause: str
    ) -> None:
        """Tell, in this transaction, that a delivery was given up."""
        if is_built_in(connection.sourceId, connection.userId):
            return
        await self._domain.publish(
            transaction,
            user_id=connection.userId,
            type_="relay.delivery.failed",
            subject=delivery.eventId,
            data={"connectionId": connection.connectionId, "sourceId": connection.sourceId, "cause": cause},
        )

    async def _failing(self, connection: Connection, answer: Answer) -> None:
        await self._change(
            connection,
            "relay.connection.failing",
            [attr(Connection.failingSince).set(self._db.clock.stamp())],
            attr(Connection.failingSince).absent(),
            answer.error or f"status {answer.status}",
        )

    async def _recovered(self, connection: Connection) -> None:
        await self._change(
            connection,
            "relay.connection.recovered",
            [attr(Connection.failingSince).remove()],
            attr(Connection.failingSince).exists(),
            f"It had failed since {connection.failingSince}.",
        )

    async def _paused(self, connection: Connection, reason: str) -> None:
        changes = [
            attr(Connection.status).set("paused"),
            attr(Connection.pausedReason).set(reason),
            attr(Connection.updatedAt).set(self._db.clock.stamp()),
            attr(Connection.failingSince).remove(),
        ]
        active = attr(Connection.status) == "active"
        await self._change(connection, "relay.connection.paused", changes, active, reason)

    async def _change(
        self, connection: Connection, type_: str, changes: list[Change], when: Condition, reason: str
    ) -> None:
        target = self._connections.one(connection.sourceId, connection.connectionId)
        try:
            async with self._db.transaction() as transaction:
                transaction.update(target, *changes, when=when)
                if not is_built_in(connection.sourceId, connection.userId):
                    await self._domain.publish(
                        transaction,
                        user_id=UserId(connection.userId),
                        type_=type_,
                        subject=connection.connectionId,
                        data={"name": connection.name, "sourceId": connection.sourceId, "reason": reason},
                    )
        except TransactionLost:
            # Another attempt at the same time has noted it already.
            return

    def _seconds_since(self, stamp: str) -> float:
        return (self._db.clock.utc() - datetime.fromisoformat(stamp)).total_seconds()
