"""The pages of documentation build, and need nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from entrepot.app import SECTIONS
from entrepot.settings import declared

ROOT = Path(__file__).parents[2]

_LOADED = re.compile(r"<(?:script|link|img)[^>]+(?:src|href)=.?https?://")


def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert built.returncode == 0, built.stderr
    pages = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in tmp_path.rglob("*.html")}
    assert {"index.html", "start.html", "settings.html", "decisions/index.html"} <= set(pages)
    assert [name for name, page in pages.items() if _LOADED.search(page)] == []
    assert all(setting.variable in pages["settings.html"] for setting in declared(SECTIONS))
