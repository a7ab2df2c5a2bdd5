"""Where one is signed in."""

from __future__ import annotations

from litestar import delete, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from entrepot.accounts.api import answers
from entrepot.accounts.api.requests import PAGE_DEFAULT, AnyRequest, Cursor, Limit, user_of
from entrepot.accounts.model import SessionId
from entrepot.accounts.service import Accounts
from entrepot.http.caller import Caller, admin, reader

TAGS = ["Accounts"]


def routes(accounts: Accounts) -> list[HTTPRouteHandler]:
    """The routes of sessions."""

    @get("/accounts/sessions", guards=[reader], tags=TAGS, summary="Where one is signed in")
    async def sessions(
        caller: NamedDependency[Caller], limit: Limit = PAGE_DEFAULT, cursor: Cursor = None
    ) -> answers.SessionPage:
        """One's sessions, newest first."""
        page = await accounts.sessions.of_user(user_of(caller), limit=limit, cursor=cursor)
        found = [answers.Session.of(session, current=caller.session_id) for session in page.items]
        return answers.SessionPage(found, page.cursor)

    @delete("/accounts/sessions/{sessionId:str}", guards=[admin], tags=TAGS, summary="End a session")
    async def end(request: AnyRequest, caller: NamedDependency[Caller], sessionId: FromPath[str]) -> None:
        """Ends one of one's sessions; the browser that had it is signed out."""
        await accounts.sessions.end(user_of(caller), SessionId(sessionId))
        if sessionId == caller.session_id:
            accounts.cookies.clear_session(request)
        await accounts.trail.note(request, caller, "accounts.session.ended", sessionId)

    return [sessions, end]
