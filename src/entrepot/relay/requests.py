"""The request of a delivery: the event as its connection reshapes it, signed, with the connection's own headers."""

from __future__ import annotations

import msgspec

from entrepot.accounts.sealing import Sealer
from entrepot.clock import Clock
from entrepot.relay import retries, transforms
from entrepot.relay.attempts import Outgoing, passed_on
from entrepot.relay.model import Connection, ConnectionId, Event
from entrepot.relay.signing import signed_headers
from entrepot.relay.views import headers_of, view_of

USER_AGENT = "Entrepot-Relay/1"


def purpose_of(connection_id: ConnectionId) -> str:
    """What the secrets of a connection are sealed for."""
    return f"relay.connection:{connection_id}"


class Requests:
    """Builds requests; the only place where a connection's secrets are opened."""

    def __init__(self, sealer: Sealer, clock: Clock) -> None:
        self._sealer = sealer
        self._clock = clock

    def build(self, event: Event, connection: Connection) -> Outgoing:
        """The request of this event to this connection; raises TransformFailed."""
        output = transforms.parse(connection.transform).apply(view_of(event))
        own = {"user-agent": USER_AGENT, "content-type": output.content_type}
        if connection.headers is not None:
            own.update(msgspec.json.decode(self._open(connection, connection.headers), type=dict[str, str]))
        own.update(
            signed_headers(
                self._keys(connection),
                webhook_id=event.eventId,
                timestamp_seconds=self._clock.epoch_seconds(),
                body=output.body,
            )
        )
        return Outgoing(
            url=connection.destinationUrl,
            method="POST" if event.method in ("GET", "HEAD") else event.method,
            headers=passed_on(headers_of(event).items(), own),
            body=output.body,
            timeout_seconds=retries.parse(connection.retryConfig).timeoutSeconds,
        )

    def _keys(self, connection: Connection) -> list[str]:
        keys = [self._open(connection, connection.signingSecret)]
        until = connection.previousSecretUntil or 0
        if connection.previousSecret is not None and until > self._clock.epoch_seconds():
            keys.append(self._open(connection, connection.previousSecret))
        return keys

    def _open(self, connection: Connection, sealed: str) -> str:
        return self._sealer.open(sealed, purpose=purpose_of(connection.connectionId))
