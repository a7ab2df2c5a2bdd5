"""Deleting one's account, and seeing how far that is."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import delete, get, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody, QueryParameter

from entrepot.accounts.api import answers
from entrepot.accounts.api.requests import AnyRequest, user_of, visit_of
from entrepot.accounts.model import SessionId
from entrepot.accounts.service import Accounts
from entrepot.http.caller import Caller, admin, anyone
from entrepot.http.jobs import JobView, view_of

TAGS = ["Accounts"]
PATH = "/accounts/deletion"

Token = Annotated[str, QueryParameter(min_length=1, max_length=200, description="What the deletion gave.")]


class DeletionAnswer(msgspec.Struct):
    """`report` is the path that shows how far it is, without signing in, for 30 days."""

    job: JobView
    report: str


def routes(accounts: Accounts) -> list[HTTPRouteHandler]:
    """The routes of deletion."""

    @delete("/accounts/me", guards=[admin], tags=TAGS, status_code=202, summary="Delete one's account")
    async def delete_me(
        request: AnyRequest, caller: NamedDependency[Caller], data: JSONBody[answers.Deletion]
    ) -> DeletionAnswer:
        """Closes the account at once and deletes everything of it in every service; it ends with a report.

        Needs the password, or without one a session younger than 10 minutes.
        """
        user = await accounts.people.get(user_of(caller))
        session = SessionId(caller.session_id) if caller.session_id else None
        await accounts.people.prove(user, password=data.password, session=session, visit=visit_of(request))
        job, token = await accounts.deletion.begin(user)
        accounts.cookies.clear_session(request)
        # What is said of where it came from would be deleted by the job that runs already.
        await accounts.trail.note(request, caller, "accounts.deletion.began", user.userId, from_where=False)
        return DeletionAnswer(view_of(job), f"{PATH}?token={token}")

    @get(PATH, guards=[anyone], tags=TAGS, summary="How far is a deletion?")
    async def progress(token: Token) -> JobView:
        """The job of a deletion; its message is the report."""
        return view_of(await accounts.deletion.progress(token))

    @post(PATH, guards=[anyone], tags=TAGS, status_code=202, summary="Run a deletion again")
    async def again(token: Token) -> JobView:
        """Runs a deletion again that failed."""
        return view_of(await accounts.deletion.again(token))

    return [delete_me, progress, again]
