"""Records of calls that were made with an Idempotency-Key: the first answer is the answer for a day."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from msgspec import Struct

from entrepot.clock import Clock
from entrepot.tables import AlreadyExists, ConditionFailed, Database, NotFound, OutcomeUnknown, attr
from entrepot.work.claims import new_lease_id
from entrepot.work.model import IDEMPOTENCY_SECONDS, IdempotencyRecord, IdempotencyRecords

# A call that has not ended after this time was cut off, and may be made again.
LEASE_SECONDS = 60
ANSWER_BYTES_MAX = 256 * 1024


class Answer(Struct, frozen=True):
    """An answer as it was given; without a body when that was too large to keep."""

    status: int
    headers: dict[str, str]
    body: bytes | None


class Begun(Struct, frozen=True):
    """The call is the first with its key and may be made; it ends with `keep` or `forget`."""

    caller: str
    key: str
    lease_id: str


class Running(Struct, frozen=True):
    """The same call is under way."""


class Reused(Struct, frozen=True):
    """The key was used for another call."""


class Idempotency:
    """Makes sure that a call with a key is made once."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._records = IdempotencyRecords(db)

    async def begin(self, caller: str, key: str, fingerprint: str) -> Begun | Running | Reused | Answer:
        """Begin a call, or say what became of the first with this key."""
        # The key is the caller's text, and may be anything: its digest is what fits into a key.
        key = hashlib.sha256(key.encode()).hexdigest()
        lease_id = new_lease_id()
        record = IdempotencyRecord(
            caller=caller,
            key=key,
            fingerprint=fingerprint,
            leaseId=lease_id,
            leaseUntilMs=self._clock.epoch_ms() + LEASE_SECONDS * 1000,
            expiresAt=self._clock.epoch_seconds() + IDEMPOTENCY_SECONDS,
        )
        try:
            await self._db.create(record)
            return Begun(caller, key, lease_id)
        except AlreadyExists as exists:
            found = exists.item
        if not isinstance(found, IdempotencyRecord):
            return Running()
        if found.fingerprint != fingerprint:
            return Reused()
        if found.status is not None:
            return Answer(found.status, found.headers, found.body)
        if found.leaseUntilMs > self._clock.epoch_ms():
            return Running()
        return await self._take_over(record, found)

    async def keep(self, begun: Begun, answer: Answer) -> None:
        """Keep the answer for whoever repeats the call."""
        body = answer.body if answer.body is not None and len(answer.body) <= ANSWER_BYTES_MAX else None
        changes = [
            attr(IdempotencyRecord.status).set(answer.status),
            attr(IdempotencyRecord.headers).set(dict(answer.headers)),
            attr(IdempotencyRecord.body).set(body),
            attr(IdempotencyRecord.leaseId).remove(),
        ]
        try:
            await self._db.update(
                self._records.one(begun.caller, begun.key),
                *changes,
                when=attr(IdempotencyRecord.leaseId) == begun.lease_id,
            )
        except (ConditionFailed, OutcomeUnknown):
            # It took longer than its lease and another made the call too: that one's answer stands.
            return

    async def forget(self, begun: Begun) -> None:
        """The call changed nothing: whoever repeats it makes it anew."""
        try:
            await self._db.delete(
                self._records.one(begun.caller, begun.key),
                when=attr(IdempotencyRecord.leaseId) == begun.lease_id,
            )
        except (ConditionFailed, OutcomeUnknown):
            return

    async def _take_over(self, record: IdempotencyRecord, found: IdempotencyRecord) -> Begun | Running:
        """The first was cut off; of those who repeat it, one goes on."""
        try:
            await self._db.replace(record, when=attr(IdempotencyRecord.leaseId) == found.leaseId)
        except NotFound:
            return Running()
        except (ConditionFailed, OutcomeUnknown):
            return Running()
        return Begun(record.caller, record.key, record.leaseId or "")


def fingerprint_of(*parts: bytes) -> str:
    """One digest of all that makes two calls the same."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an answer that are its own, and no secret."""
    return {name: headers[name] for name in ("content-type", "location", "etag") if name in headers}
