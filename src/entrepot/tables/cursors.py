"""Cursors: where a list goes on, sealed so that only the list that gave it takes it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

import msgspec

from entrepot.engine.values import Item, from_wire, to_wire
from entrepot.tables.errors import InvalidCursor

TAG_BYTES = 16
CURSOR_CHARACTERS_MAX = 8192


class Cursors:
    """Seals and opens cursors with a key."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, scope: str, last: Item) -> str:
        """A cursor that leads past the item with this key, for the list of this scope."""
        payload = msgspec.msgpack.encode({name: to_wire(value) for name, value in last.items()})
        return base64.urlsafe_b64encode(self._tag(scope, payload) + payload).rstrip(b"=").decode()

    def open(self, scope: str, cursor: str) -> Item:
        """The key that a cursor leads past; refused when this list did not give it."""
        if len(cursor) > CURSOR_CHARACTERS_MAX:
            raise InvalidCursor("this cursor was not given by this list")
        try:
            sealed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise InvalidCursor("this cursor was not given by this list") from None
        tag, payload = sealed[:TAG_BYTES], sealed[TAG_BYTES:]
        if not hmac.compare_digest(tag, self._tag(scope, payload)):
            raise InvalidCursor("this cursor was not given by this list")
        decoded = msgspec.msgpack.decode(payload, type=dict[str, dict[str, str]])
        return {name: from_wire(value) for name, value in decoded.items()}

    def _tag(self, scope: str, payload: bytes) -> bytes:
        bound = scope.encode()
        message = len(bound).to_bytes(4, "big") + bound + payload
        return hmac.new(self._key, message, hashlib.sha256).digest()[:TAG_BYTES]
