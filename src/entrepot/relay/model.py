"""Sources and connections of `ferryhook-main`, events and attempts of `ferryhook-events` (seed 001).

Added to the seed: pointers and `CONNID#` on GSI3, deliveries, rejections, guards of provider delivery ids, roll-ups,
attempts keyed by connection and run, and the optional attributes at the end of each entity.
"""

from __future__ import annotations

from typing import Annotated, Literal, NewType

from msgspec import Meta, Struct

from entrepot.accounts.model import Name, Stamp, UserId, main
from entrepot.tables import (
    SECRET,
    Access,
    Entity,
    Index,
    Item,
    Many,
    One,
    Table,
    Update,
    attr,
    begins_with,
    between,
    first,
    guard,
    guarded,
    item,
    query,
    update,
    upsert,
)

SourceId = NewType("SourceId", str)
ConnectionId = NewType("ConnectionId", str)
EventId = NewType("EventId", str)

Status = Literal["active", "paused", "deleted"]
EventStatus = Literal["received", "processing", "filtered", "delivered", "retrying", "failed"]
DeliveryState = Literal["pending", "held", "delivered", "failed", "filtered", "cancelled"]

EVENTS_READ_MAX = 1000
ATTEMPTS_MAX = 8

events = Table(
    "ferryhook-events",
    "PK SK",
    # The rest stays in the item: a status that changes must not rewrite a body of 256 KiB in an index.
    indexes={"GSI1": Index("GSI1PK GSI1SK", project=["status"])},
    ttl="expiresAt",
    # What expires really goes: a day is as far back as it can be restored.
    pitr=1,
    transactions=True,
)


class SourceAnswer(Struct):
    """What a sender is answered instead of our own 202."""

    status: int
    contentType: str
    body: str


@main.entity(
    PK="USER#{userId}",
    SK="SRC#{sourceId}",
    GSI3PK="SRCID#{sourceId}",
    GSI3SK="SOURCE",
    unique=[guard(PK="SRCID#{sourceId}", SK="UNIQUE")],
)
class Source(Entity):
    """Where events of one sender arrive."""

    sourceId: Annotated[SourceId, Meta(pattern=r"^src_[A-Za-z0-9_-]{16}$")]
    userId: UserId
    name: Name
    provider: Literal["stripe", "github", "shopify", "slack", "standard", "twilio", "custom", "entrepot"]
    signingSecret: Annotated[str, SECRET] | None = None
    signingAlgorithm: Literal["hmac-sha256", "hmac-sha512"] | None = None
    status: Status = "active"
    eventCount: int = 0
    lastEventAt: Stamp | None = None
    createdAt: Stamp
    # Beyond the seed.
    signatureHeader: str | None = None
    signatureEncoding: Literal["hex", "base64"] | None = None
    signaturePrefix: str | None = None
    dedupePath: str | None = None
    answer: SourceAnswer | None = None
    rejectedCount: int = 0


class Sources(Access[Source]):
    def one(self, userId: UserId, sourceId: SourceId) -> Item[Source]:
        """Get a source of a user."""
        return item()

    def of_user(self, userId: UserId) -> Many[Source]:
        """List sources for user."""
        return query(PK=f"USER#{userId}", SK=begins_with("SRC#"))

    def by_id(self, sourceId: SourceId) -> One[Source]:
        """Get source by ID (for ingestion)."""
        return first(
            GSI3PK=f"SRCID#{sourceId}", confirm=True, fallback=guarded(PK=f"SRCID#{sourceId}", SK="UNIQUE")
        )

    def counted(self, userId: UserId, sourceId: SourceId, count: int, lastEventAt: str) -> Update[Source]:
        """Add received events."""
        return update(attr(Source.eventCount).add(count), attr(Source.lastEventAt).set(lastEventAt))

    def rejected(self, userId: UserId, sourceId: SourceId, count: int) -> Update[Source]:
        """Add rejected requests."""
        return update(attr(Source.rejectedCount).add(count))


@main.entity(
    PK="SRC#{sourceId}",
    SK="CONN#{connectionId}",
    GSI3PK="CONNID#{connectionId}",
    GSI3SK="CONNECTION",
    unique=[guard(PK="CONNID#{connectionId}", SK="UNIQUE")],
)
class Connection(Entity):
    """A destination of a source's events; filters, transform and retryConfig are JSON, as the seed has them."""

    connectionId: Annotated[ConnectionId, Meta(pattern=r"^conn_[A-Za-z0-9_-]{16}$")]
    sourceId: SourceId
    userId: UserId
    name: Name
    destinationUrl: Annotated[str, Meta(max_length=2048)]
    signingSecret: Annotated[str, SECRET]
    filters: str = "[]"
    transform: str = '{"type":"passthrough"}'
    retryConfig: str = "{}"
    status: Status = "active"
    deliveryCount: int = 0
    failureCount: int = 0
    createdAt: Stamp
    updatedAt: Stamp
    # Beyond the seed.
    headers: Annotated[str, SECRET] | None = None
    ratePerSecond: float | None = None
    pausedReason: str | None = None
    previousSecret: Annotated[str, SECRET] | None = None
    previousSecretUntil: int | None = None
    failingSince: Stamp | None = None


class Connections(Access[Connection]):
    def one(self, sourceId: SourceId, connectionId: ConnectionId) -> Item[Connection]:
        """Get a connection of a source."""
        return item()

    def of_source(self, sourceId: SourceId) -> Many[Connection]:
        """List connections for source."""
        return query(PK=f"SRC#{sourceId}", SK=begins_with("CONN#"), consistent=True)

    def by_id(self, connectionId: ConnectionId) -> One[Connection]:
        """Get connection by ID."""
        return first(
            GSI3PK=f"CONNID#{connectionId}",
            confirm=True,
            fallback=guarded(PK=f"CONNID#{connectionId}", SK="UNIQUE"),
        )

    def counted(
        self, sourceId: SourceId, connectionId: ConnectionId, delivered: int, failed: int
    ) -> Update[Connection]:
        """Add finished deliveries."""
        return update(
            attr(Connection.deliveryCount).add(delivered), attr(Connection.failureCount).add(failed)
        )


@events.entity(
    PK="SRC#{sourceId}", SK="EVT#{receivedAt:013}#{eventId}", GSI1PK="EVTID#{eventId}", GSI1SK="EVENT"
)
class Event(Entity):
    """A request that was received; a body that is not UTF-8 is in `bodyBytes`."""

    eventId: Annotated[EventId, Meta(pattern=r"^evt_[A-Za-z0-9_-]{16}$")]
    sourceId: SourceId
    userId: UserId
    status: EventStatus = "received"
    headers: str
    body: str
    sourceIp: str
    contentType: str
    method: str
    receivedAt: int
    processedAt: int | None = None
    deliveredAt: int | None = None
    expiresAt: int
    # Beyond the seed.
    bodyBytes: bytes | None = None
    path: str | None = None
    query: str | None = None
    deliveryId: str | None = None
    run: int = 1
    erasedAt: int | None = None


class EventLine(Struct):
    """An event in a list: without its headers and body."""

    eventId: EventId
    sourceId: SourceId
    status: EventStatus
    contentType: str
    method: str
    receivedAt: int
    processedAt: int | None = None
    deliveredAt: int | None = None
    deliveryId: str | None = None


class Events(Access[Event]):
    def one(self, sourceId: SourceId, receivedAt: int, eventId: EventId) -> Item[Event]:
        """Get an event by all of its key."""
        return item()

    def of_source(self, sourceId: SourceId) -> Many[Event]:
        """List events for source (newest first)."""
        return query(PK=f"SRC#{sourceId}", SK=begins_with("EVT#"), descending=True, reads_max=EVENTS_READ_MAX)

    def of_source_between(self, sourceId: SourceId, from_ms: int, to_ms: int) -> Many[Event]:
        """List events of a source in a time range, newest first."""
        return query(
            PK=f"SRC#{sourceId}",
            SK=between(f"EVT#{from_ms:013}#", f"EVT#{to_ms:013}#\uffff"),
            descending=True,
            reads_max=EVENTS_READ_MAX,
        )

    def by_id(self, eventId: EventId) -> One[Event]:
        """Get event by ID."""
        return first(GSI1PK=f"EVTID#{eventId}", confirm=True)


@events.entity(PK="EVT#{eventId}", SK="ATT#{attemptNumber:01}#{connectionId}#{run:04}")
class Attempt(Entity):
    """One request to a destination; `statusCode` is 0 when no answer came."""

    eventId: EventId
    connectionId: ConnectionId
    attemptNumber: Annotated[int, Meta(ge=1, le=ATTEMPTS_MAX)]
    destinationUrl: str
    statusCode: int
    responseBody: Annotated[str, Meta(max_length=1000)] | None = None
    latencyMs: int
    error: str | None = None
    attemptedAt: int
    # Beyond the seed.
    run: Annotated[int, Meta(ge=1)] = 1
    expiresAt: int


class Attempts(Access[Attempt]):
    def of_event(self, eventId: EventId) -> Many[Attempt]:
        """List attempts for event."""
        return query(PK=f"EVT#{eventId}", SK=begins_with("ATT#"), consistent=True)


@events.entity(PK="EVT#{eventId}", SK="DLV#{connectionId}")
class Delivery(Entity):
    """One event on its way to one connection."""

    eventId: EventId
    connectionId: ConnectionId
    sourceId: SourceId
    userId: UserId
    state: DeliveryState = "pending"
    run: int = 1
    attemptCount: int = 0
    nextAttemptAt: int | None = None
    cause: str | None = None
    expiresAt: int


class Deliveries(Access[Delivery]):
    def one(self, eventId: EventId, connectionId: ConnectionId) -> Item[Delivery]:
        """Get the delivery of an event to a connection."""
        return item()

    def of_event(self, eventId: EventId) -> Many[Delivery]:
        """List deliveries for event."""
        return query(PK=f"EVT#{eventId}", SK=begins_with("DLV#"), consistent=True)

    def with_attempts(self, eventId: EventId) -> Many[Delivery | Attempt]:
        """List deliveries and attempts for event, in one read."""
        return query(PK=f"EVT#{eventId}")


@events.entity(PK="SRC#{sourceId}", SK="REJ#{receivedAt:013}#{rejectionId}")
class Rejection(Entity):
    """A request that was not taken, and why."""

    rejectionId: str
    sourceId: SourceId
    userId: UserId
    cause: str
    headers: str
    sourceIp: str
    method: str
    receivedAt: int
    expiresAt: int


class Rejections(Access[Rejection]):
    def of_source(self, sourceId: SourceId) -> Many[Rejection]:
        """List rejections for source (newest first)."""
        return query(PK=f"SRC#{sourceId}", SK=begins_with("REJ#"), descending=True)


@events.entity(PK="SRC#{sourceId}", SK="DUP#{deliveryId}")
class Duplicate(Entity):
    """Guards a provider's delivery id: the event that it brought first."""

    sourceId: SourceId
    deliveryId: Annotated[str, Meta(max_length=512)]
    eventId: EventId
    receivedAt: int
    expiresAt: int


class Duplicates(Access[Duplicate]):
    def one(self, sourceId: SourceId, deliveryId: str) -> Item[Duplicate]:
        """Find the first event of a delivery id."""
        return item()

    def of_source(self, sourceId: SourceId) -> Many[Duplicate]:
        """List the delivery ids of a source."""
        return query(PK=f"SRC#{sourceId}", SK=begins_with("DUP#"))


@events.entity(PK="USER#{userId}", SK="ROLL#{period}#{startsAt:010}#{sourceId}")
class Rollup(Entity):
    """A source's counts in one hour or day; `le…` count deliveries by latency in milliseconds."""

    userId: UserId
    sourceId: SourceId
    period: Literal["hour", "day"]
    startsAt: int
    received: int = 0
    delivered: int = 0
    failed: int = 0
    filtered: int = 0
    le50: int = 0
    le100: int = 0
    le250: int = 0
    le500: int = 0
    le1000: int = 0
    le2500: int = 0
    le5000: int = 0
    le10000: int = 0
    slower: int = 0
    expiresAt: int


class Rollups(Access[Rollup]):
    def one(
        self, userId: UserId, period: Literal["hour", "day"], startsAt: int, sourceId: SourceId
    ) -> Item[Rollup]:
        """Get the counts of a source in one hour or day."""
        return item()

    def of_user_between(
        self, userId: UserId, period: Literal["hour", "day"], from_seconds: int, to_seconds: int
    ) -> Many[Rollup]:
        """List a user's counts by hour or day, of all sources."""
        return query(
            PK=f"USER#{userId}",
            SK=between(f"ROLL#{period}#{from_seconds:010}#", f"ROLL#{period}#{to_seconds:010}#\uffff"),
            at_most=50_000,
        )

    def received(
        self,
        userId: UserId,
        period: Literal["hour", "day"],
        startsAt: int,
        sourceId: SourceId,
        count: int,
        expiresAt: int,
    ) -> Update[Rollup]:
        """Add received events."""
        return upsert(attr(Rollup.received).add(count), attr(Rollup.expiresAt).set(expiresAt))


@events.entity(PK="OWNER#{uuid}", SK="OWNER")
class Owner(Entity):
    """Who a UUID is: the fleet knows people by theirs alone."""

    uuid: str
    userId: UserId


class OwnersOfUuids(Access[Owner]):
    def one(self, uuid: str) -> Item[Owner]:
        """Find a person by UUID."""
        return item()
