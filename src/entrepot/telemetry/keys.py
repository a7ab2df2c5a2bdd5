"""Keys that devices send: made, found fast, revoked within seconds everywhere."""

from __future__ import annotations

import logging
import secrets
from collections import OrderedDict

from msgspec import Struct

from entrepot.accounts.model import UserId
from entrepot.clock import stamp_of
from entrepot.tables import ConditionFailed, Database, Page, TablesError
from entrepot.telemetry import rules
from entrepot.telemetry.errors import BadKey, Unknown
from entrepot.telemetry.model import DeviceKey, DeviceKeys, KeyHash, KeyId

RAW_BYTES = 32
REMEMBERED_MAX = 10_000
# A revocation by another process is seen after this time; five seconds are promised.
REMEMBERED_MS = 3_000
USE_MS = rules.ACTIVITY_SECONDS * 1000

log = logging.getLogger(__name__)


class Holder(Struct, frozen=True):
    """Whose readings a key brings."""

    key_id: KeyId
    owner: UserId | None


class KeyRing:
    """The device keys of an installation; only hashes with its pepper are kept."""

    def __init__(self, db: Database, *, pepper: str) -> None:
        self._db = db
        self._keys = DeviceKeys(db)
        self._pepper = pepper.encode()
        self._known: OrderedDict[str, tuple[int, Holder]] = OrderedDict()

    async def holder_of(self, raw: str | None) -> Holder:
        """Who sends this key; raises BadKey."""
        if not raw:
            raise BadKey("MISSING_API_KEY", "Send the device's key as X-API-Key.")
        raw = raw.lower()
        if not rules.is_raw_key(raw):
            raise BadKey("INVALID_API_KEY", "The key is not known.")
        hash_ = rules.key_hash(self._pepper, raw)
        known = self._known.get(hash_)
        if known is not None and 0 <= self._db.clock.epoch_ms() - known[0] < REMEMBERED_MS:
            return known[1]
        return await self._find(hash_)

    async def make(self, owner: UserId | None, description: str | None) -> tuple[DeviceKey, str]:
        """A new key, and its text, which is shown this once."""
        raw = secrets.token_hex(RAW_BYTES)
        hash_ = rules.key_hash(self._pepper, raw)
        key = DeviceKey(
            key_id=KeyId(rules.key_id_of(hash_)),
            api_key_hash=KeyHash(hash_),
            created_at=self._db.clock.stamp(),
            description=description,
            owner=owner,
        )
        await self._db.create(key)
        return key, raw

    async def page(self, owner: UserId | None, *, limit: int, cursor: str | None) -> Page[DeviceKey]:
        """The keys of an owner, or all, the newest first."""
        found = self._keys.by_creation() if owner is None else self._keys.of_owner(owner)
        return await found.page(limit=limit, cursor=cursor)

    async def revoke(self, key_id: str, owner: UserId | None) -> None:
        """End a key; again is fine. An owner ends their own only."""
        key = await self._keys.one(KeyId(key_id))
        if key is None or (owner is not None and key.owner != owner):
            raise Unknown("API_KEY_NOT_FOUND", f"There is no key {key_id} of yours.")
        await self._keys.revoked(key.key_id)
        self._known.pop(key.api_key_hash, None)

    async def forget(self, owner: UserId, *, limit: int) -> int:
        """Delete some keys of an owner who leaves; 0 when none is left."""
        page = await self._keys.of_owner(owner).page(limit=limit)
        for key in page.items:
            await self._db.delete(self._keys.one(key.key_id))
            self._known.pop(key.api_key_hash, None)
        return len(page.items)

    async def _find(self, hash_: str) -> Holder:
        key = await self._keys.by_hash(KeyHash(hash_), KeyId(rules.key_id_of(hash_)))
        if key is None:
            raise BadKey("INVALID_API_KEY", "The key is not known.")
        if not key.is_active:
            self._known.pop(hash_, None)
            raise BadKey("KEY_REVOKED", f"The key {key.key_id} has been revoked.")
        holder = Holder(key.key_id, key.owner)
        self._known[hash_] = (self._db.clock.epoch_ms(), holder)
        self._known.move_to_end(hash_)
        if len(self._known) > REMEMBERED_MAX:
            self._known.popitem(last=False)
        await self._note_use(key)
        return holder

    async def _note_use(self, key: DeviceKey) -> None:
        now_ms = self._db.clock.epoch_ms()
        if key.last_used_at is not None and key.last_used_at > stamp_of(now_ms - USE_MS):
            return
        try:
            await self._keys.last_used(key.key_id, stamp_of(now_ms))
        except ConditionFailed:
            # Another request of the same moment noted it.
            return
        except TablesError as error:
            log.warning("the use of a device key was not noted", exc_info=error)
