"""Which servers the suite asks: the engine in process and over HTTP, or any other by `--endpoint URL`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .dynamo import Differs, Dynamo
from .transports import Boto, Http, InProcess, Transport

ENDPOINT_LINE = "AWS_ENDPOINT_URL_DYNAMODB="

# By fixture: the transports that can carry what its tests send. botocore only builds well-shaped requests.
TRANSPORTS = {"dynamo": ("process", "boto"), "anyhow": ("process", "http")}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance")
    group.addoption("--endpoint", default=None, help="ask this DynamoDB, and only this one")
    group.addoption(
        "--differences", default=None, help="write what differs to this file, a JSON object a line"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    endpoint = metafunc.config.getoption("--endpoint", None)
    for fixture, transports in TRANSPORTS.items():
        if fixture in metafunc.fixturenames:
            names = ("endpoint",) if endpoint else transports
            metafunc.parametrize(fixture, names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def dynamo(request: pytest.FixtureRequest) -> Iterator[Dynamo]:
    """A server to ask, by every transport that an SDK's requests can take."""
    yield from _opened(request)


@pytest.fixture(scope="session")
def anyhow(request: pytest.FixtureRequest) -> Iterator[Dynamo]:
    """A server to ask with requests of any shape, right or wrong."""
    yield from _opened(request)


@pytest.fixture(scope="session")
def http(request: pytest.FixtureRequest) -> Iterator[Http]:
    """The HTTP level itself."""
    transport = Http(request.getfixturevalue("endpoint"))
    yield transport
    transport.close()


def _opened(request: pytest.FixtureRequest) -> Iterator[Dynamo]:
    transport: Transport
    if request.param == "process":
        transport = InProcess()
    elif request.param == "boto":
        transport = Boto(request.getfixturevalue("endpoint"))
    else:
        transport = Http(request.getfixturevalue("endpoint"))
    yield Dynamo(transport)
    transport.close()


@pytest.fixture(scope="session")
def endpoint(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL asked for, or that of an engine's server started for this run."""
    given = request.config.getoption("--endpoint", None)
    if given:
        yield given
        return
    command = [sys.executable, "-m", "entrepot", "dynamo", "--port", "0", "--data", ":memory:"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as server:
        assert server.stdout is not None
        try:
            yield next(
                line.partition(ENDPOINT_LINE)[2].strip() for line in server.stdout if ENDPOINT_LINE in line
            )
        finally:
            server.terminate()
            server.communicate(timeout=10)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    target = item.config.getoption("--differences", None)
    if target and call.when == "call":
        with Path(target).open("a") as file:
            file.write(json.dumps(_outcome(item, call)) + "\n")
    return report


def _outcome(item: pytest.Item, call: pytest.CallInfo[None]) -> dict[str, Any]:
    outcome: dict[str, Any] = {"test": item.nodeid, "passed": call.excinfo is None}
    if call.excinfo is None:
        return outcome
    error = call.excinfo.value
    if isinstance(error, Differs):
        return {**outcome, "asked": error.asked, "expected": error.expected, "got": error.got}
    return {
        **outcome,
        "asked": "",
        "expected": "",
        "got": str(error).splitlines()[0] if str(error) else repr(error),
    }
