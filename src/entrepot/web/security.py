"""The headers that every answer carries, errors included."""

from __future__ import annotations

Headers = list[tuple[bytes, bytes]]

# For answers that are data. A page brings a policy of its own.
DATA_POLICY = b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
HSTS = (b"strict-transport-security", b"max-age=31536000")

SECURITY_HEADERS: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=()"),
]

_DEFAULTS: Headers = [
    (b"content-security-policy", DATA_POLICY),
    (b"cache-control", b"no-store"),
]


def secured(headers: Headers, *, https: bool) -> Headers:
    """These headers with ours added; a policy or caching that the answer chose stays."""
    given = {name.lower() for name, _ in headers}
    result = [*headers, *SECURITY_HEADERS, *[header for header in _DEFAULTS if header[0] not in given]]
    if https:
        result.append(HSTS)
    return result
