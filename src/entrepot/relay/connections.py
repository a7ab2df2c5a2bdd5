"""Connections: where the events of a source go, which ones, and in what shape."""

from __future__ import annotations

from typing import Any

import msgspec

from entrepot.accounts.model import UserId
from entrepot.accounts.sealing import Sealer
from entrepot.ids import nanoid
from entrepot.relay import filters, retries, transforms
from entrepot.relay.deliveries import release_connection
from entrepot.relay.destinations import DestinationRefused, Destinations
from entrepot.relay.errors import Changed, NotFound, PlanLimit, TransformFailed, WrongValue
from entrepot.relay.model import Connection, ConnectionId, Connections, SourceId
from entrepot.relay.plans import PlanBook
from entrepot.relay.requests import purpose_of
from entrepot.relay.rules import json_text
from entrepot.relay.shapes import bounded
from entrepot.relay.signing import new_secret
from entrepot.relay.sources import SourceBook
from entrepot.relay.views import EventView
from entrepot.tables import Change, ConditionFailed, Database, TransactionLost, attr
from entrepot.work import Work

ID_CHARACTERS = 16
OLD_SECRET_SECONDS = 24 * 3600
HEADERS_MAX = 20
HEADER_CHARACTERS_MAX = 4096

_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")
# What belongs to the request itself, or to its signature.
_RESERVED = frozenset(
    {
        "host",
        "content-length",
        "connection",
        "transfer-encoding",
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
    }
)


class DryRun(msgspec.Struct, omit_defaults=True):
    """What a connection would do with an event; `error` when it could not be reshaped."""

    passes: bool
    rules: list[filters.Explained]
    output: Any
    error: str | None = None


class ConnectionBook:
    """The connections of all sources."""

    def __init__(
        self,
        db: Database,
        work: Work,
        *,
        sealer: Sealer,
        plans: PlanBook,
        sources: SourceBook,
        destinations: Destinations,
    ) -> None:
        self._db = db
        self._work = work
        self._sealer = sealer
        self._plans = plans
        self._sources = sources
        self._destinations = destinations
        self._connections = Connections(db)

    async def active_of(self, source_id: SourceId) -> list[Connection]:
        """Those that events are for: active ones, and paused ones, whose deliveries are held."""
        found = await self._connections.of_source(source_id).all()
        return [connection for connection in found if connection.status != "deleted"]

    async def of_source(self, user_id: UserId, source_id: SourceId) -> list[Connection]:
        """The connections of one of an owner's sources."""
        await self._sources.get(user_id, source_id)
        return await self.active_of(source_id)

    async def get(self, user_id: UserId, connection_id: ConnectionId) -> Connection:
        """One of an owner's connections; raises NotFound."""
        found = await self._connections.by_id(connection_id)
        if found is None or found.userId != user_id or found.status == "deleted":
            raise NotFound("connection", connection_id)
        return found

    async def create(
        self, user_id: UserId, source_id: SourceId, fields: dict[str, Any]
    ) -> tuple[Connection, str, str | None]:
        """Connect a destination; gives the connection, its secret, and a warning where there is one."""
        existing = await self.of_source(user_id, source_id)
        source = await self._sources.get(user_id, source_id)
        standing = await self._plans.standing(user_id)
        most = standing.allowance.connections_per_source
        if len(existing) >= most and source.provider != "entrepot":
            raise PlanLimit(f"The plan {standing.plan} has {most} connections for each source.")
        connection_id = ConnectionId("conn_" + nanoid(ID_CHARACTERS))
        stored, warning = await self._stored(connection_id, fields)
        secret = new_secret()
        now = self._db.clock.stamp()
        connection = Connection(
            connectionId=connection_id,
            sourceId=source_id,
            userId=user_id,
            signingSecret=self._seal(connection_id, secret),
            createdAt=now,
            updatedAt=now,
            **stored,
        )
        await self._db.create(connection)
        return connection, secret, warning

    async def change(
        self, user_id: UserId, connection_id: ConnectionId, fields: dict[str, Any]
    ) -> tuple[Connection, str | None]:
        """Change some attributes; a connection that is resumed lets go what it held."""
        old = await self.get(user_id, connection_id)
        stored, warning = await self._stored(connection_id, fields)
        changes = [_set(name, value) for name, value in stored.items()]
        changes.append(attr(Connection.updatedAt).set(self._db.clock.stamp()))
        if fields.get("status") == "active":
            changes += [attr(Connection.pausedReason).remove(), attr(Connection.failingSince).remove()]
        try:
            async with self._db.transaction() as transaction:
                transaction.update(
                    self._connections.one(old.sourceId, connection_id),
                    *changes,
                    when=attr(Connection.status) != "deleted",
                )
                if fields.get("status") == "active":
                    release_connection(self._work, transaction, connection_id)
        except TransactionLost:
            raise Changed("connection", connection_id) from None
        return await self._connections.one(old.sourceId, connection_id).required(), warning

    async def delete(self, user_id: UserId, connection_id: ConnectionId) -> None:
        """Deliver nothing more; what is held meets its end when it is released."""
        old = await self.get(user_id, connection_id)
        async with self._db.transaction() as transaction:
            transaction.update(
                self._connections.one(old.sourceId, connection_id),
                attr(Connection.status).set("deleted"),
                attr(Connection.updatedAt).set(self._db.clock.stamp()),
            )
            release_connection(self._work, transaction, connection_id)

    async def rotate_secret(self, user_id: UserId, connection_id: ConnectionId) -> tuple[Connection, str]:
        """Sign with a new secret, and with the old one beside it for a day."""
        old = await self.get(user_id, connection_id)
        secret = new_secret()
        try:
            changed = await self._db.update(
                self._connections.one(old.sourceId, connection_id),
                attr(Connection.signingSecret).set(self._seal(connection_id, secret)),
                attr(Connection.previousSecret).set(old.signingSecret),
                attr(Connection.previousSecretUntil).set(self._db.clock.epoch_seconds() + OLD_SECRET_SECONDS),
                attr(Connection.updatedAt).set(self._db.clock.stamp()),
                when=attr(Connection.signingSecret) == old.signingSecret,
            )
        except ConditionFailed:
            raise Changed("connection", connection_id) from None
        return changed, secret

    def header_names(self, connection: Connection) -> list[str]:
        """The names of a connection's own headers; their values are told to nobody."""
        if connection.headers is None:
            return []
        text = self._sealer.open(connection.headers, purpose=purpose_of(connection.connectionId))
        return list(msgspec.json.decode(text, type=dict[str, str]))

    async def _stored(
        self, connection_id: ConnectionId, fields: dict[str, Any]
    ) -> tuple[dict[str, Any], str | None]:
        stored, warning = dict(fields), None
        if "destinationUrl" in stored:
            try:
                warning = await self._destinations.check_url(stored["destinationUrl"])
            except DestinationRefused as refused:
                raise WrongValue("destinationUrl", str(refused)) from None
        if "filters" in stored:
            filters.checked(stored["filters"])
            stored["filters"] = json_text(stored["filters"])
        if "transform" in stored:
            transforms.checked(stored["transform"])
            stored["transform"] = json_text(stored["transform"])
        if "retryConfig" in stored:
            stored["retryConfig"] = json_text(_retry_config(stored["retryConfig"]))
        if stored.get("headers") is not None:
            headers = _checked_headers(stored["headers"])
            stored["headers"] = self._seal(connection_id, json_text(headers)) if headers else None
        return stored, warning

    def _seal(self, connection_id: ConnectionId, secret: str) -> str:
        return self._sealer.seal(secret, purpose=purpose_of(connection_id))


def dry_run(connection: Connection, view: EventView) -> DryRun:
    """What a connection would do with an event, and why."""
    wanted = filters.parse(connection.filters)
    passes, rules = wanted.passes(view), wanted.explain(view)
    try:
        made = transforms.parse(connection.transform).apply(view)
    except TransformFailed as failed:
        return DryRun(passes, rules, None, failed.message)
    try:
        output = msgspec.json.decode(made.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return DryRun(passes, rules, made.body.decode(errors="replace"))
    return DryRun(passes, rules, output if bounded(output) else made.body.decode())


def _set(name: str, value: Any) -> Change:
    place = attr(getattr(Connection, name))
    return place.remove() if value is None else place.set(value)


def _retry_config(given: Any) -> Any:
    try:
        msgspec.convert(given, retries.RetryConfig)
    except msgspec.ValidationError as error:
        raise WrongValue("retryConfig", str(error).replace("`", "")) from None
    if unknown := given.keys() - set(retries.RetryConfig.__struct_fields__):
        raise WrongValue(f"retryConfig.{min(unknown)}", "is not known here")
    return given


def _checked_headers(given: dict[str, str]) -> dict[str, str]:
    if len(given) > HEADERS_MAX:
        raise WrongValue("headers", f"are more than {HEADERS_MAX}")
    for name, value in given.items():
        if not name or len(name) > 128 or not set(name.lower()) <= _TOKEN:
            raise WrongValue(f"headers.{name[:40]}", "is no name of a header")
        if name.lower() in _RESERVED:
            raise WrongValue(f"headers.{name}", "is set by the delivery itself")
        if len(value) > HEADER_CHARACTERS_MAX or not value.isprintable() or not value.isascii():
            raise WrongValue(f"headers.{name}", f"must be at most {HEADER_CHARACTERS_MAX} visible characters")
    return {name.lower(): value for name, value in given.items()}
