"""The hot lane: the few paths that devices and senders call all day, served without a framework's cost."""

from __future__ import annotations

from collections.abc import Mapping

from entrepot.http.asgi import ASGIApp, Receive, Scope, Send
from entrepot.http.exchange import exchange_of


class HotLane:
    """Sends a path to its lane, all else to the framework.

    A lane's path that ends in a slash means everything below it; any other means exactly itself.
    """

    def __init__(self, lanes: Mapping[str, ASGIApp], otherwise: ASGIApp) -> None:
        for path in lanes:
            if not path.startswith("/") or path == "/":
                raise ValueError(f"a lane's path starts with a slash and names something, not {path!r}")
        self._exact = {path: lane for path, lane in lanes.items() if not path.endswith("/")}
        # The longest first, so that a lane within another's path gets its own.
        below = sorted((path for path in lanes if path.endswith("/")), key=len, reverse=True)
        self._below = [(path, lanes[path]) for path in below]
        self._prefixes = tuple(below)
        self._otherwise = otherwise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        lane = self._exact.get(path)
        if lane is not None:
            exchange_of(scope).route = path
            await lane(scope, receive, send)
        elif path.startswith(self._prefixes):
            prefix, lane = next(entry for entry in self._below if path.startswith(entry[0]))
            exchange_of(scope).route = prefix
            await lane(scope, receive, send)
        else:
            await self._otherwise(scope, receive, send)
