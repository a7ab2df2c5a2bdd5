"""Is a request from whom it says? Signatures of providers, over the raw bytes, compared in constant time.

Stripe      https://docs.stripe.com/webhooks#verify-manually
GitHub      https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries
Shopify     https://shopify.dev/docs/apps/build/webhooks/subscribe/https
Slack       https://docs.slack.dev/authentication/verifying-requests-from-slack
Standard    https://www.standardwebhooks.com
Twilio      https://www.twilio.com/docs/usage/security
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Literal
from urllib.parse import parse_qsl

import msgspec

from entrepot.relay.errors import Rejected
from entrepot.relay.views import FORM, FORM_FIELDS_MAX

TOLERANCE_SECONDS = 300
SIGNATURES_MAX = 20
CUSTOM_HEADER = "x-signature"
STANDARD_PREFIX = "whsec_"


class Request(msgspec.Struct, frozen=True):
    """What of a request a signature is made over; header names are in lower case."""

    headers: Mapping[str, str]
    body: bytes
    url: str
    """The address as the sender knows it, with its query."""
    query: Mapping[str, str] = {}


class Scheme(msgspec.Struct, frozen=True, kw_only=True):
    """How a sender of one's own signs."""

    header: str | None = None
    algorithm: Literal["hmac-sha256", "hmac-sha512"] | None = None
    encoding: Literal["hex", "base64"] | None = None
    prefix: str | None = None


def verify(provider: str, secret: str, request: Request, now: int, scheme: Scheme | None = None) -> None:
    """Refuse a request that was not signed with this secret; raises Rejected with the cause."""
    if provider == "custom":
        _custom(secret, request, scheme or Scheme())
    else:
        _VERIFIERS[provider](secret, request, now)


def _stripe(secret: str, request: Request, now: int) -> None:
    header = _header(request, "stripe-signature")
    pairs = [part.strip().partition("=") for part in header.split(",")[:SIGNATURES_MAX]]
    stamp = next((value for name, _, value in pairs if name == "t"), "")
    _check_time(stamp, now)
    expected = _mac(secret.encode(), stamp.encode() + b"." + request.body).hex()
    _match([value for name, _, value in pairs if name == "v1"], expected)


def _github(secret: str, request: Request, _: int) -> None:
    given = _header(request, "x-hub-signature-256")
    _match([given], f"sha256={_mac(secret.encode(), request.body).hex()}")


def _shopify(secret: str, request: Request, _: int) -> None:
    given = _header(request, "x-shopify-hmac-sha256")
    _match([given], _base64(_mac(secret.encode(), request.body)))


def _slack(secret: str, request: Request, now: int) -> None:
    given, stamp = _header(request, "x-slack-signature"), _header(request, "x-slack-request-timestamp")
    _check_time(stamp, now)
    expected = _mac(secret.encode(), b"v0:" + stamp.encode() + b":" + request.body).hex()
    _match([given], f"v0={expected}")


def _standard(secret: str, request: Request, now: int) -> None:
    given, stamp = _header(request, "webhook-signature"), _header(request, "webhook-timestamp")
    id_ = _header(request, "webhook-id")
    _check_time(stamp, now)
    signed = f"{id_}.{stamp}.".encode() + request.body
    versions = [part.partition(",") for part in given.split(" ")[:SIGNATURES_MAX]]
    expected = _base64(_mac(standard_key(secret), signed))
    _match([value for version, _, value in versions if version == "v1"], expected)


def standard_key(secret: str) -> bytes:
    """The key in a secret of Standard Webhooks; one that is no base64 is taken as it is."""
    try:
        return base64.b64decode(secret.removeprefix(STANDARD_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return secret.encode()


def _twilio(secret: str, request: Request, _: int) -> None:
    given = _header(request, "x-twilio-signature")
    signed = request.url
    body_hash = request.query.get("bodySHA256")
    if body_hash is not None:
        actual = hashlib.sha256(request.body).hexdigest()
        if not _same(actual, body_hash.lower()):
            raise Rejected("signature_mismatch", "The body is not the one that was signed.")
    elif request.headers.get("content-type", "").partition(";")[0].strip().lower() == FORM:
        signed += _sorted_fields(request.body)
    elif request.body:
        raise Rejected("signature_missing", "A body that is no form needs bodySHA256 in the address.")
    _match([given], _base64(_mac(secret.encode(), signed.encode(), "sha1")))


def _sorted_fields(body: bytes) -> str:
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, max_num_fields=FORM_FIELDS_MAX, errors="strict"
        )
    except (UnicodeDecodeError, ValueError):
        raise Rejected("signature_mismatch", "The body is no form.") from None
    # A field that is repeated with the same value counts once, as Twilio's own libraries have it.
    return "".join(name + value for name, value in sorted(set(pairs)))


def _custom(secret: str, request: Request, scheme: Scheme) -> None:
    given = _header(request, (scheme.header or CUSTOM_HEADER).lower())
    prefix = scheme.prefix or ""
    if not given.startswith(prefix):
        raise Rejected("signature_malformed", f"The signature does not start with {prefix!r}.")
    algorithm = "sha512" if scheme.algorithm == "hmac-sha512" else "sha256"
    mac = _mac(secret.encode(), request.body, algorithm)
    if scheme.encoding == "base64":
        _match([given.removeprefix(prefix)], _base64(mac))
    else:
        _match([given.removeprefix(prefix).lower()], mac.hex())


_VERIFIERS: dict[str, Callable[[str, Request, int], None]] = {
    "stripe": _stripe,
    "github": _github,
    "shopify": _shopify,
    "slack": _slack,
    "standard": _standard,
    "twilio": _twilio,
}


def _header(request: Request, name: str) -> str:
    found = request.headers.get(name)
    if not found:
        raise Rejected("signature_missing", f"The header {name} is missing.")
    return found


def _check_time(stamp: str, now: int) -> None:
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):
        raise Rejected("timestamp_malformed", "The time of the signature is no number of seconds.")
    if abs(now - int(stamp)) > TOLERANCE_SECONDS:
        raise Rejected(
            "timestamp_out_of_tolerance", f"The signature is more than {TOLERANCE_SECONDS} s away from now."
        )


def _match(given: list[str], expected: str) -> None:
    # All are compared, so that the time it takes tells nothing.
    matches = [_same(signature, expected) for signature in given[:SIGNATURES_MAX]]
    if not any(matches):
        raise Rejected("signature_mismatch", "The signature is not of this body and secret.")


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())


def _mac(key: bytes, message: bytes, algorithm: str = "sha256") -> bytes:
    return hmac.new(key, message, algorithm).digest()


def _base64(mac: bytes) -> str:
    return base64.b64encode(mac).decode()
