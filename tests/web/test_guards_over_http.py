"""Who may call a route."""

from __future__ import annotations

import httpx
import pytest
from litestar import get

from entrepot.web.application import assemble
from entrepot.web.edge import Limits
from tests.web.conftest import known_caller

ALLOWED = {
    "anyone": {"", "read-key", "write-key", "person", "operator"},
    "person": {"person", "operator"},
    "reader": {"read-key", "write-key", "person", "operator"},
    "writer": {"write-key", "person", "operator"},
    "admin": {"person", "operator"},
    "operator": {"operator"},
}


@pytest.mark.parametrize("token", ["", "read-key", "write-key", "person", "operator"])
@pytest.mark.parametrize("guard", list(ALLOWED))
def test_a_guard_lets_in_whom_it_names(client: httpx.Client, guard: str, token: str) -> None:
    headers = {"authorization": f"Bearer {token}"} if token else {}

    response = client.get(f"/who/{guard}", headers=headers)

    if token in ALLOWED[guard]:
        assert response.status_code == 200
    elif token:
        assert (response.status_code, response.json()["error"]) == (403, "FORBIDDEN")
    else:
        assert (response.status_code, response.json()["error"]) == (401, "UNAUTHENTICATED")
        assert response.headers["www-authenticate"] == "Bearer"


def test_a_handler_is_told_who_calls(client: httpx.Client) -> None:
    response = client.get("/who/reader", headers={"authorization": "bearer read-key"})

    assert response.json() == {"kind": "key", "user": "usr_p"}


def test_a_route_without_a_guard_is_refused() -> None:
    @get("/open")
    async def unguarded() -> None:
        return None

    limits = Limits(body_bytes_max=1, header_bytes_max=1, timeout_seconds=1)
    with pytest.raises(ValueError, match="GET /open"):
        assemble(parts=[], limits=limits, authenticator=known_caller, log_key=b"", routes=[unguarded])
