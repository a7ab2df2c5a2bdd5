"""What the routes take and give, beside what is stored."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from entrepot.accounts import model, rules
from entrepot.clock import stamp_of
from entrepot.http.caller import Permission

EmailText = Annotated[
    str,
    Meta(
        pattern=rules.EMAIL_PATTERN, max_length=rules.EMAIL_CHARACTERS_MAX, description="An e-mail address."
    ),
]
NameText = Annotated[str, Meta(pattern=rules.NAME_PATTERN, max_length=200)]
NewPassword = Annotated[
    str,
    Meta(
        min_length=rules.PASSWORD_CHARACTERS_MIN,
        max_length=1024,
        description=f"At least {rules.PASSWORD_CHARACTERS_MIN} characters, at most {rules.PASSWORD_BYTES_MAX} bytes.",
    ),
]
Password = Annotated[str, Meta(min_length=1, max_length=1024)]
Token = Annotated[str, Meta(min_length=1, max_length=200)]
Units = Literal["metric", "imperial"]
Provider = Literal["github", "google"]


class Body(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A request's body."""


class SignUp(Body):
    email: EmailText
    password: NewPassword
    name: NameText
    invite: Token | None = None


class SignIn(Body):
    email: Annotated[str, Meta(min_length=1, max_length=1024)]
    password: Password


class ProfileChange(Body):
    """What is absent stays; null takes it away."""

    name: NameText | UnsetType = UNSET
    timeZone: Annotated[str, Meta(pattern=rules.TIME_ZONE_PATTERN, max_length=64)] | UnsetType | None = UNSET
    locale: Annotated[str, Meta(pattern=rules.LOCALE_PATTERN, max_length=35)] | UnsetType | None = UNSET
    units: Units | UnsetType | None = UNSET


class PasswordChange(Body):
    """`currentPassword` may be absent where there is none yet, in a session younger than 10 minutes."""

    newPassword: NewPassword
    currentPassword: Password | None = None


class PasswordReset(Body):
    token: Token
    password: NewPassword


class Deletion(Body):
    password: Password | None = None


class KeyRequest(Body):
    name: NameText
    permissions: Permission


class InviteRequest(Body):
    """With an e-mail, only that one can use the link."""

    email: EmailText | None = None


class User(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A person, as they see themselves."""

    userId: str
    email: str
    name: str
    plan: model.Plan
    hasPassword: bool
    providers: list[Provider]
    usageThisMonth: int
    usagePeriodStart: str
    createdAt: str
    updatedAt: str
    uuid: str | None = None
    role: Literal["operator"] | None = None
    timeZone: str | None = None
    locale: str | None = None
    units: Units | None = None

    @classmethod
    def of(cls, user: model.User) -> User:
        ids: dict[Provider, str | None] = {"github": user.githubId, "google": user.googleId}
        return cls(
            userId=user.userId,
            email=user.email,
            name=user.name,
            plan=user.plan,
            hasPassword=user.passwordHash is not None,
            providers=[provider for provider, known in ids.items() if known is not None],
            usageThisMonth=user.usageThisMonth,
            usagePeriodStart=user.usagePeriodStart,
            createdAt=user.createdAt,
            updatedAt=user.updatedAt,
            uuid=user.uuid,
            role=user.role,
            timeZone=user.timeZone,
            locale=user.locale,
            units=user.units,
        )


class UserAnswer(msgspec.Struct):
    user: User


class Session(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A browser that is signed in."""

    sessionId: str
    createdAtUtc: str
    expiresAtUtc: int
    current: bool
    address: str | None = None
    userAgent: str | None = None

    @classmethod
    def of(cls, session: model.Session, *, current: str | None) -> Session:
        return cls(
            sessionId=session.sessionId,
            createdAtUtc=session.createdAtUtc,
            expiresAtUtc=session.expiresAtUtc,
            current=session.sessionId == current,
            address=session.address,
            userAgent=session.userAgent,
        )


class SessionPage(msgspec.Struct, omit_defaults=True):
    sessions: list[Session]
    next_cursor: str | None = None


class Key(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A key of one's programs; its text is shown once, when it is made."""

    keyId: str
    name: str
    keyPrefix: str
    permissions: Permission
    createdAt: str
    lastUsedAt: str | None = None

    @classmethod
    def of(cls, key: model.ApiKey) -> Key:
        return cls(
            keyId=key.keyId,
            name=key.name,
            keyPrefix=key.keyPrefix,
            permissions=key.permissions,
            createdAt=key.createdAt,
            lastUsedAt=key.lastUsedAt,
        )


class KeyAnswer(msgspec.Struct):
    """`apiKey` is shown this once: a repeat by Idempotency-Key is without it."""

    key: Key
    apiKey: str | UnsetType = UNSET


class KeyPage(msgspec.Struct, omit_defaults=True):
    keys: list[Key]
    next_cursor: str | None = None


class Invite(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An invitation that nobody has used yet."""

    inviteId: str
    createdAt: str
    expiresAt: str
    email: str | None = None
    createdBy: str | None = None

    @classmethod
    def of(cls, link: model.Link) -> Invite:
        return cls(
            inviteId=link.linkId,
            createdAt=link.createdAtUtc,
            expiresAt=stamp_of(link.expiresAtUtc * 1000),
            email=link.email,
            createdBy=link.createdBy,
        )


class InviteAnswer(msgspec.Struct):
    """`url` holds the token, and is shown this once: a repeat by Idempotency-Key is without it."""

    invite: Invite
    url: str | UnsetType = UNSET


class InvitePage(msgspec.Struct, omit_defaults=True):
    invites: list[Invite]
    next_cursor: str | None = None


class Entry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A change that one made."""

    eventType: str
    at: str
    requestId: str
    correlationId: str
    resource: str | None = None
    address: str | None = None

    @classmethod
    def of(cls, entry: model.Audit) -> Entry:
        return cls(
            eventType=entry.eventType,
            at=stamp_of(entry.unixEpoch * 1000),
            requestId=entry.requestId,
            correlationId=entry.correlationId,
            resource=entry.resource,
            address=entry.address,
        )


class Trail(msgspec.Struct, omit_defaults=True):
    entries: list[Entry]
    next_cursor: str | None = None
