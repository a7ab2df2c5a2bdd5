"""The routes below `/accounts`: decode, call, encode."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from entrepot.accounts.api import deletion, invites, keys, oauth, people, sessions
from entrepot.accounts.service import Accounts


def routes(accounts: Accounts) -> list[HTTPRouteHandler]:
    """All routes of the accounts."""
    return [
        *people.routes(accounts),
        *sessions.routes(accounts),
        *keys.routes(accounts),
        *invites.routes(accounts),
        *oauth.routes(accounts),
        *deletion.routes(accounts),
    ]
