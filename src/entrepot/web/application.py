"""The assembled application: edge, hot lane, framework, and the life of the parts behind them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from litestar.types import ControllerRouterHandler

from entrepot.http.asgi import ASGIApp, Receive, Scope, Send
from entrepot.http.caller import Authenticator
from entrepot.http.peer import Peers
from entrepot.web.edge import Edge, Limits
from entrepot.web.frame import frame
from entrepot.web.health import health_routes
from entrepot.web.lane import HotLane
from entrepot.web.metrics import Metrics
from entrepot.web.parts import Part, Parts

log = logging.getLogger(__name__)


class Application:
    """An ASGI application with its parts; `drain` is told when the process is about to stop."""

    def __init__(self, http: ASGIApp, parts: Parts) -> None:
        self._http = http
        self.parts = parts
        self.start_error: Exception | None = None
        """Why a part did not start."""
        self.first_path: Callable[[], str | None] = lambda: None
        """Where the operator is made, once started and as long as there is none."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)

    def drain(self) -> None:
        """From now on `/readyz` says that this process is stopping."""
        self.parts.draining = True

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.parts.start()
        except Exception as error:
            # The server stops on this message; whoever started it says why in one line.
            log.debug("a part did not start", exc_info=error)
            self.start_error = error
            await send({"type": "lifespan.startup.failed", "message": ""})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.parts.stop()
        await send({"type": "lifespan.shutdown.complete"})


def assemble(
    *,
    parts: Sequence[Part],
    limits: Limits,
    authenticator: Authenticator,
    log_key: bytes,
    metrics: Metrics | None = None,
    peers: Peers | None = None,
    routes: Sequence[ControllerRouterHandler] = (),
    lanes: Mapping[str, ASGIApp] | None = None,
) -> Application:
    """Put the application together from its parts, routes and lanes."""
    metrics = metrics or Metrics()
    all_parts = Parts(parts)
    framework = frame([*health_routes(all_parts, metrics), *routes], authenticator)
    edge = Edge(
        HotLane(lanes or {}, framework),
        limits=limits,
        peers=peers or Peers(()),
        metrics=metrics,
        log_key=log_key,
    )
    return Application(edge, all_parts)
