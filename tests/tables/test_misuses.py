"""Both type checkers refuse each known misuse, and nothing else in the same file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MISUSES = Path(__file__).parent / "misuses" / "misuses.py"
CHECK_SECONDS = 280


def marked() -> set[int]:
    lines = MISUSES.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# WRONG")}


def run(*command: str) -> str:
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=CHECK_SECONDS, check=False
    )
    return result.stdout


def test_mypy_refuses_exactly_the_marked_lines(tmp_path: Path) -> None:
    output = run(
        sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--no-error-summary",
        "--cache-dir", str(tmp_path), "--hide-error-context", str(MISUSES),
    )  # fmt: skip
    errors = {int(line.split(":")[1]) for line in output.splitlines() if ": error:" in line}
    assert errors == marked(), output


def test_pyright_refuses_exactly_the_marked_lines() -> None:
    output = run(
        sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", str(MISUSES)
    )
    diagnostics = json.loads(output[output.index("{") :])["generalDiagnostics"]
    errors = {d["range"]["start"]["line"] + 1 for d in diagnostics if d["severity"] == "error"}
    assert errors == marked(), output
