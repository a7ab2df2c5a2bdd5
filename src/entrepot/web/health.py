"""Is the process alive, can it serve, and what has it counted."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler

from entrepot.http.caller import anyone, caller_of
from entrepot.http.exchange import exchange_of
from entrepot.http.problems import Forbidden, Unauthenticated, Unavailable
from entrepot.web.metrics import CONTENT_TYPE, Metrics
from entrepot.web.parts import Parts

_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


class Alive(msgspec.Struct, frozen=True):
    status: Literal["alive"] = "alive"


class Ready(msgspec.Struct, frozen=True):
    """Each part that was asked, and what it said."""

    parts: dict[str, Literal["ok"]]
    status: Literal["ready"] = "ready"


def health_routes(parts: Parts, metrics: Metrics) -> list[HTTPRouteHandler]:
    """The routes that whoever runs the process asks."""

    @get("/healthz", guards=[anyone], tags=["Operation"], summary="Is the process alive?")
    async def healthz() -> Alive:
        """Answers as long as the process does; asks no store."""
        return Alive()

    @get("/readyz", guards=[anyone], tags=["Operation"], summary="Can it serve?")
    async def readyz() -> Ready:
        """Asks every store; 503 names the part that is down."""
        if parts.draining:
            raise Unavailable("The server is stopping.", code="STOPPING")
        complaints = await parts.check()
        down = {name: complaint for name, complaint in complaints.items() if complaint is not None}
        if down:
            problem = Unavailable(
                "; ".join(f"{name}: {complaint}" for name, complaint in down.items()), code="NOT_READY"
            )
            problem.more["parts"] = {name: complaint or "ok" for name, complaint in complaints.items()}
            raise problem
        return Ready(dict.fromkeys(complaints, "ok"))

    @get(
        "/metrics",
        guards=[anyone],
        tags=["Operation"],
        summary="Counts, for Prometheus",
        media_type="text/plain",
    )
    async def metrics_text(request: Request[Any, Any, Any]) -> Response[bytes]:
        """Prometheus' text format; for programs on this machine, and for the operator."""
        if not _is_local(request):
            caller = await caller_of(request)
            if caller.kind == "anonymous":
                raise Unauthenticated
            if not caller.operator:
                raise Forbidden("This needs the operator.")
        return Response(metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    return [healthz, readyz, metrics_text]


def _is_local(request: Request[Any, Any, Any]) -> bool:
    # A page can make a browser on this machine ask us under the page's own name; that is no local program.
    host = request.headers.get("host", "").lower()
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return exchange_of(request.scope).peer.is_loopback and name in _LOOPBACK_NAMES
