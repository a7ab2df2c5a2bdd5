"""Running the application on uvicorn: the socket, the signals, and an end within bounds."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from entrepot.cli.options import CANT_START, stop
from entrepot.settings import Core
from entrepot.web.application import Application
from entrepot.web.protocol import bounded_protocol

# With the parts' own bound this stays within the 10 s in which a process has to end.
DRAIN_SECONDS_MAX = 6
KEEP_ALIVE_SECONDS = 30
BACKLOG = 2048


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket bound to this address, or one line that says why not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        stop(_why_not(error, host, port), CANT_START)
    listener.setblocking(False)
    return listener


def url_of(listener: socket.socket) -> str:
    """The address that a browser on this machine can open."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 (it is compared with, not bound to)
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(application: Application, core: Core, listener: socket.socket, announce: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM, then finish what is under way and return."""
    server = Server(server_config(application, core), application, announce)
    try:
        server.run(sockets=[listener])
    except SystemExit:
        if application.start_error is None:
            raise
        stop(str(application.start_error), CANT_START)


def server_config(application: Application, core: Core) -> uvicorn.Config:
    """uvicorn as we run it: fast parser and loop, our bounds, our logs."""
    return uvicorn.Config(
        application,
        http=bounded_protocol(
            header_bytes_max=core.header_bytes_max, header_timeout_seconds=core.request_timeout_seconds
        ),
        loop="uvloop",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS_MAX,
    )


class Server(uvicorn.Server):
    """uvicorn's server, but it tells the application that it stops, and ends with 0 when asked to."""

    def __init__(
        self, config: uvicorn.Config, application: Application, announce: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._application = application
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._announce()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        caught = (signal.SIGINT, signal.SIGTERM)
        for number in caught:
            loop.add_signal_handler(number, self._asked_to_stop)
        try:
            yield
        finally:
            for number in caught:
                loop.remove_signal_handler(number)

    def _asked_to_stop(self) -> None:
        # A second Ctrl-C means: now.
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True
        self._application.drain()


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use; choose another with --port"
    return f"{host}:{port} can't be listened on: {os.strerror(error.errno or 0)}"
