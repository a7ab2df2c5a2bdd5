"""Other DynamoDB servers, started beside ours for benches and for the conformance suite.

    dynalite     npm, on LevelDB (https://github.com/architect/dynalite)
    moto         PyPI, in memory (https://github.com/getmoto/moto)
    dynoxide     crates.io, on SQLite (https://github.com/nubo-db/dynoxide)

What npm and cargo build goes into the user's cache directory, once. A peer that can't be had here is
left out, with a line that says why.
"""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

DYNALITE_VERSION = "4.0.0"
DYNOXIDE_VERSION = "3.2.0"
INSTALL_SECONDS_MAX = 1800
START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 10
POLL_SECONDS = 0.05


class Peer(NamedTuple):
    """A server that answers at `url`."""

    name: str
    version: str
    url: str


class Unavailable(Exception):
    """A peer can't be had here; the message says why."""


@contextmanager
def running(*names: str, on_disk: bool = False) -> Iterator[list[Peer]]:
    """The named peers, all of them by default, while the block runs; `on_disk` where a peer can be."""
    with ExitStack() as stack:
        peers = []
        for name in names or tuple(STARTERS):
            try:
                peers.append(stack.enter_context(STARTERS[name](on_disk)))
            except Unavailable as reason:
                print(f"{name} is left out: {reason}", file=sys.stderr)
        yield peers


@contextmanager
def dynalite(on_disk: bool) -> Iterator[Peer]:
    place = cache() / "dynalite"
    program = place / "node_modules" / "dynalite" / "cli.js"
    if not program.exists():
        place.mkdir(parents=True, exist_ok=True)
        install(
            "npm",
            "install",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(place),
            f"dynalite@{DYNALITE_VERSION}",
        )
    with scratch() as data:
        # Tables are there at once, as they are in the others.
        waits = [word for option in ("create", "delete", "update") for word in (f"--{option}TableMs", "0")]
        path = ["--path", str(data)] if on_disk else []
        with started(
            "dynalite", lambda port: ["node", str(program), "--port", str(port), *waits, *path]
        ) as url:
            yield Peer("dynalite", DYNALITE_VERSION, url)


@contextmanager
def moto(on_disk: bool) -> Iterator[Peer]:
    try:
        from moto import __version__ as version
    except ImportError as error:
        raise Unavailable(f"moto is not installed ({error})") from None
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p"]
    with started("moto", lambda port: [*command, str(port)]) as url:
        yield Peer("moto", version, url)


@contextmanager
def dynoxide(on_disk: bool) -> Iterator[Peer]:
    place = cache() / "dynoxide"
    program = place / "bin" / "dynoxide"
    if not program.exists():
        features = ["--no-default-features", "--features", "native-sqlite,http-server,cli"]
        crate = ["dynoxide-rs", "--version", DYNOXIDE_VERSION, *features]
        install("cargo", "install", *crate, "--root", str(place), "--jobs", "1")
    with scratch() as data:
        path = ["--db-path", str(data / "dynoxide.db")] if on_disk else []
        command = [str(program), "serve", "--log", "quiet", *path, "--port"]
        with started("dynoxide", lambda port: [*command, str(port)]) as url:
            yield Peer("dynoxide", DYNOXIDE_VERSION, url)


STARTERS = {"dynalite": dynalite, "moto": moto, "dynoxide": dynoxide}


def cache() -> Path:
    """Where built peers are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "entrepot" / "peers"


def install(program: str, *arguments: str) -> None:
    """Runs an installer gently; what it says comes with the reason when it fails."""
    found = shutil.which(program)
    if found is None:
        raise Unavailable(f"{program} is not installed")
    nice = ["nice", "-n", "15"] if shutil.which("nice") else []
    try:
        done = subprocess.run(
            [*nice, found, *arguments],
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{program} took longer than {INSTALL_SECONDS_MAX} s") from None
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise Unavailable(f"{program} failed: {' '.join(last)}")


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="entrepot-peer-", ignore_cleanup_errors=True) as name:
        yield Path(name)


@contextmanager
def started(name: str, command: Callable[[int], list[str]]) -> Iterator[str]:
    """A server process on a free port, until the block ends."""
    port = free_port()
    # Peers log every request; nobody reads it, and a full pipe would stop them.
    with subprocess.Popen(command(port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until_answering(name, port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_answering(name: str, port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Unavailable(f"{name} ended at its start with {process.returncode}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
        try:
            connection.request("GET", "/")
            connection.getresponse()
            return
        except (OSError, http.client.HTTPException):
            time.sleep(POLL_SECONDS)
        finally:
            connection.close()
    raise Unavailable(f"{name} did not answer within {START_SECONDS_MAX} s")


def main() -> None:
    """Starts the peers named on the command line and tells where they are, until it is interrupted."""
    # However this process is ended, its peers end with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with running(*sys.argv[1:]) as peers:
        for peer in peers:
            print(f"{peer.name} {peer.version} {peer.url}", flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
