"""People: signing up and in, their profile, and their password."""

from __future__ import annotations

import logging
import uuid
from typing import Any

import msgspec

from entrepot.accounts import rules
from entrepot.accounts.errors import (
    AccountChanged,
    EmailTaken,
    InviteInvalid,
    InviteNeeded,
    LinkInvalid,
    NotFresh,
    ProviderTaken,
    SignInFailed,
    SignupClosed,
    WrongPassword,
)
from entrepot.accounts.failures import FailureBook
from entrepot.accounts.links import LinkBook
from entrepot.accounts.model import (
    Email,
    Installation,
    Link,
    Session,
    SessionId,
    Sessions,
    User,
    UserId,
    Users,
)
from entrepot.accounts.passwords import Passwords
from entrepot.accounts.sessions import SessionBook, Visit
from entrepot.http.problems import Invalid, Unauthenticated
from entrepot.ids import nanoid
from entrepot.tables import (
    Action,
    AlreadyExists,
    Change,
    ConditionFailed,
    Database,
    TablesError,
    TransactionLost,
    attr,
)

ID_CHARACTERS = 16

log = logging.getLogger(__name__)


class Newcomer(msgspec.Struct, frozen=True, kw_only=True):
    """Who wants an account: with a password, or known by a provider's id."""

    email: str
    name: str
    password: str | None = None
    invite: str | None = None
    providers: dict[str, str] = {}


class People:
    """What happens to accounts, in transactions."""

    def __init__(
        self,
        db: Database,
        *,
        sessions: SessionBook,
        links: LinkBook,
        failures: FailureBook,
        passwords: Passwords,
        signup: rules.Signup,
    ) -> None:
        self._db = db
        self._users = Users(db)
        self._stored_sessions = Sessions(db)
        self._sessions = sessions
        self._links = links
        self._failures = failures
        self._passwords = passwords
        self._signup = signup

    # -- coming in

    async def sign_up(self, newcomer: Newcomer, visit: Visit) -> tuple[User, str]:
        """Make an account and sign it in; gives the cookie's value."""
        if newcomer.password is not None:
            _refuse(rules.password_errors(newcomer.password))
        link = await self._link_for(newcomer)
        # Answers about taken addresses are bounded like failed sign-ins: both tell something to who asks often.
        taken = await self._failures.reserve(visit.address or "")
        password = newcomer.password
        user = self._new_user(
            newcomer,
            password_hash=await self._passwords.hash(password) if password is not None else None,
            operator=link is not None and link.purpose == "first",
        )
        session, value = self._sessions.make(user, visit)
        await self._store(user, session, link)
        await self._failures.release(taken)
        return user, value

    async def sign_in(self, email: str, password: str, visit: Visit) -> tuple[User, str]:
        """Sign in; an unknown e-mail gets the answer of a wrong password, in the same time."""
        taken = await self._failures.reserve(visit.address or "", email)
        user = await self._users.by_email(Email(email))
        if user is not None and user.deletingAt is not None:
            user = None
        if not await self._passwords.verify(password, user.passwordHash if user else None) or user is None:
            raise SignInFailed
        await self._failures.release(taken)
        return user, await self._sessions.begin(user, visit)

    async def _link_for(self, newcomer: Newcomer) -> Link | None:
        if newcomer.invite is None:
            if self._signup == "open":
                return None
            raise SignupClosed if self._signup == "closed" else InviteNeeded
        link = await self._links.find(newcomer.invite, "first", "invite")
        if link is None or (link.email and link.email.casefold() != newcomer.email.casefold()):
            raise InviteInvalid
        if link.purpose == "invite" and self._signup == "closed":
            raise SignupClosed
        return link

    def _new_user(self, newcomer: Newcomer, *, password_hash: str | None, operator: bool) -> User:
        now = self._db.clock.stamp()
        return User(
            userId=UserId(f"usr_{nanoid(ID_CHARACTERS)}"),
            email=Email(newcomer.email),
            name=newcomer.name,
            passwordHash=password_hash,
            plan="free",
            githubId=newcomer.providers.get("github"),
            googleId=newcomer.providers.get("google"),
            usagePeriodStart=f"{now[:7]}-01",
            createdAt=now,
            updatedAt=now,
            uuid=str(uuid.uuid4()),
            role="operator" if operator else None,
        )

    async def _store(self, user: User, session: Session, link: Link | None) -> None:
        """The user with its guards, the session, and the end of the link: all, or nothing."""
        of_link: list[Action] = []
        try:
            async with self._db.transaction() as t:
                t.create(user)
                t.create(session)
                if link is not None:
                    of_link.append(t.delete(link, when=attr(Link.expiresAtUtc) > self._db.now()))
                if user.role == "operator":
                    of_link.append(t.create(Installation(userId=user.userId, createdAt=user.createdAt)))
        except TransactionLost as lost:
            if any(lost.failure_of(action) for action in of_link):
                raise InviteInvalid from None
            raise _taken(lost) from None

    # -- the account itself

    async def get(self, user_id: UserId) -> User:
        """The user; one that is gone can't be who calls."""
        user = await self._users.one(user_id)
        if user is None or user.deletingAt is not None:
            raise Unauthenticated
        return user

    async def find(self, email: str) -> User | None:
        """The user of an e-mail."""
        return await self._users.by_email(Email(email))

    async def change(self, user_id: UserId, values: dict[str, Any]) -> User:
        """Change the profile; None takes an attribute away."""
        if values.get("timeZone") is not None:
            _refuse(rules.time_zone_errors(values["timeZone"]))
        if not values:
            return await self.get(user_id)
        changes = [_changed(name, value) for name, value in values.items()]
        changes.append(attr(User.updatedAt).set(self._db.clock.stamp()))
        try:
            return await self._db.update(
                self._users.one(user_id), *changes, when=attr(User.deletingAt).absent()
            )
        except ConditionFailed:
            raise Unauthenticated from None

    # -- passwords

    async def prove(
        self, user: User, *, password: str | None, session: SessionId | None, visit: Visit
    ) -> None:
        """Make sure that it is really the person: by the password, or by a young session where there is none."""
        if user.passwordHash is None:
            await self._prove_fresh(session)
            return
        if password is None:
            raise WrongPassword
        taken = await self._failures.reserve(visit.address or "", user.email)
        if not await self._passwords.verify(password, user.passwordHash):
            raise WrongPassword
        await self._failures.release(taken)

    async def _prove_fresh(self, session_id: SessionId | None) -> None:
        session = await self._stored_sessions.one(session_id) if session_id is not None else None
        if session is None or not rules.is_fresh(now=self._db.now(), began=session.epoch):
            raise NotFresh(rules.FRESH_SECONDS // 60)

    async def change_password(
        self, user: User, new: str, *, current: str | None, session_id: SessionId, visit: Visit
    ) -> None:
        """Set a new password; every other session ends."""
        _refuse(rules.password_errors(new, "newPassword"))
        await self.prove(user, password=current, session=session_id, visit=visit)
        changes = self._password_changes(user, await self._passwords.hash(new))
        try:
            async with self._db.transaction() as t:
                t.update(self._users.one(user.userId), *changes, when=_unchanged(user))
                t.update(
                    self._stored_sessions.one(session_id),
                    attr(Session.generation).set(user.generation + 1),
                    when=attr(Session.userId) == user.userId,
                )
        except TransactionLost:
            raise AccountChanged from None
        await self._sweep(user.userId, keep=session_id)

    async def reset_password(self, token: str, new: str) -> UserId:
        """Set a new password by a link; every session ends."""
        _refuse(rules.password_errors(new))
        link = await self._links.find(token, "reset")
        user = await self._users.one(link.userId) if link is not None and link.userId is not None else None
        if link is None or user is None or user.deletingAt is not None:
            raise LinkInvalid
        changes = self._password_changes(user, await self._passwords.hash(new))
        try:
            async with self._db.transaction() as t:
                used = t.delete(link, when=attr(Link.expiresAtUtc) > self._db.now())
                t.update(self._users.one(user.userId), *changes, when=_unchanged(user))
        except TransactionLost as lost:
            raise LinkInvalid if lost.failure_of(used) else AccountChanged from None
        await self._sweep(user.userId)
        return user.userId

    def _password_changes(self, user: User, hashed: str) -> list[Change]:
        return [
            attr(User.passwordHash).set(hashed),
            attr(User.generation).set(user.generation + 1),
            attr(User.updatedAt).set(self._db.clock.stamp()),
        ]

    async def _sweep(self, user_id: UserId, *, keep: SessionId | None = None) -> None:
        try:
            await self._sessions.sweep(user_id, keep=keep)
        except TablesError as error:
            # They have ended by the user's generation; what is left of them expires.
            log.warning("ended sessions were not deleted", exc_info=error)

    # -- providers

    async def of_provider(self, provider: str, provider_id: str) -> User | None:
        """The user that is known by a provider's id."""
        lookup = self._users.by_github if provider == "github" else self._users.by_google
        user = await lookup(provider_id)
        return None if user is None or user.deletingAt is not None else user

    async def link_provider(self, user_id: UserId, provider: str, provider_id: str) -> User:
        """Let a user sign in by a provider's id from now on."""
        user = await self.get(user_id)
        try:
            async with self._db.edit(user) as draft:
                setattr(draft, f"{provider}Id", provider_id)
                draft.updatedAt = self._db.clock.stamp()
            return draft
        except AlreadyExists:
            raise ProviderTaken(provider) from None
        except ConditionFailed:
            raise AccountChanged from None


def _unchanged(user: User) -> Any:
    return (attr(User.generation) == user.generation) & attr(User.deletingAt).absent()


def _changed(name: str, value: Any) -> Change:
    attribute = attr(getattr(User, name))
    return attribute.remove() if value is None else attribute.set(value)


def _refuse(errors: list[Any]) -> None:
    if errors:
        raise Invalid(errors)


def _taken(lost: TransactionLost) -> Exception:
    """Which of a new user's guards another holds."""
    for failure in lost.failures:
        guard = failure.action.guard
        if guard is None:
            continue
        if "email" in guard.fields:
            return EmailTaken()
        return ProviderTaken("github" if "githubId" in guard.fields else "google")
    return lost
