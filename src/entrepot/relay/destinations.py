"""Where deliveries may go: no address of our own network is reached by asking us to deliver there (SSRF)."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult

URL_CHARACTERS_MAX = 2048
RESOLVE_SECONDS_MAX = 5.0

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Written out, since what Python calls global differs between its versions and leaves out some of these.
REFUSED_V4 = tuple(
    ipaddress.IPv4Network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
        "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
        "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    )
)  # fmt: skip
# All else (loopback, mapped, translated, local, multicast, segment routing) lies outside of it.
UNICAST_V6 = ipaddress.IPv6Network("2000::/3")
REFUSED_V6 = tuple(
    ipaddress.IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
MAPPED_V6 = ipaddress.IPv6Network("::ffff:0:0/96")


class DestinationRefused(Exception):
    """Deliveries can't go there; the message says why."""


class Destinations:
    """Decides where deliveries may go; `allow_networks` are reached although they are not public."""

    def __init__(self, *, allow_http: bool = False, allow_networks: Iterable[str] = ()) -> None:
        self._allow_http = allow_http
        self._allowed: tuple[Network, ...] = tuple(ipaddress.ip_network(text) for text in allow_networks)

    async def check_url(self, url: str) -> str | None:
        """Refuse an address that can't be a destination; answers with a warning when its name is not known now."""
        host = self.host_of(url)
        if (literal := _literal(host)) is not None:
            self.check_address(literal)
            return None
        try:
            async with asyncio.timeout(RESOLVE_SECONDS_MAX):
                await self.resolve(host, 0)
        except (OSError, TimeoutError):
            return f"The name {host} does not resolve at the moment."
        return None

    def host_of(self, url: str) -> str:
        """The host of a URL that can be a destination; a host that is an address is checked too."""
        if len(url) > URL_CHARACTERS_MAX:
            raise DestinationRefused(f"The address is longer than {URL_CHARACTERS_MAX} characters.")
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError as error:
            raise DestinationRefused(f"The address can't be read: {error}.") from None
        if parts.scheme not in ("https", "http") or not host:
            raise DestinationRefused("The address must be https://HOST/….")
        if parts.scheme == "http" and not self._allow_http:
            raise DestinationRefused("The address must be https; plain http is allowed by a setting only.")
        if parts.username is not None or parts.password is not None:
            raise DestinationRefused("The address holds a name or password; send them as a header.")
        if (literal := _literal(host)) is not None:
            self.check_address(literal)
        return host

    async def resolve(self, host: str, port: int, family: int = socket.AF_UNSPEC) -> list[Address]:
        """All addresses of a name; one that may not be reached refuses the name."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
        addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
        for address in addresses:
            self.check_address(address)
        return list(dict.fromkeys(addresses))

    def check_address(self, address: Address) -> None:
        """Refuse an address of a network that is not public, unless it is allowed."""
        plain = _unmapped(address)
        if any(plain.version == network.version and plain in network for network in self._allowed):
            return
        if _is_public(plain):
            return
        raise DestinationRefused(
            f"The address {address} is not public; its network can be allowed by a setting."
        )


class CheckedResolver(AbstractResolver):
    """Gives aiohttp the checked addresses themselves, so that it connects to nothing else."""

    def __init__(self, destinations: Destinations) -> None:
        self._destinations = destinations

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        addresses = await self._destinations.resolve(host, port, family)
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        """Nothing is kept open."""


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def _unmapped(address: Address) -> Address:
    if isinstance(address, ipaddress.IPv6Address) and address in MAPPED_V6:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in REFUSED_V4)
    return address in UNICAST_V6 and not any(address in network for network in REFUSED_V6)
