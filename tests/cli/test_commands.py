"""The other commands, as processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.acceptance.process import entrepot, started


def test_settings_prints_each_with_value_origin_and_meaning(tmp_path: Path) -> None:
    (tmp_path / "entrepot.toml").write_text('signup = "open"\n')

    found = entrepot("settings", "--port", "9", directory=tmp_path, admin_token="correct-horse-battery")

    assert found.returncode == 0
    assert "ENTREPOT_PORT = 9\n    the port to listen on; 0 takes a free one (--port)\n" in found.stdout
    assert "ENTREPOT_SIGNUP = open\n    who may make an account (entrepot.toml: signup)\n" in found.stdout
    assert "ENTREPOT_ADMIN_TOKEN = ********\n" in found.stdout
    assert "correct-horse" not in found.stdout


def test_a_switch_is_a_flag(tmp_path: Path) -> None:
    found = entrepot("settings", "--testing", "--clock-offset-seconds", "5", directory=tmp_path)

    assert "ENTREPOT_TESTING = true" in found.stdout
    assert "ENTREPOT_CLOCK_OFFSET_SECONDS = 5.0" in found.stdout


def test_an_unknown_command_is_refused(tmp_path: Path) -> None:
    assert entrepot("down", directory=tmp_path).returncode == 2


def test_help_names_every_command(tmp_path: Path) -> None:
    text = entrepot("--help", directory=tmp_path).stdout

    assert all(f"\n  {name} " in text for name in ("up", "serve", "settings", "doctor"))


def test_doctor_finds_a_sound_installation_sound(tmp_path: Path) -> None:
    found = entrepot("doctor", "--port", "0", directory=tmp_path)

    assert found.returncode == 0, found.stdout
    for name in ("directory", "disk", "clock", "sqlite", "store", "port"):
        assert f" {name} " in found.stdout


def test_doctor_names_what_is_wrong_and_ends_with_1(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    (tmp_path / "data" / "dynamo.db").write_bytes(b"this is no database" * 1000)

    found = entrepot("doctor", "--port", "0", directory=tmp_path)

    assert found.returncode == 1
    lines = {line.split()[1]: line for line in found.stdout.splitlines()}
    assert lines["store"].startswith("failure")
    assert lines["directory"].startswith("warning")
    assert "Traceback" not in found.stderr


def test_doctor_works_beside_a_running_up(tmp_path: Path) -> None:
    with started("up", "--port", "0", directory=tmp_path) as up:
        port = up.url.rpartition(":")[2]

        found = entrepot("doctor", "--port", port, directory=tmp_path)

    assert found.returncode == 0
    assert f"127.0.0.1:{port} can't be had now" in found.stdout


def test_the_command_line_imports_a_framework_only_for_what_needs_it() -> None:
    script = (
        "import sys; from entrepot.cli import main; main(['--help'], standalone_mode=False); "
        "sys.exit(any(name in sys.modules for name in ('litestar', 'uvicorn', 'apsw')))"
    )

    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0
