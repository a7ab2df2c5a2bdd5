"""Where deliveries may go."""

from __future__ import annotations

import pytest

from entrepot.relay.attempts import Outgoing, Sender
from entrepot.relay.destinations import DestinationRefused, Destinations
from tests.relay.world import Receiver

pytestmark = pytest.mark.anyio

REFUSED = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "0.1.2.3",
    "192.0.0.8", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1",
    "240.0.0.1", "255.255.255.255", "[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::7f00:1]",
    "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[2001::1]", "[2001:db8::1]", "[3fff::1]", "[5f00::1]", "[fc00::1]",
    "[fd12::1]", "[fe80::1]", "[fec0::1]", "[ff02::1]", "[100::1]",
]  # fmt: skip


@pytest.mark.parametrize("host", REFUSED)
async def test_an_address_that_is_not_public_is_refused(host: str) -> None:
    with pytest.raises(DestinationRefused, match="not public"):
        await Destinations().check_url(f"https://{host}/hook")


@pytest.mark.parametrize("host", ["1.1.1.1", "[2606:4700:4700::1111]", "[::ffff:1.1.1.1]"])
async def test_a_public_address_is_taken(host: str) -> None:
    assert await Destinations().check_url(f"https://{host}/hook") is None


@pytest.mark.parametrize(
    "url", ["http://1.1.1.1/", "ftp://1.1.1.1/", "https:///x", "https://u:p@1.1.1.1/", "//x", "https://[::1"]
)
async def test_an_address_of_the_wrong_form_is_refused(url: str) -> None:
    with pytest.raises(DestinationRefused):
        await Destinations().check_url(url)


@pytest.mark.parametrize("host", ["localhost", "127.1", "0x7f000001", "2130706433"])
async def test_every_way_to_write_an_address_is_checked_after_resolution(host: str) -> None:
    with pytest.raises(DestinationRefused, match="not public"):
        await Destinations().check_url(f"https://{host}/hook")


async def test_a_name_that_does_not_resolve_is_taken_with_a_warning() -> None:
    assert "does not resolve" in (await Destinations().check_url("https://nowhere.invalid/hook") or "")


async def test_an_allowed_network_is_reached_and_no_other() -> None:
    destinations = Destinations(allow_networks=["127.0.0.0/8"])
    assert await destinations.check_url("https://127.0.0.1/hook") is None
    with pytest.raises(DestinationRefused):
        await destinations.check_url("https://10.0.0.1/hook")


async def test_a_name_is_checked_again_at_the_attempt_and_the_host_is_kept(receiver: Receiver) -> None:
    url = receiver.url.replace("127.0.0.1", "localhost")
    request = Outgoing(url=url, method="POST", headers={}, body=b"x", timeout_seconds=5)
    refusing = Sender(Destinations(allow_http=True))
    answer = await refusing.send(request)
    await refusing.close()
    assert answer.status == 0
    assert "not public" in (answer.error or "")
    assert receiver.seen == []
    allowing = Sender(Destinations(allow_http=True, allow_networks=["127.0.0.0/8", "::1/128"]))
    answer = await allowing.send(request)
    await allowing.close()
    assert answer.status == 200
    assert receiver.seen[0][0]["host"].startswith("localhost:")
