"""The tools on the declarations: the lock, its check, the template, the policies, the page."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from entrepot.cli import main
from entrepot.cli.schema import load_tables
from entrepot.tables import schema
from tests.tables.sample import TABLES

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["schema", *arguments])
    return result.exit_code, result.output


def test_the_models_differ_from_the_lock_in_the_repository_only_in_what_is_safe() -> None:
    locked = schema.read((ROOT / "schema.lock").read_text(encoding="utf-8"))
    differences = schema.compare(locked, schema.describe(load_tables()))
    assert [difference for difference in differences if difference.verdict != "safe"] == []
    assert {"devices", "device_readings", "ferryhook-main", "ferryhook-events"} <= locked.keys()


def test_a_lock_is_read_as_it_was_written() -> None:
    described = schema.describe(TABLES)
    assert schema.compare(schema.read(schema.write(described)), described) == []


def test_the_command_writes_checks_and_fails(tmp_path: Path) -> None:
    lock = tmp_path / "schema.lock"
    assert run("check", "--lock", str(lock)) == (
        1,
        f"Error: {lock} is not there; `entrepot schema lock` writes it\n",
    )
    assert run("lock", "--lock", str(lock)) == (0, f"{lock} written\n")
    assert run("check", "--lock", str(lock)) == (0, "")
    text = lock.read_text(encoding="utf-8")
    lock.write_text(text.replace('PK = "SRC#{sourceId}"', 'PK = "S#{sourceId}"'), encoding="utf-8")
    code, output = run("check", "--lock", str(lock))
    assert code == 1
    assert "impossible: ferryhook-main.Connection: PK 'S#{sourceId}' became 'SRC#{sourceId}'" in output


def test_a_safe_difference_passes_the_check(tmp_path: Path) -> None:
    lock = tmp_path / "schema.lock"
    text = schema.write(schema.describe(load_tables())).replace('friendly_name = "S?"\n', "")
    lock.write_text(text, encoding="utf-8")
    code, output = run("check", "--lock", str(lock))
    assert code == 0
    assert "safe: devices.Device.friendly_name: a new optional attribute" in output


Note = ("notes", "entities", "Note")


@pytest.mark.parametrize(
    ("path", "before", "after", "verdict"),
    [
        # Seed 000's guidelines, row by row.
        ((*Note, "attributes", "new"), None, "S?", "safe"),
        ((*Note, "attributes", "new"), None, "S", "migration"),
        ((*Note, "attributes", "title"), "S?", "N?", "migration"),
        ((*Note, "attributes", "title"), "S?", None, "migration"),
        ((*Note, "attributes", "title"), "S", "S?", "safe"),
        ((*Note, "attributes", "title"), "S?", "S", "migration"),
        ((*Note, "attributes", "state"), "S = a|b", "S = a|b|c", "safe"),
        ((*Note, "attributes", "state"), "S = a|b", "S = a", "migration"),
        ((*Note, "attributes", "state"), "S = a|b", "S", "safe"),
        ((*Note, "attributes", "state"), "S", "S = a|b", "migration"),
        (("notes", "keys"), "PK:S SK:S", "PK:S", "impossible"),
        ((*Note, "keys", "SK"), "NOTE#{noteId}", "N#{noteId}", "impossible"),
        ((*Note, "keys", "GSI1PK"), "SLUG#{slug:fold}", "S#{slug}", "impossible"),
        ((*Note, "keys", "newPk"), None, "X", "migration"),
        ((*Note, "version"), None, "version", "migration"),
        (("notes", "indexes", "new"), None, {"keys": "A:S", "project": "ALL"}, "safe"),
        (("notes", "indexes", "GSI1"), {"keys": "A:S", "project": "ALL"}, None, "safe"),
        (("notes", "indexes", "GSI1", "keys"), "A:S", "B:S", "impossible"),
        (("notes", "indexes", "GSI1", "project"), "ALL", "KEYS_ONLY", "migration"),
        (("notes", "ttl"), None, "expiresAt", "safe"),
        (("notes", "ttl"), "expiresAt", "other", "migration"),
        (("notes", "type_attribute"), None, "entityType", "migration"),
        (("notes", "pitr"), None, True, "safe"),
        (("new",), None, {"keys": "PK:S"}, "safe"),
        (("notes",), {"keys": "PK:S"}, None, "migration"),
        (("notes", "entities", "New"), None, {}, "safe"),
        (("notes", "entities", "Comment"), {}, None, "migration"),
        ((*Note, "unique"), [], ["A B"], "migration"),
        ((*Note, "unique"), ["A B"], [], "migration"),
        (("notes", "patterns", "Notes.new"), None, "PK = x on the table", "safe"),
    ],
)
def test_each_difference_has_its_verdict(
    path: tuple[str, ...], before: Any, after: Any, verdict: str
) -> None:
    described = schema.describe(TABLES)
    old, new = copy.deepcopy(described), copy.deepcopy(described)
    for tree, value in ((old, before), (new, after)):
        parent: Any = tree
        for part in path[:-1]:
            parent = parent[part]
        parent.pop(path[-1], None)
        if value is not None:
            parent[path[-1]] = value
    verdicts = {difference.verdict for difference in schema.compare(old, new)}
    assert verdicts == {verdict}


def test_the_template_passes_cfn_lint(tmp_path: Path) -> None:
    code, output = run("cloudformation")
    assert code == 0
    file = tmp_path / "template.json"
    file.write_text(output)
    linted = subprocess.run(
        [Path(sys.executable).with_name("cfn-lint"), "--template", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (linted.returncode, linted.stdout) == (0, "")
    resources = json.loads(output)["Resources"]
    events = resources["FerryhookEventsTable"]["Properties"]
    assert events["TimeToLiveSpecification"] == {"AttributeName": "expiresAt", "Enabled": True}
    assert events["PointInTimeRecoverySpecification"]["RecoveryPeriodInDays"] == 1
    assert events["GlobalSecondaryIndexes"][0]["Projection"]["NonKeyAttributes"] == ["status"]


def test_a_policy_reaches_only_what_the_service_declares() -> None:
    code, output = run(
        "iam", "relay", "--prefix", "p-", "--region", "eu-north-1", "--account", "123456789012"
    )
    assert code == 0
    assert "Scan" not in output
    statements = json.loads(output)["Statement"]
    by_resource: dict[str, set[str]] = {}
    for statement in statements:
        by_resource.setdefault(statement["Resource"], set()).update(statement["Action"])
    base = "arn:aws:dynamodb:eu-north-1:123456789012:table/p-"
    assert set(by_resource) == {
        f"{base}ferryhook-main",
        f"{base}ferryhook-main/index/GSI3",
        f"{base}ferryhook-events",
        f"{base}ferryhook-events/index/GSI1",
    }
    assert by_resource[f"{base}ferryhook-main/index/GSI3"] == {"dynamodb:Query"}
    leading = {
        key
        for statement in statements
        if statement["Resource"] == f"{base}ferryhook-main"
        for key in statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
    }
    assert leading == {"USER#*", "SRC#*", "SRCID#*", "CONNID#*"}


def test_the_page_has_every_pattern() -> None:
    code, output = run("docs")
    assert code == 0
    for table in load_tables():
        assert f"## {table.name}\n" in output
        for pattern in table.patterns:
            assert f"| `{pattern.name}` |" in output
