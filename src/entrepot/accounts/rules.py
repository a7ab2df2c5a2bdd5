"""Pure decisions: what an e-mail, a password and a link may be, how long things live, who is cross-site."""

from __future__ import annotations

import hashlib
import ipaddress
import re
from typing import Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from entrepot.http.problems import FieldError

PASSWORD_CHARACTERS_MIN = 8
# bcrypt reads no further: a longer password would be cut in silence.
PASSWORD_BYTES_MAX = 72

SESSION_SECONDS = 14 * 24 * 3600
SESSION_RENEWED_SECONDS = SESSION_SECONDS // 2
FRESH_SECONDS = 10 * 60
KEY_USE_SECONDS = 5 * 60

INVITE_SECONDS = 7 * 24 * 3600
FIRST_SECONDS = 3600
RESET_SECONDS = 3600

FAILURE_WINDOW_SECONDS = 15 * 60
FAILURES_OF_PAIR_MAX = 10
FAILURES_OF_ADDRESS_MAX = 100
IPV6_SITE_BITS = 64

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

EMAIL_CHARACTERS_MAX = 254
EMAIL_PATTERN = r"^[^\s@\x00-\x1f\x7f]{1,64}@[^\s@\x00-\x1f\x7f]{1,189}$"
NAME_PATTERN = r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"
LOCALE_PATTERN = r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$"
TIME_ZONE_PATTERN = r"^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$"

_TIME_ZONE = re.compile(TIME_ZONE_PATTERN)
_LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")

Signup = Literal["open", "closed", "invite"]
Purpose = Literal["invite", "first", "reset"]


def password_errors(password: str, field: str = "password") -> list[FieldError]:
    """What is wrong with a new password."""
    if len(password) < PASSWORD_CHARACTERS_MIN:
        text = f"has {len(password)} characters; at least {PASSWORD_CHARACTERS_MIN} are needed"
        return [FieldError(field, text)]
    size = len(password.encode())
    if size > PASSWORD_BYTES_MAX:
        return [FieldError(field, f"is {size} bytes long; at most {PASSWORD_BYTES_MAX} can be kept")]
    if "\0" in password:
        return [FieldError(field, "holds a NUL character, which can't be kept")]
    return []


def can_be_password(password: str) -> bool:
    """Whether anyone can have this password; one that can't be is wrong, like any other wrong one."""
    return len(password.encode()) <= PASSWORD_BYTES_MAX and "\0" not in password


def time_zone_errors(name: str) -> list[FieldError]:
    """Whether the zone is one of the IANA database."""
    try:
        if _TIME_ZONE.match(name):
            ZoneInfo(name)
            return []
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # A directory of the database, like "Europe", is an OSError.
        pass
    return [FieldError("timeZone", f"{name[:80]!r} is no time zone, like Europe/Berlin")]


def digest(secret: str) -> str:
    """What is kept of a random secret: it can be found by it, and not made from it."""
    return hashlib.sha256(secret.encode()).hexdigest()


def subject(*parts: str) -> str:
    """The name under which failures are counted; a digest, so that no e-mail stands in a key."""
    return digest("\n".join(parts))


def counted_address(address: str) -> str:
    """The address that failures are counted under: of IPv6 the whole network of a site, which chooses freely in it."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, IPV6_SITE_BITS), strict=False))
    return str(parsed)


def is_email(text: str) -> bool:
    """Whether an account can have this e-mail."""
    return len(text) <= EMAIL_CHARACTERS_MAX and re.match(EMAIL_PATTERN, text) is not None


def renews(*, now: int, expires: int) -> bool:
    """Whether a session has passed half of its time."""
    return expires - now <= SESSION_RENEWED_SECONDS


def is_fresh(*, now: int, began: int) -> bool:
    """Whether a session is young enough to stand in for a password."""
    return now - began < FRESH_SECONDS


class Fetch(msgspec.Struct, frozen=True, kw_only=True):
    """What a browser says about where a request comes from, and what we are called."""

    method: str
    site: str | None
    origin: str | None
    host: str
    public_url: str | None


def is_cross_site(fetch: Fetch) -> bool:
    """Whether another site makes this browser change something here.

    Browsers say so in Sec-Fetch-Site; older ones send an Origin. A request with neither is no browser's, and brings no
    cookie that it was not given.
    """
    if fetch.method in SAFE_METHODS:
        return False
    if fetch.site is not None:
        return fetch.site not in ("same-origin", "none")
    if fetch.origin is None:
        return False
    ours = {fetch.host.lower()}
    if fetch.public_url is not None:
        ours.add(urlsplit(fetch.public_url).netloc.lower())
    return urlsplit(fetch.origin).netloc.lower() not in ours


def cookie_is_secure(*, scheme: str, host: str, public_url: str | None) -> bool:
    """Whether a cookie is for https only: always, but on loopback and where the public address itself is http."""
    if scheme == "https":
        return True
    name = host_name(host)
    if name in _LOOPBACK_HOSTS or name.endswith(".localhost"):
        return False
    public = urlsplit(public_url or "")
    return not (public.scheme == "http" and public.hostname == name)


def host_name(host: str) -> str:
    """The name of a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def is_own_path(path: str) -> bool:
    """Whether a browser that is sent to this path stays here."""
    return re.match(r"^/(?![/\\])[^\x00-\x20\\]*$", path) is not None
