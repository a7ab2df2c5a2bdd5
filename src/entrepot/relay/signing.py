"""Standard Webhooks: how a destination knows that a delivery is ours, and whole."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Sequence

PREFIX = "whsec_"
SECRET_BYTES = 24


def new_secret() -> str:
    """A secret for one connection, in the form that the libraries of Standard Webhooks take."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signed_headers(
    keys: Sequence[str], *, webhook_id: str, timestamp_seconds: int, body: bytes
) -> dict[str, str]:
    """The three headers of a delivery, with a signature of every key: while one is rotated, both are good."""
    signatures = [signature(key, f"{webhook_id}.{timestamp_seconds}.".encode() + body) for key in keys]
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(timestamp_seconds),
        "webhook-signature": " ".join(signatures),
    }


def signature(key: str, content: bytes) -> str:
    """One signature: `v1,` and the base64 of HMAC-SHA256."""
    digest = hmac.new(_key_bytes(key), content, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


def _key_bytes(key: str) -> bytes:
    text = key.removeprefix(PREFIX)
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        # A secret that a person chose for themselves.
        return text.encode()
