"""Accounts as who runs an installation meets them: real processes, on one store."""

from __future__ import annotations

from pathlib import Path

import httpx

from tests.acceptance.process import entrepot, started

PASSWORD = "correct horse battery"
WHO = {"email": "ada@example.com", "name": "Ada", "password": PASSWORD}


def test_a_reset_link_of_the_command_line_sets_a_new_password_of_a_running_installation(
    tmp_path: Path,
) -> None:
    with started("up", "--port", "0", directory=tmp_path) as up:
        token = up.banner[1].split()[1].partition("token=")[2]
        with httpx.Client(base_url=up.url, timeout=20) as laptop, httpx.Client(base_url=up.url) as phone:
            signed_up = laptop.post("/accounts/signup", json={**WHO, "invite": token})
            assert signed_up.json()["user"]["role"] == "operator"

            made = entrepot("accounts", "reset-link", "ADA@example.com", directory=tmp_path)

            assert made.returncode == 0, made.stderr
            link = made.stdout.split()[0]
            assert link.startswith("http://127.0.0.1:8080/accounts/reset?token=")
            token = link.partition("token=")[2]
            assert phone.get("/accounts/reset", params={"token": token}).status_code == 200
            body = {"token": token, "password": "another secret"}
            assert phone.post("/accounts/password/reset", json=body).status_code == 204
            again = phone.post("/accounts/password/reset", json=body)
            assert (again.status_code, again.json()["error"]) == (400, "LINK_INVALID")
            assert laptop.get("/accounts/me").status_code == 401
            login = {"email": WHO["email"], "password": "another secret"}
            assert phone.post("/accounts/login", json=login).status_code == 200


def test_a_reset_link_for_nobody_is_refused_in_one_line(tmp_path: Path) -> None:
    made = entrepot("accounts", "reset-link", "nobody@example.com", directory=tmp_path)

    assert made.returncode == 1
    assert made.stderr == "entrepot: there is no account with the e-mail nobody@example.com\n"


def test_sessions_hold_in_every_process_on_one_store_and_over_a_restart(tmp_path: Path) -> None:
    with (
        started("up", "--port", "0", directory=tmp_path, signup="open") as up,
        started("serve", "--port", "0", directory=tmp_path, signup="open", last_line="Serving") as joined,
    ):
        cookies = httpx.post(f"{up.url}/accounts/signup", json=WHO, timeout=20).cookies
        value = cookies["entrepot_session"]
        headers = {"cookie": f"entrepot_session={value}"}
        assert httpx.get(f"{joined.url}/accounts/me", headers=headers).json()["email"] == WHO["email"]

    with started("up", "--port", "0", directory=tmp_path) as up:
        assert httpx.get(f"{up.url}/accounts/me", headers=headers).status_code == 200
