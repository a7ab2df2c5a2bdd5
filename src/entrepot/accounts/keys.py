"""Keys of a user's programs."""

from __future__ import annotations

import logging

from entrepot.accounts import rules
from entrepot.accounts.errors import KeyNotFound, KeysFull
from entrepot.accounts.model import ApiKey, ApiKeys, KeyHash, KeyId, User, UserId, Users
from entrepot.clock import stamp_of
from entrepot.http.caller import Permission
from entrepot.http.problems import Unauthenticated
from entrepot.ids import base62, nanoid
from entrepot.tables import ConditionFailed, Database, Page, TablesError, TransactionLost, attr

PREFIX = "ek_"
RANDOM_CHARACTERS = 43
SHOWN_CHARACTERS = 8
ID_CHARACTERS = 16
KEYS_MAX = 100
# Keys made at the same moment can pass the bound together, but not by much.
KEYS_STORED_MAX = 10 * KEYS_MAX

log = logging.getLogger(__name__)


class KeyRing:
    """Makes, finds and ends keys."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._keys = ApiKeys(db)
        self._users = Users(db)

    async def make(self, user_id: UserId, name: str, permissions: Permission) -> tuple[ApiKey, str]:
        """A new key, and its text, which is shown this once."""
        if await self._keys.of_user(user_id).count() >= KEYS_MAX:
            raise KeysFull(KEYS_MAX)
        text = PREFIX + base62(RANDOM_CHARACTERS)
        key = ApiKey(
            keyId=KeyId(f"key_{nanoid(ID_CHARACTERS)}"),
            userId=user_id,
            name=name,
            keyHash=KeyHash(rules.digest(text)),
            keyPrefix=text[:SHOWN_CHARACTERS],
            permissions=permissions,
            createdAt=self._db.clock.stamp(),
        )
        try:
            async with self._db.transaction() as t:
                t.create(key)
                # No key is left behind by an account that is closed at the same moment.
                t.check(self._users.one(user_id), attr(User.deletingAt).absent())
        except TransactionLost:
            raise Unauthenticated from None
        return key, text

    async def resolve(self, text: str) -> tuple[ApiKey, User] | None:
        """The key of this text and its user, or None when it is unknown or ended."""
        key = await self._keys.by_hash(KeyHash(rules.digest(text)))
        if key is None:
            return None
        user = await self._users.one(key.userId)
        if user is None or user.deletingAt is not None:
            return None
        await self._note_use(key)
        return key, user

    async def of_user(self, user_id: UserId, *, limit: int, cursor: str | None) -> Page[ApiKey]:
        """A page of a user's keys."""
        return await self._keys.of_user(user_id).page(limit=limit, cursor=cursor)

    async def end(self, user_id: UserId, key_id: KeyId) -> None:
        """Delete a key; it opens nothing from now on."""
        key = await self._keys.one(user_id, key_id)
        if key is None:
            raise KeyNotFound
        await self._db.delete(key)

    async def end_all(self, user_id: UserId) -> int:
        """Delete all keys of a user."""
        found = [key async for key in self._keys.of_user(user_id).each(at_most=KEYS_STORED_MAX)]
        for key in found:
            await self._db.delete(key)
        return len(found)

    async def _note_use(self, key: ApiKey) -> None:
        now_ms = self._db.clock.epoch_ms()
        if key.lastUsedAt is not None and key.lastUsedAt > stamp_of(now_ms - rules.KEY_USE_SECONDS * 1000):
            return
        try:
            await self._keys.last_used(key.userId, key.keyId, stamp_of(now_ms))
        except ConditionFailed:
            # Another request of the same moment noted it, or the key has just been deleted.
            return
        except TablesError as error:
            log.warning("the use of a key was not noted", exc_info=error)
