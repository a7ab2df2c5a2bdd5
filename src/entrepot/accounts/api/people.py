"""Signing up, in and out, one's profile and password, one's trail."""

from __future__ import annotations

import msgspec
from litestar import get, patch, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody
from msgspec import UNSET

from entrepot.accounts.api import answers
from entrepot.accounts.api.requests import PAGE_DEFAULT, AnyRequest, Cursor, Limit, user_of, visit_of
from entrepot.accounts.model import SessionId
from entrepot.accounts.people import Newcomer
from entrepot.accounts.service import Accounts
from entrepot.http.caller import Caller, admin, anyone, person, reader
from entrepot.http.problems import FieldError, Invalid

TAGS = ["Accounts"]


def routes(accounts: Accounts) -> list[HTTPRouteHandler]:
    """The routes of people."""
    cookies, trail, people = accounts.cookies, accounts.trail, accounts.people

    @post("/accounts/signup", guards=[anyone], tags=TAGS, summary="Make an account")
    async def sign_up(request: AnyRequest, data: JSONBody[answers.SignUp]) -> answers.UserAnswer:
        """Makes an account and signs it in. `invite` is the token of an invitation, or of the operator's first link."""
        accounts.identity.refuse_cross_site(request)
        newcomer = Newcomer(
            email=data.email, name=data.name.strip(), password=data.password, invite=data.invite
        )
        user, value = await people.sign_up(newcomer, visit_of(request))
        cookies.set_session(request, value)
        await trail.note(request, user.userId, "accounts.signed_up", user.userId)
        return answers.UserAnswer(answers.User.of(user))

    @post("/accounts/login", guards=[anyone], tags=TAGS, status_code=200, summary="Sign in")
    async def sign_in(request: AnyRequest, data: JSONBody[answers.SignIn]) -> answers.UserAnswer:
        """Signs in with a password. A wrong password and an unknown e-mail get the same answer."""
        accounts.identity.refuse_cross_site(request)
        user, value = await people.sign_in(data.email, data.password, visit_of(request))
        cookies.set_session(request, value)
        await trail.note(request, user.userId, "accounts.signed_in", user.userId)
        return answers.UserAnswer(answers.User.of(user))

    @post("/accounts/logout", guards=[anyone], tags=TAGS, status_code=204, summary="Sign out")
    async def sign_out(request: AnyRequest) -> None:
        """Ends this browser's session; without one there is nothing to end."""
        accounts.identity.refuse_cross_site(request)
        value = cookies.session_of(request)
        if value is None:
            return
        user_id = await accounts.sessions.forget(value)
        cookies.clear_session(request)
        if user_id is not None:
            await trail.note(request, user_id, "accounts.signed_out")

    @get("/accounts/me", guards=[reader], tags=TAGS, summary="One's account")
    async def me(caller: NamedDependency[Caller]) -> answers.User:
        """The account of whoever calls."""
        return answers.User.of(await people.get(user_of(caller)))

    @patch("/accounts/me", guards=[admin], tags=TAGS, summary="Change one's profile")
    async def change(
        request: AnyRequest, caller: NamedDependency[Caller], data: JSONBody[answers.ProfileChange]
    ) -> answers.User:
        """Changes what is given; null takes an attribute away."""
        values = {name: value for name, value in msgspec.structs.asdict(data).items() if value is not UNSET}
        user = await people.change(user_of(caller), values)
        if values:
            await trail.note(request, caller, "accounts.changed", user.userId)
        return answers.User.of(user)

    @post("/accounts/password", guards=[person], tags=TAGS, status_code=204, summary="Change one's password")
    async def change_password(
        request: AnyRequest, caller: NamedDependency[Caller], data: JSONBody[answers.PasswordChange]
    ) -> None:
        """Sets a new password and ends all other sessions. No key can do this."""
        if data.newPassword == data.currentPassword:
            raise Invalid([FieldError("newPassword", "is the current one")])
        user = await people.get(user_of(caller))
        await people.change_password(
            user,
            data.newPassword,
            current=data.currentPassword,
            session_id=SessionId(caller.session_id or ""),
            visit=visit_of(request),
        )
        await trail.note(request, caller, "accounts.password.changed", user.userId)

    @post(
        "/accounts/password/reset",
        guards=[anyone],
        tags=TAGS,
        status_code=204,
        summary="Set a password by a link",
    )
    async def reset_password(request: AnyRequest, data: JSONBody[answers.PasswordReset]) -> None:
        """Uses a link of `entrepot accounts reset-link`; every session ends."""
        accounts.identity.refuse_cross_site(request)
        user_id = await people.reset_password(data.token, data.password)
        await trail.note(request, user_id, "accounts.password.reset", user_id)

    @get("/accounts/audit", guards=[reader], tags=TAGS, summary="One's trail")
    async def audit(
        caller: NamedDependency[Caller], limit: Limit = PAGE_DEFAULT, cursor: Cursor = None
    ) -> answers.Trail:
        """What one changed in the last 90 days, newest first."""
        page = await trail.of_user(user_of(caller), limit=limit, cursor=cursor)
        return answers.Trail([answers.Entry.of(entry) for entry in page.items], page.cursor)

    return [sign_up, sign_in, sign_out, me, change, change_password, reset_password, audit]
