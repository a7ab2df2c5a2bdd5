"""The settings that belong to no single service."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Meta

from entrepot.settings.declaration import Section, says

KIB = 1024
MIB = 1024 * KIB

ADMIN_TOKEN_CHARACTERS_MIN = 16
SECRET_KEY_CHARACTERS_MIN = 32

_STORE = re.compile(r"embedded|dynamodb://[a-z0-9-]+(\?[^#\s]*)?")


def _store(value: str) -> str | None:
    if _STORE.fullmatch(value):
        return None
    return "expected embedded or dynamodb://REGION[?endpoint=URL&prefix=P]"


def _public_url(value: str) -> str | None:
    parts = urlsplit(value)
    if parts.scheme in ("http", "https") and parts.hostname and parts.path in ("", "/") and not parts.query:
        return None
    return "expected http(s)://HOST[:PORT] without a path"


def _networks(values: tuple[str, ...]) -> str | None:
    for value in values:
        try:
            ipaddress.ip_network(value)
        except ValueError:
            return f"{value!r} is not an address or a network like 10.0.0.0/8"
    return None


class Core(Section, frozen=True, kw_only=True):
    """What the process itself needs to know."""

    host: Annotated[str, says("the address to listen on")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535), says("the port to listen on; 0 takes a free one")] = 8080
    data_dir: Annotated[str, says("where the embedded store, keys and locks are kept")] = "./data"
    store: Annotated[
        str, says("the store: embedded, or dynamodb://REGION[?endpoint=URL&prefix=P]", check=_store)
    ] = "embedded"
    postgres_url: Annotated[
        str | None, says("the PostgreSQL of the fleet service; none: one of our own", secret=True)
    ] = None
    admin_token: Annotated[
        Annotated[str, Meta(min_length=ADMIN_TOKEN_CHARACTERS_MIN)] | None,
        says("the bearer token that makes a caller the operator; none: no such token", secret=True),
    ] = None
    secret_key: Annotated[
        Annotated[str, Meta(min_length=SECRET_KEY_CHARACTERS_MIN)] | None,
        says("the key that seals secrets and signs cursors; none: made in the data directory", secret=True),
    ] = None
    secret_keys_old: Annotated[
        tuple[str, ...], says("earlier secret keys, which still open what they sealed", secret=True)
    ] = ()
    signup: Annotated[Literal["open", "closed", "invite"], says("who may make an account")] = "invite"
    public_url: Annotated[str | None, says("the address that people and senders see", check=_public_url)] = (
        None
    )
    trusted_proxies: Annotated[
        tuple[str, ...], says("networks whose forwarded addresses are believed", check=_networks)
    ] = ()
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], says("the least level that is logged")
    ] = "info"
    log_format: Annotated[
        Literal["auto", "text", "json"], says("how logs look; auto is text on a terminal, else JSON")
    ] = "auto"
    body_bytes_max: Annotated[
        int, Meta(ge=1), says("the largest request body, unless a route says otherwise")
    ] = MIB
    header_bytes_max: Annotated[int, Meta(ge=KIB), says("the largest head of a request")] = 32 * KIB
    request_timeout_seconds: Annotated[
        float, Meta(gt=0, le=3600), says("how long a request may take until its answer starts")
    ] = 30.0
    testing: Annotated[bool, says("allows the settings that are for tests only")] = False
    clock_offset_seconds: Annotated[float, says("moves the clock, for tests", testing=True)] = 0.0
    chaos: Annotated[
        str,
        says("how unkind the embedded store is: index_lag_ms=500,throttle=0.05", testing=True),
    ] = ""
