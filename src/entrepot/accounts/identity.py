"""Who the caller is, for every service: the admin token, a key, or a session's cookie."""

from __future__ import annotations

import hmac

from entrepot.accounts import rules
from entrepot.accounts.cookies import Cookies
from entrepot.accounts.errors import CrossSite
from entrepot.accounts.keys import PREFIX, KeyRing
from entrepot.accounts.sessions import SessionBook
from entrepot.http.caller import ANONYMOUS, OPERATOR, Caller, Connection, bearer
from entrepot.http.problems import Unauthenticated


class Identity:
    """The authenticator. Unknown, ended and expired credentials all look like none: one 401 for each."""

    def __init__(
        self, sessions: SessionBook, keys: KeyRing, cookies: Cookies, *, admin_token: str | None
    ) -> None:
        self._sessions = sessions
        self._keys = keys
        self._cookies = cookies
        self._admin_token = admin_token

    async def __call__(self, connection: Connection) -> Caller:
        token = bearer(connection)
        if token is not None:
            return await self._of_token(token)
        return await self._of_cookie(connection)

    def refuse_cross_site(self, connection: Connection) -> None:
        """Refuse a change that another site makes a browser send; for routes that anyone may call."""
        headers = connection.headers
        fetch = rules.Fetch(
            method=str(connection.scope.get("method", "GET")),
            site=headers.get("sec-fetch-site"),
            origin=headers.get("origin"),
            host=headers.get("host", ""),
            public_url=self._cookies.public_url,
        )
        if rules.is_cross_site(fetch):
            raise CrossSite

    async def _of_token(self, token: str) -> Caller:
        if token.startswith(PREFIX):
            found = await self._keys.resolve(token)
            if found is not None:
                key, user = found
                operator = user.role == "operator" and key.permissions == "admin"
                return Caller(
                    kind="key",
                    user_id=user.userId,
                    key_id=key.keyId,
                    permission=key.permissions,
                    operator=operator,
                )
        elif self._admin_token and hmac.compare_digest(token.encode(), self._admin_token.encode()):
            return OPERATOR
        raise Unauthenticated

    async def _of_cookie(self, connection: Connection) -> Caller:
        value = self._cookies.session_of(connection)
        found = await self._sessions.resolve(value) if value else None
        if found is None or value is None:
            return ANONYMOUS
        self.refuse_cross_site(connection)
        if found.renewed:
            self._cookies.set_session(connection, value)
        return Caller(
            kind="person",
            user_id=found.user.userId,
            session_id=found.session.sessionId,
            permission="admin",
            operator=found.user.role == "operator",
        )
