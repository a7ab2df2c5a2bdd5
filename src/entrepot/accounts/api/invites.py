"""Invitations, which the operator gives."""

from __future__ import annotations

from litestar import delete, get, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody

from entrepot.accounts.api import answers
from entrepot.accounts.api.requests import PAGE_DEFAULT, AnyRequest, Cursor, Limit, base_url
from entrepot.accounts.links import path_of
from entrepot.accounts.model import LinkId, UserId
from entrepot.accounts.service import Accounts
from entrepot.http.caller import Caller, operator

TAGS = ["Accounts"]


def routes(accounts: Accounts) -> list[HTTPRouteHandler]:
    """The routes of invitations."""

    @post(
        "/accounts/invites",
        guards=[operator],
        tags=TAGS,
        summary="Invite someone",
        opt={"shown_once": ("url",)},
    )
    async def invite(
        request: AnyRequest, caller: NamedDependency[Caller], data: JSONBody[answers.InviteRequest]
    ) -> answers.InviteAnswer:
        """Makes a link for one use in 7 days; `url` is shown this once."""
        by = UserId(caller.user_id) if caller.user_id else None
        link, token = await accounts.links.make("invite", email=data.email, created_by=by)
        await accounts.trail.note(request, caller, "accounts.invite.created", link.linkId)
        url = base_url(request, accounts.cookies.public_url) + path_of("invite", token)
        return answers.InviteAnswer(answers.Invite.of(link), url)

    @get("/accounts/invites", guards=[operator], tags=TAGS, summary="Open invitations")
    async def invites(limit: Limit = PAGE_DEFAULT, cursor: Cursor = None) -> answers.InvitePage:
        """Invitations that nobody has used yet, newest first."""
        page = await accounts.links.invites(limit=limit, cursor=cursor)
        return answers.InvitePage([answers.Invite.of(link) for link in page.items], page.cursor)

    @delete(
        "/accounts/invites/{inviteId:str}", guards=[operator], tags=TAGS, summary="Withdraw an invitation"
    )
    async def withdraw(request: AnyRequest, caller: NamedDependency[Caller], inviteId: FromPath[str]) -> None:
        """Withdraws an invitation that nobody has used yet."""
        await accounts.links.withdraw(LinkId(inviteId))
        await accounts.trail.note(request, caller, "accounts.invite.deleted", inviteId)

    return [invite, invites, withdraw]
