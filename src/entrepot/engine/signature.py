"""Signatures: AWS Signature Version 4, in the headers or in the query of a request.

By default any signature will do (`demand_some_credentials`); with keys, `Signatures` verifies it. What is
wrong is told in DynamoDB's words and in its order: what is missing, the date, what is signed, the algorithm,
the scope, the key, the signature itself.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote_to_bytes

from entrepot.engine.errors import Refused

ALGORITHM = "AWS4-HMAC-SHA256"
SKEW_SECONDS = 15 * 60
PRESIGNED_SECONDS_MAX = 7 * 24 * 3600
SIGNING_KEYS_KEPT = 64

Scope = dict[str, Any]

_BASIC_DATE = "%Y%m%dT%H%M%SZ"
_REGION = re.compile(r"[a-z0-9-]{2,}")
_SCOPE_PARTS = 5
_UNRESERVED = "-_.~"
_HEADER_PARAMETERS = ("Credential", "Signature", "SignedHeaders")
_ENOUGH = (b"Credential=", b"SignedHeaders=", b"Signature=")
_QUERY_PARAMETERS = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Signature",
    "X-Amz-SignedHeaders",
    "X-Amz-Date",
)


class Given(NamedTuple):
    """A signature as a request gives it."""

    algorithm: str
    credential: str
    signed_headers: str
    signature: str
    date: str
    lifetime_seconds: int | None = None
    token: str | None = None


def demand_some_credentials(scope: Scope, body: bytes) -> None:
    """Any signature will do, but there must be one: a client without credentials would fail in the cloud."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    given = headers.get(b"authorization", b"")
    if (
        given.startswith(b"AWS4-")
        and b"x-amz-date" in headers
        and not scope["query_string"]
        and all(parameter in given for parameter in _ENOUGH)
    ):
        # As an SDK signs: nothing more is asked of it, and every request comes by here.
        return
    read_signature(scope)


class Signatures:
    """Accepts requests that one of the known secrets has signed."""

    def __init__(self, secrets: Mapping[str, str], clock: Callable[[], float] = time.time) -> None:
        self._secrets = dict(secrets)
        self._clock = clock

    def __call__(self, scope: Scope, body: bytes) -> None:
        given = read_signature(scope)
        moment = _read_date(given.date)
        self._demand_current(given, moment)
        signed = given.signed_headers.lower().split(";")
        if "host" not in signed:
            raise _invalid("'Host' must be a 'SignedHeader' in the AWS Authorization.")
        if given.algorithm != ALGORITHM:
            raise _incomplete(
                f"Unsupported AWS 'algorithm': '{given.algorithm}' (only {ALGORITHM} for now). "
            )
        key_id, *credential_scope = _read_credential(given.credential, moment)
        secret = self._secrets.get(key_id)
        if secret is None:
            raise _unrecognized("The security token included in the request is invalid.")
        request = canonical_request(scope, body, signed)
        expected = sign(secret, tuple(credential_scope), f"{moment:{_BASIC_DATE}}", request)
        if not hmac.compare_digest(expected.encode(), given.signature.encode()):
            raise _invalid(
                "The request signature we calculated does not match the signature you provided. Check your AWS "
                "Secret Access Key and signing method. Consult the service documentation for details."
            )
        if given.token is not None:
            # Session tokens come from a service that is not here: none can be right.
            raise _unrecognized("The security token included in the request is invalid")

    def _demand_current(self, given: Given, moment: datetime) -> None:
        now = self._clock()
        lifetime = SKEW_SECONDS if given.lifetime_seconds is None else given.lifetime_seconds
        if moment.timestamp() < now - lifetime:
            raise _invalid(
                f"Signature expired: {moment:{_BASIC_DATE}} is now earlier than {_basic(now - lifetime)} "
                f"({_basic(now)} - {_minutes(lifetime)} min.)"
            )
        if moment.timestamp() > now + SKEW_SECONDS:
            raise _invalid(
                f"Signature not yet current: {moment:{_BASIC_DATE}} is still later than "
                f"{_basic(now + SKEW_SECONDS)} ({_basic(now)} + {_minutes(SKEW_SECONDS)} min.)"
            )


def read_signature(scope: Scope) -> Given:
    """The signature of a request, with all its parts."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    authorization = headers.get(b"authorization", b"").decode("latin-1").strip()
    query = scope.get("query_string", b"")
    in_query = b"X-Amz-Algorithm=" in query
    if authorization and in_query:
        raise _invalid(
            "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
        )
    if in_query:
        return _read_query(query)
    if not authorization.startswith("AWS4-"):
        raise Refused("MissingAuthenticationTokenException", "Request is missing Authentication Token")
    return _read_header(authorization, headers)


def _read_header(authorization: str, headers: dict[bytes, bytes]) -> Given:
    algorithm, _, rest = authorization.partition(" ")
    parts = {}
    for part in rest.replace(",", " ").split():
        name, equals, value = part.partition("=")
        if not equals:
            raise _incomplete(
                f"'{name}' not a valid key=value pair (missing equal-sign) in Authorization header: "
                f"'{authorization}'."
            )
        parts[name] = value
    missing = "".join(
        f"Authorization header requires '{name}' parameter. "
        for name in _HEADER_PARAMETERS
        if not parts.get(name)
    )
    date = headers.get(b"x-amz-date") or headers.get(b"date")
    if date is None:
        missing += "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
    if missing or date is None:
        raise _incomplete(f"{missing}Authorization={authorization}")
    token = headers.get(b"x-amz-security-token")
    return Given(
        algorithm=algorithm,
        credential=parts["Credential"],
        signed_headers=parts["SignedHeaders"],
        signature=parts["Signature"],
        date=date.decode("latin-1"),
        token=None if token is None else token.decode("latin-1"),
    )


def _read_query(query: bytes) -> Given:
    given = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    missing = "".join(
        f"AWS query-string parameters must include '{name}'. "
        for name in _QUERY_PARAMETERS
        if not given.get(name)
    )
    if missing:
        raise _incomplete(f"{missing}Re-examine the query-string parameters.")
    lifetime = given.get("X-Amz-Expires")
    if lifetime is not None and not (lifetime.isdecimal() and int(lifetime) <= PRESIGNED_SECONDS_MAX):
        raise _invalid(f"X-Amz-Expires must be a number of seconds between 0 and {PRESIGNED_SECONDS_MAX}")
    return Given(
        algorithm=given["X-Amz-Algorithm"],
        credential=given["X-Amz-Credential"],
        signed_headers=given["X-Amz-SignedHeaders"],
        signature=given["X-Amz-Signature"],
        date=given["X-Amz-Date"],
        lifetime_seconds=None if lifetime is None else int(lifetime),
        token=given.get("X-Amz-Security-Token"),
    )


def _read_date(text: str) -> datetime:
    try:
        return datetime.strptime(text, _BASIC_DATE).replace(tzinfo=UTC)
    except ValueError:
        pass
    try:
        # The plain Date header is as HTTP has it.
        return parsedate_to_datetime(text).astimezone(UTC)
    except ValueError:
        raise _incomplete(
            f"Date must be in ISO-8601 'basic format'. Got '{text}'. See http://en.wikipedia.org/wiki/ISO_8601"
        ) from None


def _read_credential(credential: str, moment: datetime) -> list[str]:
    """The id of a key, and the date, region, service and terminator that a signature is good for."""
    parts = credential.rstrip("/").split("/")
    if len(parts) != _SCOPE_PARTS:
        raise _incomplete(
            f"Credential must have exactly {_SCOPE_PARTS} slash-delimited elements, e.g. "
            f"keyid/date/region/service/term, got '{credential}'"
        )
    _, date, region, service, terminator = parts
    wrong = []
    if not _REGION.fullmatch(region):
        wrong.append(f"Credential should be scoped to a valid region, not '{region}'. ")
    if service != "dynamodb":
        wrong.append("Credential should be scoped to correct service: 'dynamodb'. ")
    if terminator != "aws4_request":
        wrong.append(
            f"Credential should be scoped with a valid terminator: 'aws4_request', not '{terminator}'. "
        )
    if date != f"{moment:%Y%m%d}":
        wrong.append(
            f"Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            f"'{date}' != '{moment:%Y%m%d}', from '{moment:{_BASIC_DATE}}'."
        )
    if wrong:
        raise _invalid("".join(wrong).rstrip())
    return parts


def canonical_request(scope: Scope, body: bytes, signed_headers: list[str]) -> str:
    """A request in the one form that both sides sign."""
    values: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        values.setdefault(name.decode("latin-1").lower(), []).append(
            " ".join(value.decode("latin-1").split())
        )
    lines = [f"{name}:{','.join(values.get(name, ()))}\n" for name in signed_headers]
    path = scope.get("raw_path") or scope["path"].encode()
    return "\n".join(
        (
            scope["method"],
            quote(path, safe="/" + _UNRESERVED),
            _canonical_query(scope.get("query_string", b"")),
            "".join(lines),
            ";".join(signed_headers),
            hashlib.sha256(body).hexdigest(),
        )
    )


def _canonical_query(query: bytes) -> str:
    pairs = []
    for part in query.split(b"&"):
        name, _, value = part.partition(b"=")
        if part and name != b"X-Amz-Signature":
            pairs.append(tuple(quote(unquote_to_bytes(text), safe=_UNRESERVED) for text in (name, value)))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def sign(secret: str, credential_scope: tuple[str, ...], moment: str, request: str) -> str:
    """The signature of a canonical request."""
    hashed = hashlib.sha256(request.encode("latin-1")).hexdigest()
    text = "\n".join((ALGORITHM, moment, "/".join(credential_scope), hashed))
    return hmac.digest(_signing_key(secret, credential_scope), text.encode(), "sha256").hex()


@lru_cache(SIGNING_KEYS_KEPT)
def _signing_key(secret: str, credential_scope: tuple[str, ...]) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in credential_scope:
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _basic(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime(_BASIC_DATE)


def _minutes(seconds: int) -> str:
    return f"{seconds / 60:g}"


def _invalid(message: str) -> Refused:
    return Refused("InvalidSignatureException", message)


def _incomplete(message: str) -> Refused:
    return Refused("IncompleteSignatureException", message)


def _unrecognized(message: str) -> Refused:
    return Refused("UnrecognizedClientException", message)
