"""Signature version 4 for the one shape of request that DynamoDB takes; the day's key is derived once."""

from __future__ import annotations

import hashlib
import hmac
import time
from typing import NamedTuple
from urllib.parse import quote, urlsplit

CONTENT_TYPE = "application/x-amz-json-1.0"
_ALGORITHM = "AWS4-HMAC-SHA256"
_SERVICE = "dynamodb"


class Keys(NamedTuple):
    """Credentials at one moment."""

    access_key: str
    secret_key: str
    token: str | None


class Signer:
    """Signs POST requests to one endpoint. What botocore's signer says of the same request is the same."""

    def __init__(self, endpoint: str, region: str) -> None:
        parts = urlsplit(endpoint)
        default_port = {"http": 80, "https": 443}[parts.scheme]
        host = parts.hostname or ""
        self._host = host if parts.port in (None, default_port) else f"{host}:{parts.port}"
        self._path = quote(parts.path or "/", safe="/~")
        self._region = region
        self._derived: tuple[str, str, bytes] = ("", "", b"")

    def headers(self, target: str, body: bytes, keys: Keys, *, now: float | None = None) -> dict[str, str]:
        """The headers of a signed request."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
        day = stamp[:8]
        token = f"x-amz-security-token:{keys.token}\n" if keys.token else ""
        names = "content-type;host;x-amz-date;" + ("x-amz-security-token;" if token else "") + "x-amz-target"
        canonical = (
            f"POST\n{self._path}\n\ncontent-type:{CONTENT_TYPE}\nhost:{self._host}\nx-amz-date:{stamp}\n"
            f"{token}x-amz-target:{target}\n\n{names}\n{hashlib.sha256(body).hexdigest()}"
        )
        scope = f"{day}/{self._region}/{_SERVICE}/aws4_request"
        text = f"{_ALGORITHM}\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        signature = hmac.digest(self._key(keys.secret_key, day), text.encode(), "sha256").hex()
        headers = {
            "Content-Type": CONTENT_TYPE,
            "X-Amz-Target": target,
            "X-Amz-Date": stamp,
            "Authorization": (
                f"{_ALGORITHM} Credential={keys.access_key}/{scope}, "
                f"SignedHeaders={names}, Signature={signature}"
            ),
        }
        if keys.token:
            headers["X-Amz-Security-Token"] = keys.token
        return headers

    def _key(self, secret: str, day: str) -> bytes:
        known_secret, known_day, key = self._derived
        if known_day == day and known_secret == secret:
            return key
        key = f"AWS4{secret}".encode()
        for part in (day, self._region, _SERVICE, "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        self._derived = (secret, day, key)
        return key
