"""Bodies, pages, peers and traces, apart from any server."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest

from entrepot.http.bodies import ERRORS_MAX, decode
from entrepot.http.pages import limit_within, page
from entrepot.http.peer import Peers
from entrepot.http.problems import Invalid, Problem
from entrepot.http.trace import continued


class Inner(msgspec.Struct):
    low: Annotated[int, msgspec.Meta(ge=0)]


class Outer(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    first_name: str
    inners: list[Inner] = []
    by_name: dict[str, Inner] = {}


def test_every_wrong_field_is_named_by_its_path() -> None:
    body = b'{"inners": [{"low": 1}, {"low": -1}], "byName": {"a": {}}, "extra": 1}'

    with pytest.raises(Invalid) as caught:
        decode(body, Outer)

    assert {error.field: error.message for error in caught.value.errors} == {
        "firstName": "is missing",
        "inners[1].low": "expected int >= 0",
        "byName[...]": "object missing required field low",
        "extra": "is not known here",
    }


def test_the_number_of_named_fields_is_bounded() -> None:
    body = msgspec.json.encode({f"x{number}": number for number in range(1000)})

    with pytest.raises(Invalid) as caught:
        decode(body, Outer)

    assert len(caught.value.errors) == ERRORS_MAX


def test_a_right_body_is_decoded() -> None:
    assert decode(b'{"firstName": "Ada", "inners": [{"low": 2}]}', Outer) == Outer("Ada", [Inner(2)])


def test_a_body_that_is_not_json_says_so() -> None:
    with pytest.raises(Problem) as caught:
        decode(b"{'a'}", Outer)

    assert caught.value.code == "MALFORMED_JSON"


@pytest.mark.parametrize("limit", [0, -1, 101])
def test_a_limit_out_of_bounds_is_refused(limit: int) -> None:
    with pytest.raises(Invalid, match="limit: must be 1 to 100"):
        limit_within(limit, default=20, most=100)


def test_a_page_has_a_cursor_only_when_there_is_more() -> None:
    assert limit_within(None, default=20, most=100) == 20
    assert page("items", [1], None) == {"items": [1]}
    assert page("items", [1], "c") == {"items": [1], "next_cursor": "c"}


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("1.1.1.1, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("nonsense, 10.0.0.2", "10.0.0.2"),
        ("nonsense", "10.0.0.1"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("2001:db8::1", "2001:db8::1"),
        (", ".join(["203.0.113.9"] + ["10.0.0.2"] * 30), "10.0.0.2"),
    ],
)
def test_the_peer_is_the_nearest_address_that_no_trusted_proxy_has(forwarded: str, address: str) -> None:
    peers = Peers(["10.0.0.0/8"])

    assert peers.of("10.0.0.1", "http", forwarded_for=forwarded, forwarded_proto=None).address == address


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n",
    ],
)
def test_a_trace_that_can_not_be_read_is_not_continued(given: str | None) -> None:
    trace = continued(given)

    assert trace.parent_id is None
    assert trace.trace_id != "0af7651916cd43dd8448eb211c80319c"


def test_a_trace_of_a_later_version_is_continued() -> None:
    trace = continued("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff-what")

    assert trace.parent_id == "b7ad6b7169203331"
    assert trace.traceparent == f"00-0af7651916cd43dd8448eb211c80319c-{trace.span_id}-01"
