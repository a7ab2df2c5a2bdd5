"""Users and keys of `ferryhook-main` (seed 001), sessions and audit (seed 003).

Added to the seeds: guard items that keep e-mail addresses and provider ids unique, pointers for keys, `KEYID#` on
GSI3, GSI1 on sessions, one-time links and sign-in failures beside the sessions, and the optional attributes at the
end of each entity.
"""

from __future__ import annotations

from typing import Annotated, Literal, NewType

from msgspec import Meta

from entrepot.tables import (
    SECRET,
    Access,
    Entity,
    Item,
    Many,
    One,
    Table,
    Update,
    attr,
    begins_with,
    first,
    guard,
    guarded,
    item,
    query,
    update,
    upsert,
)

UserId = NewType("UserId", str)
KeyId = NewType("KeyId", str)
KeyHash = NewType("KeyHash", str)
SessionId = NewType("SessionId", str)
LinkId = NewType("LinkId", str)
Email = NewType("Email", str)

Stamp = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Sha256 = Meta(pattern=r"^[0-9a-f]{64}$")
Plan = Literal["free", "starter", "pro", "team"]

AUDIT_SECONDS = 90 * 24 * 3600

main = Table(
    "ferryhook-main",
    "PK SK",
    indexes={"GSI1": "GSI1PK GSI1SK", "GSI2": "GSI2PK GSI2SK", "GSI3": "GSI3PK GSI3SK"},
    pitr=True,
    transactions=True,
)
sessions = Table("CommitCollectSessions", "PK SK", indexes={"GSI1": "GSI1PK GSI1SK"}, ttl="expiresAtUtc")
audit = Table(
    "CommitCollectAudit",
    "PK SK",
    indexes={"GSI1": "GSI1PK GSI1SK", "GSI2": "GSI2PK GSI2SK"},
    ttl="expiresAtUtc",
)


@main.entity(
    PK="USER#{userId}",
    SK="PROFILE",
    GSI1PK="EMAIL#{email:fold}",
    GSI1SK="USER",
    unique=[
        guard(PK="EMAIL#{email:fold}", SK="UNIQUE"),
        guard(PK="GITHUB#{githubId}", SK="UNIQUE"),
        guard(PK="GOOGLE#{googleId}", SK="UNIQUE"),
        guard(PK="STRIPE#{stripeCustomerId}", SK="UNIQUE"),
    ],
)
class User(Entity):
    """A person."""

    userId: Annotated[UserId, Meta(pattern=r"^usr_[A-Za-z0-9_-]{16}$")]
    email: Annotated[Email, Meta(min_length=3, max_length=320)]
    name: Name
    passwordHash: Annotated[str, SECRET] | None = None
    plan: Plan
    stripeCustomerId: str | None = None
    stripeSubId: str | None = None
    githubId: str | None = None
    googleId: str | None = None
    usageThisMonth: int = 0
    usagePeriodStart: Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    createdAt: Stamp
    updatedAt: Stamp
    # Beyond the seed.
    uuid: str | None = None
    role: Literal["operator"] | None = None
    timeZone: str | None = None
    locale: str | None = None
    units: Literal["metric", "imperial"] | None = None
    generation: int = 0
    """Sessions of an earlier one have ended: it rises when the password changes, whatever an index shows."""
    deletingAt: Stamp | None = None
    """Set when the account is being deleted: from then on nobody is let in by it."""


class Users(Access[User]):
    def one(self, userId: UserId) -> Item[User]:
        """Get user by ID."""
        return item(PK=f"USER#{userId}", SK="PROFILE")

    def by_email(self, email: Email) -> One[User]:
        """Get user by email."""
        return first(
            GSI1PK=f"EMAIL#{email:fold}",
            confirm=True,
            fallback=guarded(PK=f"EMAIL#{email:fold}", SK="UNIQUE"),
        )

    def by_github(self, githubId: str) -> One[User]:
        """Get user by GitHub user ID."""
        return guarded(PK=f"GITHUB#{githubId}", SK="UNIQUE")

    def by_google(self, googleId: str) -> One[User]:
        """Get user by Google user ID."""
        return guarded(PK=f"GOOGLE#{googleId}", SK="UNIQUE")

    def by_stripe_customer(self, stripeCustomerId: str) -> One[User]:
        """Get user by Stripe customer ID."""
        return guarded(PK=f"STRIPE#{stripeCustomerId}", SK="UNIQUE")

    def used(self, userId: UserId, count: int) -> Update[User]:
        """Add to the month's event count."""
        return update(attr(User.usageThisMonth).add(count))

    def began_period(self, userId: UserId, usagePeriodStart: str) -> Update[User]:
        """Start counting a new billing period, once."""
        return update(
            attr(User.usageThisMonth).set(0),
            attr(User.usagePeriodStart).set(usagePeriodStart),
            when=attr(User.usagePeriodStart) < usagePeriodStart,
        )


@main.entity(PK="INSTALLATION", SK="{duty}")
class Installation(Entity):
    """Who runs this installation; there is one, so that one-time links can't make a second."""

    duty: Literal["OPERATOR"] = "OPERATOR"
    userId: UserId
    createdAt: Stamp


class Installations(Access[Installation]):
    def one(self, duty: Literal["OPERATOR"] = "OPERATOR") -> Item[Installation]:
        """Get the operator of the installation."""
        return item()


@main.entity(
    PK="USER#{userId}",
    SK="KEY#{keyId}",
    GSI2PK="KEYHASH#{keyHash}",
    GSI2SK="KEY",
    GSI3PK="KEYID#{keyId}",
    GSI3SK="KEY",
    unique=[guard(PK="KEYHASH#{keyHash}", SK="UNIQUE")],
)
class ApiKey(Entity):
    """A key of a user's programs; only its hash is kept."""

    keyId: Annotated[KeyId, Meta(pattern=r"^key_[A-Za-z0-9_-]{16}$")]
    userId: UserId
    name: Name
    keyHash: Annotated[KeyHash, Sha256]
    keyPrefix: Annotated[str, Meta(min_length=8, max_length=8)]
    permissions: Literal["read", "write", "admin"]
    lastUsedAt: Stamp | None = None
    createdAt: Stamp


class ApiKeys(Access[ApiKey]):
    def one(self, userId: UserId, keyId: KeyId) -> Item[ApiKey]:
        """Get an API key of a user."""
        return item()

    def by_hash(self, keyHash: KeyHash) -> One[ApiKey]:
        """Authenticate API key."""
        return first(
            GSI2PK=f"KEYHASH#{keyHash}",
            confirm=True,
            fallback=guarded(PK=f"KEYHASH#{keyHash}", SK="UNIQUE"),
        )

    def by_id(self, keyId: KeyId) -> One[ApiKey]:
        """Get API key by ID."""
        return first(GSI3PK=f"KEYID#{keyId}")

    def of_user(self, userId: UserId) -> Many[ApiKey]:
        """List user's API keys."""
        return query(PK=f"USER#{userId}", SK=begins_with("KEY#"))

    def last_used(self, userId: UserId, keyId: KeyId, at: str) -> Update[ApiKey]:
        """Note the use of a key, forward only."""
        return update(
            attr(ApiKey.lastUsedAt).set(at),
            when=attr(ApiKey.lastUsedAt).absent() | (attr(ApiKey.lastUsedAt) < at),
        )


@sessions.entity(
    PK="SESSION#{sessionId}", SK="META", GSI1PK="USER#{userId}", GSI1SK="SESSION#{epoch:010}#{sessionId}"
)
class Session(Entity):
    """A browser that is signed in; `sessionId` is the SHA-256 of its cookie."""

    sessionId: Annotated[SessionId, Sha256]
    userId: UserId
    createdAtUtc: Stamp
    expiresAtUtc: int
    # Beyond the seed.
    epoch: int
    address: str | None = None
    userAgent: Annotated[str, Meta(max_length=512)] | None = None
    generation: int = 0


class Sessions(Access[Session]):
    def one(self, sessionId: SessionId) -> Item[Session]:
        """Resolve a session."""
        return item()

    def of_user(self, userId: UserId) -> Many[Session]:
        """List a user's sessions, newest first."""
        return query(GSI1PK=f"USER#{userId}", descending=True)

    def renewed(self, sessionId: SessionId, expiresAtUtc: int) -> Update[Session]:
        """Let a session live longer."""
        return update(
            attr(Session.expiresAtUtc).set(expiresAtUtc), when=attr(Session.expiresAtUtc) < expiresAtUtc
        )


@sessions.entity(PK="LINK#{linkId}", SK="META", GSI1PK="LINKS#{purpose}", GSI1SK="LINK#{epoch:010}#{linkId}")
class Link(Entity):
    """A link for one use: an invitation, the first operator's, a new password. `linkId` is its token's SHA-256."""

    linkId: Annotated[LinkId, Sha256]
    purpose: Literal["invite", "first", "reset"]
    createdAtUtc: Stamp
    expiresAtUtc: int
    epoch: int
    userId: UserId | None = None
    createdBy: UserId | None = None
    email: Email | None = None


class Links(Access[Link]):
    def one(self, linkId: LinkId) -> Item[Link]:
        """Get a link by its token's hash."""
        return item()

    def of_purpose(self, purpose: Literal["invite", "first", "reset"]) -> Many[Link]:
        """List links, newest first."""
        return query(GSI1PK=f"LINKS#{purpose}", descending=True)


@sessions.entity(PK="DELETION#{deletionId}", SK="META")
class Deletion(Entity):
    """An account on its way out, for who was signed in to it and no longer is; `deletionId` is a token's SHA-256."""

    deletionId: Annotated[str, Sha256]
    userId: UserId
    uuid: str | None = None
    jobId: str
    expiresAtUtc: int


class Deletions(Access[Deletion]):
    def one(self, deletionId: str) -> Item[Deletion]:
        """Get a deletion by its token's hash."""
        return item()


@sessions.entity(PK="FAILURES#{subject}", SK="META")
class Failures(Entity):
    """Failed sign-ins from one address, or for one e-mail from one address, in a window."""

    subject: Annotated[str, Sha256]
    failures: int = 0
    expiresAtUtc: int


class FailureCounts(Access[Failures]):
    def one(self, subject: str) -> Item[Failures]:
        """Count failed sign-ins."""
        return item()

    def failed(self, subject: str, expiresAtUtc: int) -> Update[Failures]:
        """Count one more, in the window that the first one opened."""
        return upsert(attr(Failures.failures).add(1), attr(Failures.expiresAtUtc).set_if_absent(expiresAtUtc))

    def passed(self, subject: str) -> Update[Failures]:
        """Take one back that turned out to be none."""
        return update(attr(Failures.failures).add(-1))


@audit.entity(
    PK="USER#{userId}",
    SK="AUDIT#{unixEpoch:010}#{requestId}",
    GSI1PK="CORR#{correlationId}",
    GSI1SK="AUDIT#{unixEpoch:010}#{requestId}",
    GSI2PK="EVENT#{eventType}#{unixEpoch:%Y%m}",
    GSI2SK="AUDIT#{unixEpoch:010}#{requestId}",
)
class Audit(Entity):
    """A change that a person made; several of one request have `.n` after its id."""

    userId: UserId
    unixEpoch: int
    requestId: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,72}$")]
    correlationId: str
    eventType: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
    resource: str | None = None
    address: str | None = None
    expiresAtUtc: int


class Audits(Access[Audit]):
    def of_user(self, userId: UserId) -> Many[Audit]:
        """A user's trail, newest first."""
        return query(PK=f"USER#{userId}", SK=begins_with("AUDIT#"), descending=True)

    def of_correlation(self, correlationId: str) -> Many[Audit]:
        """What one request caused."""
        return query(GSI1PK=f"CORR#{correlationId}")

    def of_event(self, eventType: str, month: str) -> Many[Audit]:
        """Events of one type in one month (yyyyMM), newest first."""
        return query(GSI2PK=f"EVENT#{eventType}#{month}", descending=True)
