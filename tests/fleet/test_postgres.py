"""The PostgreSQL of our own: started on first use, shared, stopped by the last, whatever was killed before."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from entrepot.fleet.postgres import EmbeddedPostgres, PostgresError
from tests.fleet.waiting import until

STARTER = """
import sys, pathlib
from entrepot.fleet.postgres import EmbeddedPostgres
print(EmbeddedPostgres(pathlib.Path(sys.argv[1])).start(), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A directory with a server that was made and stopped, to copy: making one takes seconds."""
    home = Path(tempfile.mkdtemp(prefix="entrepot-made-"))
    server = EmbeddedPostgres(home / "postgres")
    server.start()
    server.stop()
    yield home / "postgres"
    shutil.rmtree(home)


@pytest.fixture
def directory(made: Path) -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="entrepot-own-"))
    subprocess.run(["cp", "-a", str(made), str(home / "postgres")], check=True)
    yield home / "postgres"
    pid = postmaster(home / "postgres")
    if pid is not None and psutil.pid_exists(pid):
        os.kill(pid, signal.SIGQUIT)
        until(lambda: ended(pid))
    shutil.rmtree(home)


def answers(server: EmbeddedPostgres) -> bool:
    try:
        with psycopg.connect(server.url(), connect_timeout=5) as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False


def postmaster(directory: Path) -> int | None:
    file = directory / "18" / "postmaster.pid"
    return int(file.read_text().splitlines()[0]) if file.exists() else None


def ended(pid: int) -> bool:
    # Where nobody buries orphans, a dead process keeps its number.
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_nothing_is_there_before_the_first_use(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "postgres")
    assert not server.exists
    server.stop()
    assert not (tmp_path / "postgres").exists()


def test_it_keeps_what_was_written(directory: Path) -> None:
    server = EmbeddedPostgres(directory)
    server.start()
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS n")
    server.stop()
    assert not answers(server)
    server.start()
    with psycopg.connect(server.url()) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (1,)
    server.stop()


def test_the_last_to_leave_stops_it(directory: Path) -> None:
    first, second = EmbeddedPostgres(directory), EmbeddedPostgres(directory)
    first.start()
    pid = postmaster(directory)
    second.start()
    assert postmaster(directory) == pid
    first.stop()
    assert answers(second)
    second.stop()
    assert postmaster(directory) is None


def test_a_killed_process_leaves_a_server_that_the_next_one_takes_over_and_stops(directory: Path) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert starter.stdout is not None
    assert starter.stdout.readline().startswith("postgresql://")
    starter.kill()
    starter.communicate()
    pid = postmaster(directory)
    server = EmbeddedPostgres(directory)
    server.start()
    assert postmaster(directory) == pid, "it is the same server"
    server.stop()
    assert postmaster(directory) is None
    assert pid is not None
    assert ended(pid)


def test_a_killed_server_is_started_again(directory: Path) -> None:
    server = EmbeddedPostgres(directory)
    server.start()
    pid = postmaster(directory)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: ended(pid))
    until(lambda: not answers(server))
    server.start()
    assert answers(server)
    server.stop()


def test_a_pid_that_belongs_to_another_program_by_now_does_not_keep_it_from_starting(directory: Path) -> None:
    server = EmbeddedPostgres(directory)
    (directory / "18" / "postmaster.pid").write_text(
        f"{os.getpid()}\n{directory / '18'}\n1\n5432\n\n\n1 1\nready\n"
    )
    server.start()
    assert answers(server)
    server.stop()


def test_a_making_that_was_cut_off_is_begun_again(directory: Path) -> None:
    shutil.rmtree(directory / "18")
    (directory / "unfinished").mkdir()
    (directory / "unfinished" / "PG_VERSION").write_text("18\n")
    server = EmbeddedPostgres(directory)
    assert not server.exists
    server.start()
    assert answers(server)
    server.stop()


@pytest.fixture
def far(made: Path) -> Iterator[Path]:
    """A server at a path that is too long for a socket."""
    home = Path(tempfile.mkdtemp(prefix="entrepot-far-"))
    deep = home / ("x" * 60) / ("y" * 60)
    deep.mkdir(parents=True)
    subprocess.run(["cp", "-a", str(made), str(deep / "postgres")], check=True)
    yield deep / "postgres"
    shutil.rmtree(home)


def sockets_of(server: EmbeddedPostgres) -> Path:
    return Path(server.url().partition("host=")[2].partition("&")[0])


def test_a_long_path_gets_a_socket_elsewhere_that_goes_with_the_server(far: Path) -> None:
    server = EmbeddedPostgres(far)
    server.start()
    sockets = sockets_of(server)
    assert answers(server)
    assert sockets.stat().st_mode & 0o077 == 0
    server.stop()
    assert not sockets.exists()


@pytest.mark.parametrize("trap", ["link", "open"])
def test_a_directory_that_someone_else_put_in_its_place_is_refused(
    far: Path, tmp_path: Path, trap: str
) -> None:
    server = EmbeddedPostgres(far)
    sockets = sockets_of(server)
    owner = tmp_path.stat().st_uid
    if trap == "link":
        sockets.symlink_to(tmp_path)
    else:
        sockets.mkdir(mode=0o755)
    try:
        with pytest.raises(PostgresError, match="not ours"):
            server.start()
        assert tmp_path.stat().st_uid == owner
        assert list(tmp_path.iterdir()) == []
    finally:
        sockets.unlink() if trap == "link" else sockets.rmdir()
        server.stop()


def test_only_its_owner_reaches_it(directory: Path) -> None:
    server = EmbeddedPostgres(directory)
    server.start()
    cluster = directory / "18"
    assert cluster.stat().st_mode & 0o077 == 0
    assert (cluster / ".s.PGSQL.5432").exists()
    with psycopg.connect(server.url()) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    server.stop()
