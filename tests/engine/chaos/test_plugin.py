"""The pytest option: any suite that takes its stores from the plugin runs a second time under chaos."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SUITE = """
import pytest

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.anyio
@pytest.mark.parametrize("number", range(4))
async def test_a_suite(dynamo, dynamo_factory, dynamo_chaos, number):
    other = await dynamo_factory()
    for engine in (dynamo, other):
        print("ran under", None if engine.chaos is None else engine.chaos.settings)
    assert (dynamo_chaos is None) == (dynamo.chaos is None)
"""


def run(home: Path, *options: str) -> tuple[int, str]:
    (home / "test_suite.py").write_text(SUITE)
    plugins = ("-p", "anyio.pytest_plugin", "-p", "entrepot.engine.pytest_plugin", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rP", *plugins, *options, "test_suite.py"],
        cwd=home,
        # Plugins that this suite has no use for take seconds to load.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_every_store_of_the_plugin_runs_under_the_option(tmp_path: Path) -> None:
    code, output = run(tmp_path, "--chaos", "throttle=0.05,seed=1", "--chaos-seed", "7")
    assert code == 0, output
    assert "chaos: throttle=0.05,seed=7" in output
    assert output.count("ran under throttle=0.05,seed=7/test_suite.py::test_a_suite") == 8
    assert output.count("::test_a_suite[3]") >= 2


def test_without_the_option_stores_are_kind(tmp_path: Path) -> None:
    code, output = run(tmp_path)
    assert code == 0, output
    assert output.count("ran under None") == 8


def test_a_wrong_option_stops_the_run(tmp_path: Path) -> None:
    code, output = run(tmp_path, "--chaos", "throtle=1")
    assert code == 4
    assert "unknown setting 'throtle'" in output
    code, output = run(tmp_path, "--chaos-seed", "7")
    assert code == 4
    assert "--chaos-seed needs --chaos" in output
