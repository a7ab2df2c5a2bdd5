"""Pure decisions of receiving: what is kept of a request, what tells repeats apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from entrepot.relay.model import Source, SourceId
from entrepot.relay.views import MISSING, EventView, path_of

MASK = "***"
HEADERS_BYTES_MAX = 64 * 1024
DELIVERY_ID_CHARACTERS_MAX = 256
CHALLENGE_CHARACTERS_MAX = 1024

_MASKED = frozenset({"authorization", "cookie", "proxy-authorization"})
_ID_HEADERS = {
    "github": "x-github-delivery",
    "shopify": "x-shopify-webhook-id",
    "standard": "webhook-id",
    "twilio": "i-twilio-idempotency-token",
}
_ID_PATHS = {"stripe": "$.id", "slack": "$.event_id", "entrepot": "$.id"}


def source_seal(source_id: SourceId) -> str:
    """What the seal of a source's secret is for."""
    return f"relay.source:{source_id}"


def kept_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers as they are kept: by lower-case name, repeated ones joined, credentials masked."""
    kept: dict[str, str] = {}
    for name, value in read_headers(raw).items():
        kept[name] = MASK if name in _MASKED else value
    return kept


def read_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by lower-case name, repeated ones joined."""
    found: dict[str, str] = {}
    for name_bytes, value_bytes in raw:
        name, value = name_bytes.decode("latin-1").lower(), value_bytes.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def delivery_id_of(source: Source, view: EventView) -> str | None:
    """What the sender calls this delivery, in all of its repeats; None when nothing tells."""
    if source.dedupePath is not None:
        return _id_text(path_of(source.dedupePath).find(view))
    header = _ID_HEADERS.get(source.provider)
    if header is not None:
        return _id_text(view.headers.get(header, MISSING))
    path = _ID_PATHS.get(source.provider)
    return None if path is None else _id_text(path_of(path).find(view))


def delivery_key(delivery_id: str) -> str:
    """A delivery id as it can stand in a key: one that is long or has a key's separator is kept as its digest."""
    if (
        len(delivery_id) <= DELIVERY_ID_CHARACTERS_MAX
        and delivery_id.isprintable()
        and "#" not in delivery_id
    ):
        return delivery_id
    return "sha256:" + hashlib.sha256(delivery_id.encode("utf-8", "surrogatepass")).hexdigest()


def slack_challenge(source: Source, view: EventView) -> str | None:
    """The challenge of Slack's handshake, or None when this is none."""
    content = view.content if source.provider == "slack" else None
    if not isinstance(content, dict) or content.get("type") != "url_verification":
        return None
    challenge = content.get("challenge")
    return challenge[:CHALLENGE_CHARACTERS_MAX] if isinstance(challenge, str) else None


def hub_challenge(view: EventView) -> str | None:
    """The challenge of a WebSub handshake, or None when this is none."""
    challenge = view.query.get("hub.challenge") if view.method == "GET" else None
    return challenge[:CHALLENGE_CHARACTERS_MAX] if challenge else None


def json_text(value: Any) -> str:
    """A value as it is stored in a text attribute."""
    return msgspec.json.encode(value).decode()


def _id_text(found: Any) -> str | None:
    if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
        return None
    return str(found)
