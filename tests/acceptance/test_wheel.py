"""What is published: a wheel, of which the core works without the rest."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Stands for an environment in which `pip install entrepot` put the core alone.
CORE_ONLY = """
import sys

sys.path.insert(0, sys.argv[1])
sys.path[:] = [path for path in sys.path if not path.endswith("/src")]

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("litestar", "jinja2", "prometheus_client"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())

import asyncio
import entrepot
from entrepot.engine import Engine

assert entrepot.__file__.startswith(sys.argv[1]), entrepot.__file__

async def main():
    engine = await Engine.open(":memory:")
    print(await engine.call("ListTables", {}))
    await engine.close()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("entrepot-*.whl")
    return built


def test_the_wheel_holds_the_package_and_what_its_pages_load(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())

    assert {
        "entrepot/py.typed",
        "entrepot/engine/__init__.py",
        "entrepot/web/docs/index.html",
        "entrepot/web/assets/swagger-ui-bundle.js",
        "entrepot/web/assets/swagger-ui.LICENSE.txt",
    } <= names
    assert not [name for name in names if name.startswith(("tests", "bench")) or "__pycache__" in name]


def test_the_core_alone_opens_a_store(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)

    found = subprocess.run(
        [sys.executable, "-c", CORE_ONLY, str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == "{'TableNames': []}"
