"""The pages behind one-time links: a form that works without scripts, and says what is wrong in place."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from html import escape
from typing import Annotated

import msgspec
from litestar import Response, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter
from litestar.response import Redirect

from entrepot.accounts import rules
from entrepot.accounts.api import answers
from entrepot.accounts.api.requests import HOME, AnyRequest, visit_of
from entrepot.accounts.errors import LinkInvalid
from entrepot.accounts.links import PATHS
from entrepot.accounts.people import Newcomer
from entrepot.accounts.service import Accounts
from entrepot.http.bodies import field_errors
from entrepot.http.caller import anyone
from entrepot.http.problems import Invalid, Problem

FORM_BYTES_MAX = 16 * 1024

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:24rem;margin:4rem auto;padding:0 1rem}"
    "label{display:block;margin:1rem 0 .25rem}input{width:100%;font:inherit;padding:.5rem;box-sizing:border-box}"
    "button{font:inherit;margin-top:1.5rem;padding:.5rem 1rem}[role=alert]{color:#a00}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#eee}[role=alert]{color:#f88}}"
)
POLICY = (
    "default-src 'none'; "
    f"style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

Token = Annotated[str, QueryParameter(max_length=200, description="The token of the link.")]
Act = Callable[[AnyRequest, Mapping[str, str]], Awaitable[Response[bytes]]]


class Field(msgspec.Struct, frozen=True):
    """One line of a form."""

    name: str
    label: str
    type: str
    autocomplete: str


PASSWORD = Field("password", "Password", "password", "new-password")
PERSON = (
    Field("name", "Name", "text", "name"),
    Field("email", "E-mail", "email", "username"),
    PASSWORD,
)


class Page(msgspec.Struct, frozen=True):
    """A form behind a link."""

    purpose: rules.Purpose
    title: str
    button: str
    fields: tuple[Field, ...]

    def html(self, values: Mapping[str, str], complaint: str = "") -> bytes:
        """The form, with what was filled in before."""
        inputs = "".join(_input(field, values) for field in self.fields)
        alert = f'<p role="alert">{escape(complaint)}</p>' if complaint else ""
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width"><title>{self.title} · Entrepot</title>'
            f"<style>{STYLE}</style><h1>{self.title}</h1>{alert}"
            f'<form method="post" action="{PATHS[self.purpose]}">'
            f'<input type="hidden" name="token" value="{escape(values.get("token", ""))}">'
            f"{inputs}<button>{self.button}</button></form></html>"
        ).encode()


def routes(accounts: Accounts) -> list[HTTPRouteHandler]:
    """A page and its form for each kind of link."""

    async def join(request: AnyRequest, values: Mapping[str, str]) -> Response[bytes]:
        given = {name: values.get(name, "") for name in ("email", "name", "password")}
        if errors := field_errors(given, answers.SignUp):
            raise Invalid(errors)
        newcomer = Newcomer(
            email=given["email"],
            name=given["name"].strip(),
            password=given["password"],
            invite=values.get("token", ""),
        )
        user, value = await accounts.people.sign_up(newcomer, visit_of(request))
        accounts.cookies.set_session(request, value)
        await accounts.trail.note(request, user.userId, "accounts.signed_up", user.userId)
        return Redirect(HOME, status_code=303)

    async def reset(request: AnyRequest, values: Mapping[str, str]) -> Response[bytes]:
        user_id = await accounts.people.reset_password(values.get("token", ""), values.get("password", ""))
        await accounts.trail.note(request, user_id, "accounts.password.reset", user_id)
        return Redirect(HOME, status_code=303)

    found = [
        (Page("first", "Become the operator", "Create the account", PERSON), join),
        (Page("invite", "Join", "Create the account", PERSON), join),
        (Page("reset", "New password", "Set the password", (PASSWORD,)), reset),
    ]
    return [handler for page, act in found for handler in _handlers(accounts, page, act)]


def _handlers(accounts: Accounts, page: Page, act: Act) -> list[HTTPRouteHandler]:
    @get(PATHS[page.purpose], guards=[anyone], include_in_schema=False, name=f"{page.purpose} page")
    async def show(token: Token = "") -> Response[bytes]:
        link = await accounts.links.find(token, page.purpose)
        if link is None:
            return _answer(page.html({"token": token}, LinkInvalid().message), 404)
        return _answer(page.html({"token": token, "email": link.email or ""}))

    @post(
        PATHS[page.purpose],
        guards=[anyone],
        include_in_schema=False,
        name=f"{page.purpose} form",
        status_code=200,
        opt={"body_bytes_max": FORM_BYTES_MAX},
    )
    async def submit(request: AnyRequest) -> Response[bytes]:
        accounts.identity.refuse_cross_site(request)
        form = await request.form()
        values = {name: value for name, value in form.items() if isinstance(value, str)}
        try:
            return await act(request, values)
        except Problem as problem:
            return _answer(page.html(values, problem.message), problem.status, problem.headers)

    return [show, submit]


def _input(field: Field, values: Mapping[str, str]) -> str:
    # A password is not sent back, not even to who has just sent it.
    value = "" if field.type == "password" else escape(values.get(field.name, ""))
    return (
        f'<label for="{field.name}">{field.label}</label>'
        f'<input id="{field.name}" name="{field.name}" type="{field.type}" value="{value}" '
        f'autocomplete="{field.autocomplete}" required>'
    )


def _answer(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response[bytes]:
    ours = {"Content-Security-Policy": POLICY, **(headers or {})}
    return Response(body, status_code=status, media_type="text/html; charset=utf-8", headers=ours)
