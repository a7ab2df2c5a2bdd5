"""Letting the local network in."""

from __future__ import annotations

import fcntl
import ipaddress
import socket
import struct

from entrepot.relay.settings import Relay
from entrepot.settings import Core, Settings, SettingsError

# Nothing is sent to this address; the system only says which of ours it would use for it.
_ELSEWHERE = ("192.0.2.1", 9)
# Linux' own numbers for asking an interface its address and its mask; and what a home's network has.
_ASK_ADDRESS, _ASK_MASK = 0x8915, 0x891B
_USUAL_PREFIX = 24
_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 (what --lan is asked for)


def opened_to_lan(settings: Settings) -> Settings:
    """These settings, listening on all addresses, this machine's as the public one, its network open to deliveries."""
    core = settings[Core]
    address = lan_address()
    changes: dict[str, object] = {}
    if settings.origins["host"] == "default":
        changes["host"] = _ALL_ADDRESSES
    if core.public_url is None:
        if core.port == 0:
            raise SettingsError("--lan: needs a port that stays; 0 takes another at each start")
        changes["public_url"] = f"http://{address}:{core.port}"
    relay = settings[Relay]
    networks = tuple(dict.fromkeys((*relay.allow_networks, lan_network(address))))
    opened = settings.changed(Core, "--lan", **changes)
    return opened.changed(Relay, "--lan", allow_http=True, allow_networks=networks)


def lan_address() -> str:
    """This machine's address on the network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
            return str(probe.getsockname()[0])
        except OSError:
            raise SettingsError("--lan: this machine is on no network") from None


def lan_network(address: str) -> str:
    """The network that an address of this machine is in, like 192.168.1.0/24."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            question = struct.pack("256s", name.encode()[:15])
            try:
                found = socket.inet_ntoa(fcntl.ioctl(probe, _ASK_ADDRESS, question)[20:24])
                mask = socket.inet_ntoa(fcntl.ioctl(probe, _ASK_MASK, question)[20:24])
            except OSError:
                # An interface without an address of this kind, or a system that does not know the question.
                continue
            if found == address:
                return str(ipaddress.ip_network(f"{address}/{mask}", strict=False))
    return str(ipaddress.ip_network(f"{address}/{_USUAL_PREFIX}", strict=False))
