"""Projects over HTTP: their ids, names, lists and ends."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from tests.fleet.serving import Serving


def make(client: httpx.Client, name: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/fleet/projects", json={"name": name, **more})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def test_ids_are_given_in_sequence_to_whoever_asks(fleet: Serving) -> None:
    first, second = make(fleet.alice, "Tomatoes"), make(fleet.bob, "Basil", description="North wall")
    assert [first["project_id"], second["project_id"]] == ["PROJ1", "PROJ2"]
    assert second["description"] == "North wall"
    assert first["created_at"].endswith("Z")
    assert set(first) >= {"project_id", "id", "created_at"}


def test_fifty_creations_at_once_get_fifty_ids(fleet: Serving) -> None:
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda n: make(fleet.alice, f"House {n}")["project_id"], range(50)))
    assert sorted(made, key=lambda name: int(name[4:])) == [f"PROJ{n}" for n in range(1, 51)]


def test_ids_change_their_form_at_a_thousand_and_end_at_9999(fleet: Serving, sql: Any) -> None:
    sql("SELECT setval('projects_seq', 998)")
    assert make(fleet.alice, "a")["project_id"] == "PROJ999"
    assert make(fleet.alice, "b")["project_id"] == "P1000"
    sql("SELECT setval('projects_seq', 9998)")
    assert make(fleet.alice, "c")["project_id"] == "P9999"
    answer = fleet.alice.post("/fleet/projects", json={"name": "d"})
    assert (answer.status_code, answer.json()["error"]) == (409, "PROJECT_IDS_EXHAUSTED")


def test_the_id_of_a_deleted_project_is_not_given_again(fleet: Serving) -> None:
    make(fleet.alice, "kept")
    gone = make(fleet.alice, "gone")["project_id"]
    assert fleet.alice.delete(f"/fleet/projects/{gone}").status_code == 204
    assert make(fleet.alice, "next")["project_id"] == "PROJ3"


def test_a_taken_name_is_refused_without_saying_whose(fleet: Serving) -> None:
    make(fleet.alice, "Tomatoes")
    answer = fleet.bob.post("/fleet/projects", json={"name": "Tomatoes"})
    assert (answer.status_code, answer.json()["error"]) == (409, "PROJECT_NAME_TAKEN")
    assert "alice" not in answer.text
    mine = make(fleet.bob, "Basil")["project_id"]
    answer = fleet.bob.patch(f"/fleet/projects/{mine}", json={"name": "Tomatoes"})
    assert answer.status_code == 409


def test_names_have_1_to_100_characters(fleet: Serving) -> None:
    make(fleet.alice, "x" * 100)
    for wrong in ["", "   ", "x" * 101, "a\x00b"]:
        answer = fleet.alice.post("/fleet/projects", json={"name": wrong})
        assert answer.status_code == 400, wrong
        assert answer.json()["errors"][0]["field"] == "name"


def test_a_list_hides_archived_projects_unless_asked(fleet: Serving) -> None:
    make(fleet.alice, "active")
    old = make(fleet.alice, "old")["project_id"]
    assert (
        fleet.alice.patch(f"/fleet/projects/{old}", json={"status": "archived"}).json()["status"]
        == "archived"
    )

    def names(query: str) -> list[str]:
        return [one["name"] for one in fleet.alice.get(f"/fleet/projects{query}").json()["projects"]]

    assert names("") == ["active"]
    assert names("?status=archived") == ["old"]
    assert names("?status=all") == names("?status=archived,all") == ["old", "active"]
    assert fleet.alice.get("/fleet/projects?status=gone").status_code == 400


def test_pages_go_through_all_projects_and_take_no_other_cursor(fleet: Serving) -> None:
    for n in range(5):
        make(fleet.alice, f"p{n}")
    seen: list[str] = []
    cursor = None
    for _ in range(3):
        query = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = fleet.alice.get("/fleet/projects", params=query).json()
        seen += [one["name"] for one in page["projects"]]
        cursor = page.get("next_cursor")
    assert seen == ["p4", "p3", "p2", "p1", "p0"]
    assert cursor is None
    first = fleet.alice.get("/fleet/projects?limit=2").json()["next_cursor"]
    assert fleet.bob.get("/fleet/projects", params={"cursor": first}).status_code == 400
    assert fleet.alice.get("/fleet/projects", params={"cursor": first, "status": "all"}).status_code == 400
    assert fleet.alice.get("/fleet/projects?limit=1000").status_code == 400


def test_the_last_project_goes_only_when_confirmed(fleet: Serving) -> None:
    project = make(fleet.alice, "only")["project_id"]
    make(fleet.bob, "of another")
    answer = fleet.alice.delete(f"/fleet/projects/{project}")
    assert (answer.status_code, answer.json()["error"]) == (409, "LAST_PROJECT")
    assert fleet.alice.delete(f"/fleet/projects/{project}?confirm=true").status_code == 204
    assert fleet.alice.delete(f"/fleet/projects/{project}?confirm=true").status_code == 404


def test_another_persons_project_is_not_there(fleet: Serving) -> None:
    project = make(fleet.alice, "mine")["project_id"]
    path = f"/fleet/projects/{project}"
    assert fleet.bob.get(path).status_code == 404
    assert fleet.bob.patch(path, json={"name": "theirs"}).status_code == 404
    assert fleet.bob.delete(f"{path}?confirm=true").status_code == 404
    assert fleet.bob.get(f"{path}/devices").status_code == 404
    assert fleet.bob.get(f"{path}/available").status_code == 404
    assert fleet.bob.post(f"{path}/devices", json={"name": "planted"}).status_code == 404
    assert fleet.bob.get("/fleet/projects").json() == {"projects": []}
    assert fleet.alice.get(path).json()["name"] == "mine"


def test_a_caller_needs_permission_and_has_to_be_a_person(fleet: Serving) -> None:
    assert fleet.nobody.get("/fleet/projects").status_code == 401
    assert fleet.as_("reader").post("/fleet/projects", json={"name": "x"}).status_code == 403
    assert fleet.as_("operator").get("/fleet/projects").status_code == 403


def test_a_change_keeps_what_it_does_not_name(fleet: Serving) -> None:
    project = make(fleet.alice, "a", description="kept")["project_id"]
    path = f"/fleet/projects/{project}"
    assert fleet.alice.patch(path, json={"name": "b"}).json()["description"] == "kept"
    assert fleet.alice.patch(path, json={"description": None}).json()["description"] is None
    assert fleet.alice.patch(path, json={"status": "gone"}).status_code == 400
    assert fleet.alice.patch(path, json={"project_id": "PROJ9"}).status_code == 400
