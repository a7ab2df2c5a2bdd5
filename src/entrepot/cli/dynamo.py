"""`entrepot dynamo`: only the DynamoDB endpoint."""

from __future__ import annotations

import click

from entrepot.engine.server import listen, run
from entrepot.engine.storage import StoreError


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one."
)
@click.option("--data", default="./data", show_default=True, help="The directory of the store, or :memory:.")
@click.option(
    "--access-key", envvar="ENTREPOT_DYNAMO_ACCESS_KEY", metavar="ID", help="The id of the one key to accept."
)
@click.option(
    "--secret-key",
    envvar="ENTREPOT_DYNAMO_SECRET_KEY",
    metavar="SECRET",
    help="Its secret, by which requests must be signed; better given as ENTREPOT_DYNAMO_SECRET_KEY.",
)
def command(host: str, port: int, data: str, access_key: str | None, secret_key: str | None) -> None:
    """Serve DynamoDB's API on a durable store, for any AWS SDK.

    Any credentials are accepted, unless a key is given. Ctrl-C stops; nothing that was answered is lost.
    """
    if bool(access_key) != bool(secret_key):
        raise click.UsageError("--access-key and --secret-key go together: give both, or neither")
    secrets = {access_key: secret_key} if access_key and secret_key else None
    try:
        bound = listen(host, port)
    except OSError as error:
        raise click.ClickException(
            f"{host}:{port} can't be listened on: {error.strerror}; try --port 0"
        ) from None
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{bound.getsockname()[1]}"

    def ready() -> None:
        click.echo(f"store {data}")
        click.echo(f"AWS_ENDPOINT_URL_DYNAMODB={url}")

    try:
        run(bound, data, ready, secrets)
    except (StoreError, OSError) as error:
        raise click.ClickException(str(error)) from None
