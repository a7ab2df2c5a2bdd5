"""The accounts, put together: one object that the application makes and the routes are given."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry

from entrepot.accounts.cookies import Cookies
from entrepot.accounts.deletion import AccountDeletion
from entrepot.accounts.failures import FailureBook
from entrepot.accounts.identity import Identity
from entrepot.accounts.keys import KeyRing
from entrepot.accounts.links import LinkBook
from entrepot.accounts.oauth import OAuthFlow
from entrepot.accounts.passwords import Passwords
from entrepot.accounts.people import People
from entrepot.accounts.providers import providers_of
from entrepot.accounts.rules import Signup
from entrepot.accounts.sealing import Sealer
from entrepot.accounts.sessions import SessionBook
from entrepot.accounts.settings import OAuth
from entrepot.accounts.trail import Trail
from entrepot.tables import Database
from entrepot.work import Work


class Accounts:
    """People, sessions, keys and audit; a part of the process that makes the first operator's link at its start.

    Services take from here: `identity` (the authenticator), `trail` (the audit), `sealer` (secrets at rest), and
    `deletion`, with which each registers what it deletes of a user.
    """

    name = "accounts"

    def __init__(
        self,
        db: Database,
        *,
        work: Work,
        registry: CollectorRegistry,
        secret_keys: Sequence[bytes],
        signup: Signup = "invite",
        public_url: str | None = None,
        admin_token: str | None = None,
        oauth: OAuth | None = None,
    ) -> None:
        self.sealer = Sealer(secret_keys)
        self.cookies = Cookies(public_url)
        self.sessions = SessionBook(db)
        self.keys = KeyRing(db)
        self.links = LinkBook(db)
        self.trail = Trail(db, registry)
        self.identity = Identity(self.sessions, self.keys, self.cookies, admin_token=admin_token)
        self._passwords = Passwords()
        self.people = People(
            db,
            sessions=self.sessions,
            links=self.links,
            failures=FailureBook(db),
            passwords=self._passwords,
            signup=signup,
        )
        self.oauth = OAuthFlow(
            providers_of(oauth or OAuth()),
            people=self.people,
            sessions=self.sessions,
            sealer=self.sealer,
            clock=db.clock,
        )
        self.deletion = AccountDeletion(db, work, sessions=self.sessions, keys=self.keys, trail=self.trail)
        self.first_path: str | None = None
        """Where the operator is made, as long as there is none."""

    async def start(self) -> None:
        await self._passwords.prepare()
        self.first_path = await self.links.first_path()

    async def check(self) -> None:
        """All that it needs is the store, which is asked on its own."""

    async def stop(self) -> None:
        await self.oauth.close()
        self._passwords.close()
