"""Opens the store that a setting names: `embedded`, or `dynamodb://REGION[?endpoint=URL&prefix=P]`."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from entrepot.engine import Engine
from entrepot.tables.stores.prefixed import PrefixedStore
from entrepot.tables.stores.protocol import Store

EMBEDDED = "embedded"


async def open_store(setting: str, *, path: str | Path) -> Store:
    """The embedded engine on `path`, or the remote store; a setting that is neither is a ValueError."""
    if setting == EMBEDDED:
        return await Engine.open(path)
    parts = urlsplit(setting)
    options = parse_qs(parts.query, strict_parsing=bool(parts.query))
    unknown = set(options) - {"endpoint", "prefix"}
    if parts.scheme != "dynamodb" or not parts.netloc or parts.path not in ("", "/") or unknown:
        raise ValueError(f"{setting!r} is neither 'embedded' nor 'dynamodb://REGION[?endpoint=URL&prefix=P]'")
    # Only a remote store pays for loading botocore and aiohttp.
    from entrepot.tables.stores.remote import RemoteStore

    remote = await RemoteStore.open(parts.netloc, endpoint=options.get("endpoint", [None])[0])
    prefix = options.get("prefix", [""])[0]
    return PrefixedStore(remote, prefix) if prefix else remote
