"""Who is at the other end of the connection: the peer, or whom a trusted proxy speaks for."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Sequence

import msgspec

HOPS_MAX = 20

log = logging.getLogger(__name__)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Peer(msgspec.Struct, frozen=True):
    """The caller's address and scheme; `direct` when no proxy has a hand in it."""

    address: str
    scheme: str
    direct: bool

    @property
    def is_loopback(self) -> bool:
        """A program on this machine, and not one that passes on what comes from elsewhere."""
        found = _parsed(self.address)
        return self.direct and found is not None and found.is_loopback


class Peers:
    """Finds the peer of a request, believing forwarded headers of trusted networks only."""

    def __init__(self, trusted: Sequence[str]) -> None:
        self._networks = [ipaddress.ip_network(network) for network in trusted]
        self._warned = False

    def of(
        self, address: str, scheme: str, *, forwarded_for: str | None, forwarded_proto: str | None
    ) -> Peer:
        if forwarded_for is None and forwarded_proto is None:
            return Peer(address, scheme, direct=True)
        if not self._trusts(address):
            self._warn(address)
            return Peer(address, scheme, direct=False)
        if forwarded_proto in ("http", "https"):
            scheme = forwarded_proto
        return Peer(self._nearest_untrusted(forwarded_for) or address, scheme, direct=False)

    def _nearest_untrusted(self, forwarded_for: str | None) -> str | None:
        # A caller can write what it likes at the left; each trusted proxy adds what it saw at the right.
        found = None
        for hop in (forwarded_for or "").split(",")[: -HOPS_MAX - 1 : -1]:
            parsed = _parsed(hop.strip())
            if parsed is None:
                break
            found = str(parsed)
            if not self._trusts(found):
                break
        return found

    def _trusts(self, address: str) -> bool:
        parsed = _parsed(address)
        return parsed is not None and any(parsed in network for network in self._networks)

    def _warn(self, address: str) -> None:
        if self._warned:
            return
        self._warned = True
        log.warning(
            "forwarded headers from %s are ignored; ENTREPOT_TRUSTED_PROXIES would allow them", address
        )


def _parsed(text: str) -> Address | None:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found
