"""A server as the command line runs one, with a lane that answers when the whole body has come."""

from __future__ import annotations

import click

from entrepot.cli.server import listening_socket, run, url_of
from entrepot.http.asgi import Receive, Scope, Send
from entrepot.http.caller import ANONYMOUS, Caller, Connection
from entrepot.settings import Core
from entrepot.web.application import assemble
from entrepot.web.edge import Limits


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def nobody(_: Connection) -> Caller:
    return ANONYMOUS


def main() -> None:
    core = Core(port=0)
    application = assemble(
        parts=[],
        limits=Limits(body_bytes_max=1000, header_bytes_max=10_000, timeout_seconds=60),
        authenticator=nobody,
        log_key=b"",
        lanes={"/echo": echo},
    )
    listener = listening_socket(core.host, core.port)
    run(application, core, listener, lambda: click.echo(f"Serving {url_of(listener)}"))


main()
