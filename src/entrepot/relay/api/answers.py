"""Sources, connections and events as the API takes and shows them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from entrepot.accounts.model import Name
from entrepot.relay import model
from entrepot.relay.model import DeliveryState, EventLine, EventStatus, SourceAnswer, Status
from entrepot.relay.rules import MASK
from entrepot.relay.views import headers_of

Provider = Literal["stripe", "github", "shopify", "slack", "standard", "twilio", "custom"]
Secret = Annotated[str, Meta(min_length=1, max_length=1024)]
HeaderName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9-]{1,128}$")]
PathText = Annotated[str, Meta(min_length=1, max_length=256)]
Prefix = Annotated[str, Meta(max_length=64)]
Url = Annotated[str, Meta(min_length=1, max_length=2048)]


class OwnAnswer(Struct, forbid_unknown_fields=True):
    """What senders are answered instead of our own 202."""

    status: Annotated[int, Meta(ge=200, le=299)] = 200
    contentType: Annotated[str, Meta(pattern=r"^[\x20-\x7e]{1,128}$")] = "text/plain; charset=utf-8"
    body: Annotated[str, Meta(max_length=4096)] = ""


class NewSource(Struct, forbid_unknown_fields=True):
    """A source to make."""

    name: Name
    provider: Provider = "custom"
    signingSecret: Secret | UnsetType = UNSET
    signingAlgorithm: Literal["hmac-sha256", "hmac-sha512"] | UnsetType = UNSET
    signatureHeader: HeaderName | UnsetType = UNSET
    signatureEncoding: Literal["hex", "base64"] | UnsetType = UNSET
    signaturePrefix: Prefix | UnsetType = UNSET
    dedupePath: PathText | UnsetType = UNSET
    answer: OwnAnswer | UnsetType = UNSET


class SourceChange(Struct, forbid_unknown_fields=True):
    """What to change of a source; null takes away."""

    name: Name | UnsetType = UNSET
    status: Literal["active", "paused"] | UnsetType = UNSET
    signingSecret: Secret | UnsetType | None = UNSET
    signingAlgorithm: Literal["hmac-sha256", "hmac-sha512"] | UnsetType | None = UNSET
    signatureHeader: HeaderName | UnsetType | None = UNSET
    signatureEncoding: Literal["hex", "base64"] | UnsetType | None = UNSET
    signaturePrefix: Prefix | UnsetType | None = UNSET
    dedupePath: PathText | UnsetType | None = UNSET
    answer: OwnAnswer | UnsetType | None = UNSET


class SourceView(Struct, omit_defaults=True):
    """A source; its secret is never shown, only whether there is one."""

    sourceId: str
    userId: str
    name: str
    provider: str
    status: Status
    eventCount: int
    rejectedCount: int
    createdAt: str
    url: str
    hasSigningSecret: bool
    lastEventAt: str | None = None
    signingAlgorithm: str | None = None
    signatureHeader: str | None = None
    signatureEncoding: str | None = None
    signaturePrefix: str | None = None
    dedupePath: str | None = None
    answer: SourceAnswer | None = None

    @classmethod
    def of(cls, source: model.Source, base_url: str) -> SourceView:
        return cls(
            url=f"{base_url}/in/{source.sourceId}",
            hasSigningSecret=source.signingSecret is not None,
            **{name: getattr(source, name) for name in _SOURCE_FIELDS},
        )


class SourceList(Struct, omit_defaults=True):
    """One's sources."""

    sources: list[SourceView]
    next_cursor: str | None = None


class RateLimit(Struct, forbid_unknown_fields=True):
    """How many requests a destination gets."""

    perSecond: Annotated[float, Meta(gt=0, le=10_000)]


class NewConnection(Struct, forbid_unknown_fields=True):
    """A destination to connect."""

    name: Name
    destinationUrl: Url
    filters: list[dict[str, Any]] | UnsetType = UNSET
    transform: dict[str, Any] | UnsetType = UNSET
    retryConfig: dict[str, Any] | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    rateLimit: RateLimit | UnsetType = UNSET


class ConnectionChange(Struct, forbid_unknown_fields=True):
    """What to change of a connection; null takes away."""

    name: Name | UnsetType = UNSET
    destinationUrl: Url | UnsetType = UNSET
    status: Literal["active", "paused"] | UnsetType = UNSET
    filters: list[dict[str, Any]] | UnsetType = UNSET
    transform: dict[str, Any] | UnsetType = UNSET
    retryConfig: dict[str, Any] | UnsetType = UNSET
    headers: dict[str, str] | UnsetType | None = UNSET
    rateLimit: RateLimit | UnsetType | None = UNSET


class ConnectionView(Struct, omit_defaults=True):
    """A connection; `signingSecret` is shown when it is made, `warning` when its destination looks wrong."""

    connectionId: str
    sourceId: str
    userId: str
    name: str
    destinationUrl: str
    filters: list[Any]
    transform: dict[str, Any]
    retryConfig: dict[str, Any]
    status: Status
    deliveryCount: int
    failureCount: int
    createdAt: str
    updatedAt: str
    headers: dict[str, str] = {}
    rateLimit: RateLimit | None = None
    pausedReason: str | None = None
    previousSecretUntil: int | None = None
    signingSecret: str | None = None
    warning: str | None = None

    @classmethod
    def of(
        cls,
        connection: model.Connection,
        header_names: list[str],
        *,
        secret: str | None = None,
        warning: str | None = None,
    ) -> ConnectionView:
        rate = connection.ratePerSecond
        return cls(
            filters=msgspec.json.decode(connection.filters),
            transform=msgspec.json.decode(connection.transform),
            retryConfig=msgspec.json.decode(connection.retryConfig),
            headers=dict.fromkeys(header_names, MASK),
            rateLimit=None if rate is None else RateLimit(rate),
            signingSecret=secret,
            warning=warning,
            **{name: getattr(connection, name) for name in _CONNECTION_FIELDS},
        )


class ConnectionList(Struct, omit_defaults=True):
    """The connections of a source."""

    connections: list[ConnectionView]
    next_cursor: str | None = None


class DryRunRequest(Struct, forbid_unknown_fields=True):
    """An event to try: one that was received, or a body and headers of one's own."""

    eventId: str | UnsetType = UNSET
    body: Any = UNSET
    headers: dict[str, str] = {}
    query: str = ""
    method: Literal["POST", "PUT", "PATCH", "DELETE", "GET"] = "POST"


class RejectionView(Struct):
    """A request that was not taken, and why."""

    rejectionId: str
    sourceId: str
    cause: str
    headers: dict[str, str]
    sourceIp: str
    method: str
    receivedAt: int

    @classmethod
    def of(cls, rejection: model.Rejection) -> RejectionView:
        headers = msgspec.json.decode(rejection.headers, type=dict[str, str])
        return cls(headers=headers, **{name: getattr(rejection, name) for name in _REJECTION_FIELDS})


class RejectionList(Struct, omit_defaults=True):
    """Requests that were not taken, newest first."""

    rejections: list[RejectionView]
    next_cursor: str | None = None


class EventList(Struct, omit_defaults=True):
    """Events of a source, newest first."""

    events: list[EventLine]
    next_cursor: str | None = None


class DeliveryView(Struct, omit_defaults=True):
    """One event on its way to one connection."""

    connectionId: str
    state: DeliveryState
    run: Annotated[int, Meta(ge=1)]
    attemptCount: int
    nextAttemptAt: int | None = None
    cause: str | None = None

    @classmethod
    def of(cls, delivery: model.Delivery) -> DeliveryView:
        return cls(**{name: getattr(delivery, name) for name in cls.__struct_fields__})


class AttemptView(Struct, omit_defaults=True):
    """One request to a destination; `statusCode` is 0 when no answer came."""

    eventId: str
    connectionId: str
    attemptNumber: int
    destinationUrl: str
    statusCode: int
    latencyMs: int
    attemptedAt: int
    run: int
    responseBody: str | None = None
    error: str | None = None

    @classmethod
    def of(cls, attempt: model.Attempt) -> AttemptView:
        return cls(**{name: getattr(attempt, name) for name in cls.__struct_fields__})


class AttemptList(Struct, omit_defaults=True):
    """Attempts, by time."""

    attempts: list[AttemptView]
    next_cursor: str | None = None


class EventView(Struct, omit_defaults=True):
    """An event with what became of it; a body that is not UTF-8 is in `bodyBytes`, as base64."""

    eventId: str
    sourceId: str
    userId: str
    status: EventStatus
    headers: dict[str, str]
    body: str
    sourceIp: str
    contentType: str
    method: str
    receivedAt: int
    expiresAt: int
    run: Annotated[int, Meta(ge=1)]
    deliveries: list[DeliveryView]
    attempts: list[AttemptView]
    processedAt: int | None = None
    deliveredAt: int | None = None
    bodyBytes: bytes | None = None
    path: str | None = None
    query: str | None = None
    deliveryId: str | None = None
    erasedAt: int | None = None

    @classmethod
    def of(
        cls, event: model.Event, deliveries: list[model.Delivery], attempts: list[model.Attempt]
    ) -> EventView:
        return cls(
            headers=headers_of(event),
            deliveries=[DeliveryView.of(delivery) for delivery in deliveries],
            attempts=[AttemptView.of(attempt) for attempt in attempts],
            **{name: getattr(event, name) for name in _EVENT_FIELDS},
        )


def given(body: Struct) -> dict[str, Any]:
    """The fields of a body that were given."""
    fields = {name: getattr(body, name) for name in body.__struct_fields__}
    return {name: value for name, value in fields.items() if value is not UNSET}


_SOURCE_FIELDS = [name for name in SourceView.__struct_fields__ if name not in ("url", "hasSigningSecret")]
_CONNECTION_FIELDS = [
    name
    for name in ConnectionView.__struct_fields__
    if name not in ("filters", "transform", "retryConfig", "headers", "rateLimit", "signingSecret", "warning")
]
_REJECTION_FIELDS = [name for name in RejectionView.__struct_fields__ if name != "headers"]
_EVENT_FIELDS = [
    name for name in EventView.__struct_fields__ if name not in ("headers", "deliveries", "attempts")
]
