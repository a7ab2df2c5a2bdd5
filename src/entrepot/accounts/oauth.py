"""Signing in with a provider: what the browser carries meanwhile, and whose account it leads to.

An account's own e-mail is never verified here, so a provider's word for an e-mail opens no account with a password:
whoever made that one may not be who owns the address. The person signs in with the password and links the provider.
"""

from __future__ import annotations

import hmac
import logging
import secrets

import msgspec

from entrepot.accounts.errors import (
    EmailUnverified,
    LinkNeedsSignIn,
    ProviderFailed,
    ProviderTaken,
    ProviderUnknown,
    StateInvalid,
)
from entrepot.accounts.model import User, UserId
from entrepot.accounts.people import Newcomer, People
from entrepot.accounts.providers import Profile, Provider, ProviderClient
from entrepot.accounts.sealing import SealBroken, Sealer
from entrepot.accounts.sessions import SessionBook, Visit
from entrepot.clock import Clock

TICKET_SECONDS = 10 * 60
NAME_CHARACTERS_MAX = 200
PURPOSE = "accounts.oauth"

log = logging.getLogger(__name__)


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """A sign-in that a browser began; it is sealed into a cookie."""

    provider: str
    state: str
    verifier: str
    redirect_uri: str
    expires: int
    back: str
    invite: str | None = None
    link_to: UserId | None = None


class Arrival(msgspec.Struct, frozen=True):
    """Who came back, by which session, and what happened to the account."""

    user: User
    value: str | None
    event: str
    back: str


class OAuthFlow:
    """Begins and completes sign-ins with providers."""

    def __init__(
        self,
        providers: dict[str, Provider],
        *,
        people: People,
        sessions: SessionBook,
        sealer: Sealer,
        clock: Clock,
    ) -> None:
        self._providers = providers
        self._people = people
        self._sessions = sessions
        self._sealer = sealer
        self._clock = clock
        self._client = ProviderClient()

    @property
    def names(self) -> list[str]:
        """The providers that are set up."""
        return list(self._providers)

    def begin(
        self, name: str, *, redirect_uri: str, back: str, invite: str | None, link_to: UserId | None
    ) -> tuple[str, str]:
        """Where to send the browser, and what it carries until it is back."""
        provider = self._provider(name)
        ticket = Ticket(
            provider=name,
            state=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            redirect_uri=redirect_uri,
            expires=self._clock.epoch_seconds() + TICKET_SECONDS,
            back=back,
            invite=invite,
            link_to=link_to,
        )
        url = provider.authorize(state=ticket.state, verifier=ticket.verifier, redirect_uri=redirect_uri)
        return url, self._sealer.seal(msgspec.json.encode(ticket).decode(), purpose=PURPOSE)

    async def complete(
        self,
        name: str,
        *,
        sealed: str | None,
        state: str,
        code: str | None,
        error: str | None,
        caller: UserId | None,
        visit: Visit,
    ) -> Arrival:
        """Sign in, sign up or link, as the ticket says."""
        provider = self._provider(name)
        ticket = self._ticket(name, sealed, state)
        if ticket.link_to is not None and ticket.link_to != caller:
            raise StateInvalid
        if code is None:
            log.info("a provider let nobody in: %s", (error or "no code")[:100])
            raise ProviderFailed(provider.title, "it was not allowed")
        profile = await self._client.profile(
            provider, code=code, verifier=ticket.verifier, redirect_uri=ticket.redirect_uri
        )
        if ticket.link_to is not None:
            return await self._link(provider, profile, ticket.link_to, ticket.back)
        return await self._enter(provider, profile, ticket, visit)

    async def close(self) -> None:
        await self._client.close()

    def _provider(self, name: str) -> Provider:
        provider = self._providers.get(name)
        if provider is None:
            raise ProviderUnknown(name)
        return provider

    def _ticket(self, name: str, sealed: str | None, state: str) -> Ticket:
        try:
            opened = self._sealer.open(sealed or "", purpose=PURPOSE)
        except SealBroken:
            raise StateInvalid from None
        ticket = msgspec.json.decode(opened, type=Ticket)
        expired = ticket.expires <= self._clock.epoch_seconds()
        if (
            expired
            or ticket.provider != name
            or not hmac.compare_digest(ticket.state.encode(), state.encode())
        ):
            raise StateInvalid
        return ticket

    async def _link(self, provider: Provider, profile: Profile, user_id: UserId, back: str) -> Arrival:
        known = await self._people.of_provider(provider.name, profile.id)
        if known is not None and known.userId != user_id:
            raise ProviderTaken(provider.title)
        user = known or await self._people.link_provider(user_id, provider.name, profile.id)
        return Arrival(user, None, "accounts.provider.linked", back)

    async def _enter(self, provider: Provider, profile: Profile, ticket: Ticket, visit: Visit) -> Arrival:
        known = await self._people.of_provider(provider.name, profile.id)
        event = "accounts.signed_in"
        if known is None:
            if profile.email is None:
                raise EmailUnverified(provider.title)
            holder = await self._people.find(profile.email)
            if holder is None:
                return await self._join(provider, profile, profile.email, ticket, visit)
            if holder.passwordHash is not None:
                raise LinkNeedsSignIn(provider.title)
            # Without a password the address came from a provider too, which had verified it.
            known = await self._people.link_provider(holder.userId, provider.name, profile.id)
            event = "accounts.provider.linked"
        return Arrival(known, await self._sessions.begin(known, visit), event, ticket.back)

    async def _join(
        self, provider: Provider, profile: Profile, email: str, ticket: Ticket, visit: Visit
    ) -> Arrival:
        newcomer = Newcomer(
            email=email,
            name=profile.name.strip()[:NAME_CHARACTERS_MAX] or email,
            invite=ticket.invite,
            providers={provider.name: profile.id},
        )
        user, value = await self._people.sign_up(newcomer, visit)
        return Arrival(user, value, "accounts.signed_up", ticket.back)
