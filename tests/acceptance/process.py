"""Real processes of the command line."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 10

_ADDRESS = re.compile(r"http://[0-9.:]+\d")


def environment(**settings: str) -> dict[str, str]:
    """This process's environment with none of our settings but these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ENTREPOT_")}
    return {**kept, **{f"ENTREPOT_{name.upper()}": value for name, value in settings.items()}}


def entrepot(*arguments: str, directory: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "entrepot", *arguments],
        cwd=directory,
        env=environment(**settings),
        capture_output=True,
        text=True,
        timeout=START_SECONDS_MAX,
        check=False,
    )


class Running:
    """A server that has said where it listens."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.banner: list[str] = []
        self.url = ""

    def wait_for(self, last_line: str) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.banner.append(line.rstrip("\n"))
            found = _ADDRESS.search(line)
            if found and not self.url and not line.startswith("store"):
                self.url = found[0]
            if line.startswith(last_line):
                return
        raise AssertionError(f"it ended with {self.process.wait()}: {self.rest()}")

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(STOP_SECONDS_MAX)

    def rest(self) -> str:
        """What it wrote to the error output, once it has ended."""
        assert self.process.stderr is not None
        return self.process.stderr.read()


@contextmanager
def started(
    *arguments: str,
    directory: Path,
    last_line: str = "Ctrl-C stops",
    program: Sequence[str] = (),
    more: Mapping[str, str] | None = None,
    **settings: str,
) -> Iterator[Running]:
    """A server for as long as the block lasts."""
    command = list(program) or [sys.executable, "-m", "entrepot", *arguments]
    process = subprocess.Popen(
        command,
        cwd=directory,
        env={**environment(**settings), **(more or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    running = Running(process)
    try:
        running.wait_for(last_line)
        yield running
    finally:
        process.kill()
        process.communicate()
