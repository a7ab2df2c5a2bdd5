"""Cookies: never readable by scripts, sent along from our own pages, and over https alone but on loopback."""

from __future__ import annotations

from entrepot.accounts import rules
from entrepot.http.caller import Connection
from entrepot.http.exchange import exchange_of

SESSION = "entrepot_session"
OAUTH = "entrepot_oauth"
# Browsers let only https pages of this very host set a cookie of such a name.
HOST_PREFIX = "__Host-"


class Cookies:
    """Reads and sets our cookies of a request."""

    def __init__(self, public_url: str | None) -> None:
        self.public_url = public_url

    def session_of(self, connection: Connection) -> str | None:
        """The value of the session's cookie."""
        return self.read(connection, SESSION)

    def set_session(self, connection: Connection, value: str) -> None:
        """Give the browser its session, for as long as it holds."""
        self.set(connection, SESSION, value, seconds=rules.SESSION_SECONDS)

    def clear_session(self, connection: Connection) -> None:
        self.set(connection, SESSION, "", seconds=0)

    def read(self, connection: Connection, name: str) -> str | None:
        return connection.cookies.get(self._name(connection, name)) or None

    def set(self, connection: Connection, name: str, value: str, *, seconds: int) -> None:
        secure = self.is_secure(connection)
        text = f"{self._name(connection, name)}={value}; Max-Age={seconds}; Path=/; HttpOnly; SameSite=Lax"
        header = f"{text}; Secure" if secure else text
        exchange_of(connection.scope).answer_headers.append((b"set-cookie", header.encode()))

    def is_secure(self, connection: Connection) -> bool:
        """Whether the cookies of this request are for https only."""
        return rules.cookie_is_secure(
            scheme=exchange_of(connection.scope).peer.scheme,
            host=connection.headers.get("host", ""),
            public_url=self.public_url,
        )

    def _name(self, connection: Connection, name: str) -> str:
        return f"{HOST_PREFIX}{name}" if self.is_secure(connection) else name
