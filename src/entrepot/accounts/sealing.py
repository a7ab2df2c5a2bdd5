"""Secrets of others, sealed: AES-256-GCM under the installation's key, with older keys that still open.

sealer = Sealer([key, *older])
kept = sealer.seal("whsec_…", purpose="relay.source:src_1")
sealer.open(kept, purpose="relay.source:src_1")
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

VERSION = "s1"
NONCE_BYTES = 12
_KEY_ID_CHARACTERS = 8


class SealBroken(Exception):
    """What was to be opened is not what was sealed, or not for this purpose, or its key is not here."""


class Sealer:
    """Seals with the first key; opens with any. What a seal is for is part of it: moved elsewhere it won't open."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys:
            raise ValueError("a sealer needs a key")
        derived = [hmac.new(key, b"entrepot seal", hashlib.sha256).digest() for key in keys]
        self._ciphers = {_key_id(key): AESGCM(key) for key in reversed(derived)}
        self._current = _key_id(derived[0])

    def seal(self, secret: str, *, purpose: str) -> str:
        """The secret as it may be stored."""
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._ciphers[self._current].encrypt(nonce, secret.encode(), purpose.encode())
        return f"{VERSION}.{self._current}.{base64.urlsafe_b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, *, purpose: str) -> str:
        """The secret again; raises SealBroken."""
        version, _, rest = sealed.partition(".")
        key_id, _, text = rest.partition(".")
        cipher = self._ciphers.get(key_id)
        if version != VERSION or cipher is None:
            raise SealBroken(f"sealed as {version[:8]!r} with the key {key_id[:8]!r}, which is not here")
        try:
            data = base64.b64decode(text.encode(), altchars=b"-_", validate=True)
            return cipher.decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], purpose.encode()).decode()
        except (binascii.Error, InvalidTag, ValueError):
            raise SealBroken(f"the seal of {purpose!r} is broken") from None

    def is_current(self, sealed: str) -> bool:
        """Whether it is sealed with the newest key; if not, seal it again when next written."""
        return sealed.startswith(f"{VERSION}.{self._current}.")


def _key_id(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:_KEY_ID_CHARACTERS]
