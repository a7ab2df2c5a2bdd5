"""Letting the local network in."""

from __future__ import annotations

import socket

from entrepot.settings import Core, Settings, SettingsError

# Nothing is sent to this address; the system only says which of ours it would use for it.
_ELSEWHERE = ("192.0.2.1", 9)
_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 (what --lan is asked for)


def opened_to_lan(settings: Settings) -> Settings:
    """These settings, listening on all addresses, with this machine's address as the public one."""
    core = settings[Core]
    address = lan_address()
    changes: dict[str, object] = {}
    if settings.origins["host"] == "default":
        changes["host"] = _ALL_ADDRESSES
    if core.public_url is None:
        if core.port == 0:
            raise SettingsError("--lan: needs a port that stays; 0 takes another at each start")
        changes["public_url"] = f"http://{address}:{core.port}"
    return settings.changed(Core, "--lan", **changes)


def lan_address() -> str:
    """This machine's address on the network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
            return str(probe.getsockname()[0])
        except OSError:
            raise SettingsError("--lan: this machine is on no network") from None
