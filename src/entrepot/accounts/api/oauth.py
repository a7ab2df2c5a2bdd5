"""Signing in with GitHub or Google."""

from __future__ import annotations

from typing import Annotated

from litestar import get
from litestar.handlers import HTTPRouteHandler
from litestar.params import PathParameter, QueryParameter
from litestar.response import Redirect

from entrepot.accounts import rules
from entrepot.accounts.api.requests import HOME, AnyRequest, base_url, user_of, visit_of
from entrepot.accounts.cookies import OAUTH
from entrepot.accounts.model import UserId
from entrepot.accounts.oauth import TICKET_SECONDS
from entrepot.accounts.providers import ProviderName
from entrepot.accounts.service import Accounts
from entrepot.http.caller import anyone, caller_of
from entrepot.http.problems import FieldError, Invalid, Unauthenticated

TAGS = ["Accounts"]

Name = Annotated[ProviderName, PathParameter(description="Who vouches for the person.")]
Text = Annotated[str | None, QueryParameter(max_length=2048)]
# The framework keeps the name `state` for itself.
State = Annotated[str | None, QueryParameter(name="state", max_length=2048)]
Link = Annotated[bool, QueryParameter(description="Link the provider to the account that is signed in.")]
Back = Annotated[str, QueryParameter(max_length=1024, description="The path to come back to.")]


def routes(accounts: Accounts) -> list[HTTPRouteHandler]:
    """The routes of providers."""

    @get(
        "/accounts/oauth/{provider:str}", guards=[anyone], tags=TAGS, status_code=302, summary="Sign in with…"
    )
    async def begin(
        request: AnyRequest, provider: Name, invite: Text = None, link: Link = False, back: Back = HOME
    ) -> Redirect:
        """Sends the browser to the provider; it comes back to `/callback`, and then to `back`."""
        if not rules.is_own_path(back):
            raise Invalid([FieldError("back", "is no path of ours")])
        link_to = None
        if link:
            caller = await caller_of(request)
            if caller.kind != "person":
                raise Unauthenticated
            link_to = user_of(caller)
        url, sealed = accounts.oauth.begin(
            provider,
            redirect_uri=f"{base_url(request, accounts.cookies.public_url)}/accounts/oauth/{provider}/callback",
            back=back,
            invite=invite,
            link_to=link_to,
        )
        accounts.cookies.set(request, OAUTH, sealed, seconds=TICKET_SECONDS)
        return Redirect(url, status_code=302)

    @get(
        "/accounts/oauth/{provider:str}/callback",
        guards=[anyone],
        tags=TAGS,
        status_code=302,
        summary="Come back from a provider",
    )
    async def callback(
        request: AnyRequest,
        provider: Name,
        returned_state: State = None,
        code: Text = None,
        error: Text = None,
    ) -> Redirect:
        """Signs in, makes an account where that is allowed, or links the provider to the account that asked for it."""
        caller = await caller_of(request)
        sealed = accounts.cookies.read(request, OAUTH)
        accounts.cookies.set(request, OAUTH, "", seconds=0)
        arrival = await accounts.oauth.complete(
            provider,
            sealed=sealed,
            state=returned_state or "",
            code=code,
            error=error,
            caller=UserId(caller.user_id) if caller.user_id else None,
            visit=visit_of(request),
        )
        if arrival.value is not None:
            accounts.cookies.set_session(request, arrival.value)
        await accounts.trail.note(request, arrival.user.userId, arrival.event, provider)
        return Redirect(arrival.back, status_code=302)

    return [begin, callback]
