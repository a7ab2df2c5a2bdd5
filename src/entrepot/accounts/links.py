"""Links for one use: an invitation, the first operator's, a new password."""

from __future__ import annotations

import secrets

from entrepot.accounts import rules
from entrepot.accounts.errors import InviteNotFound
from entrepot.accounts.model import Email, Installations, Link, LinkId, Links, UserId
from entrepot.clock import stamp_of
from entrepot.tables import ConditionFailed, Database, Page, attr

TOKEN_BYTES = 32

PATHS: dict[rules.Purpose, str] = {
    "first": "/accounts/first",
    "invite": "/accounts/join",
    "reset": "/accounts/reset",
}
_SECONDS: dict[rules.Purpose, int] = {
    "first": rules.FIRST_SECONDS,
    "invite": rules.INVITE_SECONDS,
    "reset": rules.RESET_SECONDS,
}


class LinkBook:
    """Makes and finds links; who uses one deletes it in the same transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._links = Links(db)
        self._installations = Installations(db)

    async def make(
        self,
        purpose: rules.Purpose,
        *,
        email: str | None = None,
        user_id: UserId | None = None,
        created_by: UserId | None = None,
    ) -> tuple[Link, str]:
        """A new link, and its token, which is shown this once."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        now_ms = self._db.clock.epoch_ms()
        now = now_ms // 1000
        link = Link(
            linkId=LinkId(rules.digest(token)),
            purpose=purpose,
            createdAtUtc=stamp_of(now_ms),
            expiresAtUtc=now + _SECONDS[purpose],
            epoch=now,
            userId=user_id,
            createdBy=created_by,
            email=Email(email) if email else None,
        )
        await self._db.create(link)
        return link, token

    async def first_path(self) -> str | None:
        """A new path that makes the operator, or None when there is one."""
        if await self._installations.one() is not None:
            return None
        _, token = await self.make("first")
        return path_of("first", token)

    async def find(self, token: str, *purposes: rules.Purpose) -> Link | None:
        """The link of this token, when it is for one of these and still holds."""
        link = await self._links.one(LinkId(rules.digest(token)))
        if link is None or link.purpose not in purposes:
            return None
        if link.purpose == "first" and await self._installations.one() is not None:
            return None
        return link

    async def invites(self, *, limit: int, cursor: str | None) -> Page[Link]:
        """A page of the invitations that nobody used yet, newest first."""
        return await self._links.of_purpose("invite").page(limit=limit, cursor=cursor)

    async def withdraw(self, link_id: LinkId) -> None:
        """Delete an invitation."""
        try:
            await self._db.delete(self._links.one(link_id), when=attr(Link.purpose) == "invite")
        except ConditionFailed:
            raise InviteNotFound from None


def path_of(purpose: rules.Purpose, token: str) -> str:
    """Where a browser uses a link."""
    return f"{PATHS[purpose]}?token={token}"
