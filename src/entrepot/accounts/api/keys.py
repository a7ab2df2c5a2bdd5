"""Keys of one's programs."""

from __future__ import annotations

from litestar import delete, get, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody

from entrepot.accounts.api import answers
from entrepot.accounts.api.requests import PAGE_DEFAULT, AnyRequest, Cursor, Limit, user_of
from entrepot.accounts.model import KeyId
from entrepot.accounts.service import Accounts
from entrepot.http.caller import Caller, admin, reader

TAGS = ["Accounts"]


def routes(accounts: Accounts) -> list[HTTPRouteHandler]:
    """The routes of keys."""

    @post("/accounts/keys", guards=[admin], tags=TAGS, summary="Make a key", opt={"shown_once": ("apiKey",)})
    async def make(
        request: AnyRequest, caller: NamedDependency[Caller], data: JSONBody[answers.KeyRequest]
    ) -> answers.KeyAnswer:
        """Makes a key; `apiKey` is shown this once. Send it as `Authorization: Bearer ek_…`."""
        key, text = await accounts.keys.make(user_of(caller), data.name.strip(), data.permissions)
        await accounts.trail.note(request, caller, "accounts.key.created", key.keyId)
        return answers.KeyAnswer(answers.Key.of(key), text)

    @get("/accounts/keys", guards=[reader], tags=TAGS, summary="One's keys")
    async def keys(
        caller: NamedDependency[Caller], limit: Limit = PAGE_DEFAULT, cursor: Cursor = None
    ) -> answers.KeyPage:
        """One's keys, without their texts."""
        page = await accounts.keys.of_user(user_of(caller), limit=limit, cursor=cursor)
        return answers.KeyPage([answers.Key.of(key) for key in page.items], page.cursor)

    @delete("/accounts/keys/{keyId:str}", guards=[admin], tags=TAGS, summary="Delete a key")
    async def end(request: AnyRequest, caller: NamedDependency[Caller], keyId: FromPath[str]) -> None:
        """Deletes a key; it opens nothing from now on."""
        await accounts.keys.end(user_of(caller), KeyId(keyId))
        await accounts.trail.note(request, caller, "accounts.key.deleted", keyId)

    return [make, keys, end]
