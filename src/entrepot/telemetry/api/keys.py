"""Routes of device keys."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import delete, get, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody

from entrepot.accounts.model import UserId
from entrepot.http.caller import Caller
from entrepot.http.pages import limit_within
from entrepot.telemetry.api.requests import (
    PAGE_DEFAULT,
    PAGE_MAX,
    TAGS,
    Context,
    Cursor,
    Limit,
    answered,
    reader,
    viewer_of,
    writer,
)
from entrepot.telemetry.model import DeviceKey
from entrepot.telemetry.rules import DESCRIPTION_CHARACTERS_MAX

Description = Annotated[str, msgspec.Meta(max_length=DESCRIPTION_CHARACTERS_MAX)]


class NewKey(msgspec.Struct, forbid_unknown_fields=True):
    """A key to make."""

    description: Description | None = None


class MadeKey(msgspec.Struct):
    """A key with its text, which is shown this once."""

    key_id: str
    api_key: str
    created_at: str


class KeyView(msgspec.Struct, omit_defaults=True):
    """A key as the API shows it: never its text or hash."""

    key_id: str
    created_at: str
    is_active: bool
    last_used_at: str | None = None
    description: str | None = None
    owner: str | None = None

    @classmethod
    def of(cls, key: DeviceKey) -> KeyView:
        return cls(key.key_id, key.created_at, key.is_active, key.last_used_at, key.description, key.owner)


class KeyPage(msgspec.Struct, omit_defaults=True):
    """Keys, the newest first."""

    api_keys: list[KeyView]
    next_cursor: str | None = None


class RevokedKey(msgspec.Struct):
    status: str
    key_id: str


def routes(context: Context) -> list[HTTPRouteHandler]:
    """The routes of device keys."""

    @post(
        "/telemetry/api-keys",
        guards=[writer],
        tags=TAGS,
        summary="Make a device key",
        opt={"shown_once": ("api_key",)},
    )
    async def make(caller: NamedDependency[Caller], data: JSONBody[NewKey]) -> MadeKey:
        """Makes a key for devices to send as X-API-Key; `api_key` is shown this once."""
        owner = UserId(caller.user_id) if caller.user_id is not None else None
        key, raw = await context.keys.make(owner, data.description)
        return MadeKey(key.key_id, raw, key.created_at)

    @get("/telemetry/api-keys", guards=[reader], tags=TAGS, summary="Device keys")
    async def keys(caller: NamedDependency[Caller], limit: Limit = None, cursor: Cursor = None) -> KeyPage:
        """One's device keys, the newest first; the operator sees all."""
        size = limit_within(limit, default=PAGE_DEFAULT, most=PAGE_MAX)
        page = await context.keys.page(viewer_of(caller), limit=size, cursor=cursor)
        return KeyPage([KeyView.of(key) for key in page.items], page.cursor)

    @delete(
        "/telemetry/api-keys/{key_id:str}",
        guards=[writer],
        tags=TAGS,
        summary="Revoke a device key",
        status_code=200,
    )
    async def revoke(caller: NamedDependency[Caller], key_id: FromPath[str]) -> RevokedKey:
        """Ends a key: within 5 seconds nothing takes it any more. Again is fine."""
        with answered():
            await context.keys.revoke(key_id, viewer_of(caller))
        return RevokedKey("revoked", key_id)

    return [make, keys, revoke]
