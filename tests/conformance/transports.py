"""The ways in which the suite speaks to a DynamoDB: each takes and gives raw DynamoDB JSON.

InProcess     the engine's wire codec, without HTTP
Boto          botocore's client, which builds requests and parses answers by the service's model
Http          the raw protocol: any server, any JSON, signed with whatever credentials there are
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import http.client
import json
import os
import urllib.parse
from asyncio import Runner
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import botocore.session
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from entrepot.engine import Engine
from entrepot.engine.errors import DynamoError
from entrepot.engine.wire import Wire, describe_error

REGION = os.environ.get("AWS_REGION", "us-east-1")
TARGET_PREFIX = "DynamoDB_20120810."
TIMEOUT_SECONDS = 30

Json = dict[str, Any]


class Answer(NamedTuple):
    """What came back: the payload when it went well, else the error's type, message and body."""

    payload: Json
    error: str | None = None
    message: str = ""


class Transport(Protocol):
    def send(self, operation: str, payload: Any) -> Answer: ...

    def close(self) -> None: ...


class InProcess:
    """The engine and its wire codec in this process, on a loop of their own."""

    def __init__(self) -> None:
        self._runner = Runner()
        self._engine = self._runner.run(Engine.open(":memory:"))
        self._wire = Wire(self._engine)

    def send(self, operation: str, payload: Any) -> Answer:
        # A copy, as over a wire: whatever the engine does to a request must not reach the test's.
        copied = json.loads(json.dumps(payload))
        try:
            return Answer(self._runner.run(self._wire.call_json(operation, copied)))
        except DynamoError as error:
            return Answer(describe_error(error), error.type, error.message)

    def close(self) -> None:
        self._runner.run(self._engine.close())
        self._runner.close()


class Boto:
    """botocore's client without its own parameter validation, so that the server sees every mistake."""

    def __init__(self, endpoint: str) -> None:
        session = botocore.session.Session()
        self._client = session.create_client(
            "dynamodb",
            region_name=REGION,
            endpoint_url=endpoint,
            aws_access_key_id="conformance",
            aws_secret_access_key="conformance",
            config=Config(
                parameter_validation=False, retries={"total_max_attempts": 1}, read_timeout=TIMEOUT_SECONDS
            ),
        )
        self._methods = {v: k for k, v in self._client.meta.method_to_api_mapping.items()}

    def send(self, operation: str, payload: Any) -> Answer:
        try:
            parsed = getattr(self._client, self._methods[operation])(**_with_bytes(payload))
        except ClientError as error:
            body = _with_text({k: v for k, v in error.response.items() if k != "ResponseMetadata"})
            return Answer(body, body["Error"]["Code"], body["Error"].get("Message", ""))
        return Answer(_with_text({k: v for k, v in parsed.items() if k != "ResponseMetadata"}))

    def close(self) -> None:
        self._client.close()


class Http:
    """The protocol itself over one kept connection: JSON as the test wrote it, whatever its shape."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._address = urllib.parse.urlsplit(endpoint)
        self._connection: http.client.HTTPConnection | None = None
        self._credentials = Credentials(
            os.environ.get("AWS_ACCESS_KEY_ID", "conformance"),
            os.environ.get("AWS_SECRET_ACCESS_KEY", "conformance"),
            os.environ.get("AWS_SESSION_TOKEN"),
        )

    def send(self, operation: str, payload: Any) -> Answer:
        status, _, body = self.post(
            json.dumps(payload).encode(), self.signed(operation, json.dumps(payload).encode())
        )
        try:
            parsed = json.loads(body or b"{}")
        except ValueError:
            return Answer({}, f"HTTP {status}", body[:200].decode(errors="replace"))
        if status == http.client.OK:
            return Answer(parsed)
        return Answer(parsed, parsed.get("__type", "").rpartition("#")[2], message_of(parsed))

    def signed(self, operation: str, body: bytes) -> dict[str, str]:
        """The headers that an SDK sends with a body."""
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": TARGET_PREFIX + operation}
        request = AWSRequest(method="POST", url=self._endpoint, data=body, headers=headers)
        SigV4Auth(self._credentials, "dynamodb", REGION).add_auth(request)
        return dict(request.headers.items())

    def post(
        self, body: bytes, headers: Mapping[str, str], *, method: str = "POST", path: str = "/"
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers by lower-case name, and body of any request at all."""
        connection = self._connect()
        try:
            connection.request(method, path, body=body, headers=dict(headers))
            response = connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # A kept connection may be closed by the server between two requests.
            self.close()
            connection = self._connect()
            connection.request(method, path, body=body, headers=dict(headers))
            response = connection.getresponse()
        data = response.read()
        if response.will_close:
            self.close()
        return response.status, {k.lower(): v for k, v in response.getheaders()}, data

    def _connect(self) -> http.client.HTTPConnection:
        if self._connection is None:
            kind = (
                http.client.HTTPSConnection if self._address.scheme == "https" else http.client.HTTPConnection
            )
            self._connection = kind(self._address.hostname or "", self._address.port, timeout=TIMEOUT_SECONDS)
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def message_of(body: Json) -> str:
    """The service spells the member `message` in most answers and `Message` in some."""
    text = body.get("message", body.get("Message", ""))
    return text if isinstance(text, str) else ""


def _with_bytes(value: Any) -> Any:
    """botocore takes binary values as bytes where the JSON has base64."""
    if isinstance(value, list):
        return [_with_bytes(v) for v in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and isinstance(value.get("B"), str):
        return {"B": _decoded(value["B"])}
    if len(value) == 1 and isinstance(value.get("BS"), list):
        return {"BS": [_decoded(v) for v in value["BS"]]}
    return {k: _with_bytes(v) for k, v in value.items()}


def _decoded(text: Any) -> Any:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError):
        return text


def _with_text(value: Any) -> Any:
    """The inverse for answers, where botocore also makes datetimes of the epoch seconds."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dt.datetime):
        return value.timestamp()
    if isinstance(value, list):
        return [_with_text(v) for v in value]
    if isinstance(value, dict):
        return {k: _with_text(v) for k, v in value.items()}
    return value
