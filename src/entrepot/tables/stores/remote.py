"""A remote DynamoDB: botocore's credentials and endpoint rules, an aiohttp pool, our own codec; no retries here."""

from __future__ import annotations

import asyncio
import zlib
from types import TracebackType
from typing import Any, Self

import aiohttp
import botocore.session
from botocore.credentials import Credentials, RefreshableCredentials

from entrepot.tables.errors import StoreLacks, Unreachable
from entrepot.tables.stores import codec
from entrepot.tables.stores.signing import Keys, Signer

CONNECTIONS_MAX = 64
CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 10.0
# Shorter than servers keep an idle connection, or a request could meet one that is just being closed.
IDLE_SECONDS = 4.0

_STREAMS = {"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"}


class RemoteStore:
    """A store behind DynamoDB's HTTP API."""

    def __init__(self, endpoint: str, region: str, credentials: Credentials) -> None:
        self.endpoint = endpoint
        self.region = region
        self._credentials = credentials
        self._signer = Signer(endpoint, region)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX, keepalive_timeout=IDLE_SECONDS),
            timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS, connect=CONNECT_SECONDS),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            headers={"Accept-Encoding": "identity"},
        )

    @classmethod
    async def open(cls, region: str, *, endpoint: str | None = None) -> Self:
        """Finds credentials and endpoint as the AWS tools do; raises StoreLacks when there are none."""
        found, credentials = await asyncio.to_thread(_resolve, region, endpoint)
        return cls(found, region, credentials)

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """One operation over HTTP; errors are `entrepot.engine.errors`, or Unreachable."""
        service = "DynamoDBStreams_20120810" if operation in _STREAMS else "DynamoDB_20120810"
        body = codec.encode(request)
        keys = await self._keys()
        headers = self._signer.headers(f"{service}.{operation}", body, keys)
        try:
            async with self._session.post(self.endpoint, data=body, headers=headers) as response:
                answer = await response.read()
                status, checksum = response.status, response.headers.get("x-amz-crc32")
        except aiohttp.ClientConnectorError as error:
            raise Unreachable(f"{operation}: {error}", sent=False) from error
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            raise Unreachable(f"{operation}: {type(error).__name__} {error}", sent=True) from error
        if checksum is not None and checksum.isdecimal() and int(checksum) != zlib.crc32(answer):
            raise Unreachable(f"{operation}: the answer does not match its checksum", sent=True)
        if status == 200:
            return codec.decode(answer)
        raise codec.error_of(status, answer)

    async def _keys(self) -> Keys:
        credentials = self._credentials
        # Fetching new credentials goes over the network, and botocore does it in the caller's thread.
        if isinstance(credentials, RefreshableCredentials) and credentials.refresh_needed():
            frozen = await asyncio.to_thread(credentials.get_frozen_credentials)
        else:
            frozen = credentials.get_frozen_credentials()
        return Keys(frozen.access_key or "", frozen.secret_key or "", frozen.token)

    async def close(self) -> None:
        """Closes the pool."""
        await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _resolve(region: str, endpoint: str | None) -> tuple[str, Credentials]:
    session = botocore.session.get_session()
    credentials = session.get_credentials()
    if credentials is None:
        raise StoreLacks(
            f"no AWS credentials for DynamoDB in {region}: none in the environment, files or roles"
        )
    if endpoint is None:
        # Only to ask botocore's endpoint rules, its configuration files and variables.
        endpoint = session.create_client("dynamodb", region_name=region).meta.endpoint_url
    return endpoint.rstrip("/") + "/", credentials
