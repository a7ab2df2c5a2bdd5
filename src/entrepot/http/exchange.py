"""One request and its answer: what the edge found out about it, for whoever handles it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from entrepot.http.peer import Peer
from entrepot.http.trace import Trace

if TYPE_CHECKING:
    from entrepot.http.caller import Caller

_KEY = "entrepot.exchange"


class Exchange:
    """A request under way; the fields that a handler may set say so."""

    __slots__ = (
        "answer_headers",
        "body_bytes_max",
        "caller",
        "client_left",
        "facts",
        "instance",
        "peer",
        "request_id",
        "route",
        "trace",
    )

    def __init__(
        self, *, request_id: str, trace: Trace, peer: Peer, instance: str, body_bytes_max: int
    ) -> None:
        self.request_id = request_id
        self.trace = trace
        self.peer = peer
        self.instance = instance
        self.body_bytes_max = body_bytes_max
        """The largest body; a handler may set another before it reads."""
        self.answer_headers: list[tuple[bytes, bytes]] = []
        """Headers that the answer carries whoever makes it, like cookies; set by guards and handlers."""
        self.client_left = False
        """Whether the caller hung up; set by the edge."""
        self.caller: Caller | None = None
        """Who calls; set by the guards."""
        self.route = ""
        """The route's template, for logs and metrics; set by whoever dispatches."""
        self.facts: dict[str, Any] = {}
        """What a handler adds to the request's log line; never a secret."""


def exchange_of(scope: Mapping[str, Any]) -> Exchange:
    """The exchange of an ASGI scope."""
    found = scope[_KEY]
    if not isinstance(found, Exchange):
        raise TypeError(f"the scope's exchange is a {type(found).__name__}")
    return found


def attach(scope: Any, exchange: Exchange) -> None:
    """Make the exchange known to all who get this scope."""
    scope[_KEY] = exchange
