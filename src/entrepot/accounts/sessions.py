"""Browsers that are signed in."""

from __future__ import annotations

import logging
import secrets

import msgspec

from entrepot.accounts import rules
from entrepot.accounts.errors import SessionNotFound
from entrepot.accounts.model import Session, SessionId, Sessions, User, UserId, Users
from entrepot.clock import stamp_of
from entrepot.tables import ConditionFailed, Database, Page, TablesError, attr

VALUE_BYTES = 32
USER_AGENT_CHARACTERS_MAX = 512
SWEEP_PAGE = 100
SWEEP_PAGES_MAX = 1000

log = logging.getLogger(__name__)


class Visit(msgspec.Struct, frozen=True):
    """Where a sign-in comes from."""

    address: str | None = None
    user_agent: str | None = None


class SignedIn(msgspec.Struct, frozen=True):
    """A session that holds, whose it is, and whether its cookie is to be set again."""

    session: Session
    user: User
    renewed: bool = False


class SessionBook:
    """Begins, finds, renews and ends sessions."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._sessions = Sessions(db)
        self._users = Users(db)

    def make(self, user: User, visit: Visit) -> tuple[Session, str]:
        """A session to be stored, and the cookie's value, which is not."""
        value = secrets.token_urlsafe(VALUE_BYTES)
        now_ms = self._db.clock.epoch_ms()
        now = now_ms // 1000
        agent = visit.user_agent
        session = Session(
            sessionId=SessionId(rules.digest(value)),
            userId=user.userId,
            createdAtUtc=stamp_of(now_ms),
            expiresAtUtc=now + rules.SESSION_SECONDS,
            epoch=now,
            address=visit.address,
            userAgent=agent[:USER_AGENT_CHARACTERS_MAX] if agent else None,
            generation=user.generation,
        )
        return session, value

    async def begin(self, user: User, visit: Visit) -> str:
        """Sign a user in; gives the cookie's value."""
        session, value = self.make(user, visit)
        await self._db.create(session)
        return value

    async def resolve(self, value: str) -> SignedIn | None:
        """Whose session this cookie is, or None when it is unknown, expired or ended."""
        session = await self._sessions.one(SessionId(rules.digest(value)))
        if session is None:
            return None
        user = await self._users.one(session.userId)
        if user is None or user.deletingAt is not None or session.generation != user.generation:
            return None
        return SignedIn(session, user, await self._renew(session))

    async def _renew(self, session: Session) -> bool:
        now = self._db.now()
        if not rules.renews(now=now, expires=session.expiresAtUtc):
            return False
        try:
            await self._sessions.renewed(session.sessionId, now + rules.SESSION_SECONDS)
        except TablesError as error:
            # It holds for days yet, and the next request tries again.
            log.warning("a session was not renewed", exc_info=error)
            return False
        return True

    async def of_user(self, user_id: UserId, *, limit: int, cursor: str | None) -> Page[Session]:
        """A page of a user's sessions, newest first."""
        return await self._sessions.of_user(user_id).page(limit=limit, cursor=cursor)

    async def end(self, user_id: UserId, session_id: SessionId) -> None:
        """End one of the user's own sessions."""
        try:
            await self._db.delete(self._sessions.one(session_id), when=attr(Session.userId) == user_id)
        except ConditionFailed:
            # Another's looks as if there were none.
            raise SessionNotFound from None

    async def forget(self, value: str) -> UserId | None:
        """End the session of this cookie, whoever's it is, and say whose it was."""
        target = self._sessions.one(SessionId(rules.digest(value)))
        session = await target
        if session is None:
            return None
        await self._db.delete(target)
        return session.userId

    async def sweep(self, user_id: UserId, *, keep: str | None = None) -> int:
        """Delete the stored sessions of a user, but one.

        Those that the index does not show yet have ended too, by the user's generation, and expire.
        """
        ended = 0
        cursor: str | None = None
        for _ in range(SWEEP_PAGES_MAX):
            page = await self._sessions.of_user(user_id).page(limit=SWEEP_PAGE, cursor=cursor)
            found = [session for session in page.items if session.sessionId != keep]
            await self._db.delete_all(found)
            ended += len(found)
            cursor = page.cursor
            if cursor is None:
                break
        return ended
