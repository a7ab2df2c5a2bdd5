"""Whatever is asked, in process or over the wire: an answer, or an error of DynamoDB's; never anything else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entrepot.engine import DynamoError, Engine
from entrepot.engine.errors import Internal
from entrepot.engine.operations import OPERATIONS
from entrepot.engine.wire import Wire
from tests.engine.test_model import TABLE
from tests.engine.test_values import values

FIELDS = sorted({name for operation in OPERATIONS.values() for name in operation.shape._fields})
EXPRESSIONS = [
    "pk = :v AND sk > :w",
    "attribute_not_exists(pk)",
    "SET a = :v, b.c[1] = if_not_exists(#n, :w) REMOVE d",
    "ADD n :v DELETE s :w",
    "a, b.c[0], #n",
    "a IN (:v, :w) OR NOT (size(b) BETWEEN :v AND :w)",
    "SET",
    "((((",
]
texts = st.sampled_from(
    ["things", "pk", "sk", "by_group", "HASH", "ALL_OLD", "TOTAL", *EXPRESSIONS]
) | st.text(max_size=8)
wire_values = st.fixed_dictionaries(
    {},
    optional={
        "S": texts,
        "N": st.sampled_from(["1", "-1.5", "1e400", "x", ""]),
        "B": st.sampled_from(["", "AA==", "A"]),
        "BOOL": st.booleans(),
        "NULL": st.booleans(),
        "SS": st.lists(texts, max_size=2),
        "NS": st.lists(st.sampled_from(["1", "2"]), max_size=2),
    },
)
junk: st.SearchStrategy[Any] = st.recursive(
    texts
    | st.integers(-5, 200)
    | st.booleans()
    | st.none()
    | st.floats(allow_nan=False, allow_infinity=False)
    | wire_values,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*FIELDS, "pk", "sk", ":v", ":w", "#n", "S", "L", "M"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)
keys = st.fixed_dictionaries({"pk": st.just({"S": "a"}), "sk": st.just({"N": "1"})}) | junk
requests = st.fixed_dictionaries(
    {"TableName": st.just("things") | junk},
    optional={
        **{name: junk for name in FIELDS if name != "TableName"},
        "Key": keys,
        "Item": keys,
        "ExpressionAttributeValues": st.dictionaries(st.sampled_from([":v", ":w"]), wire_values, max_size=2)
        | junk,
        "ExpressionAttributeNames": st.just({"#n": "name"}) | junk,
    },
)


@pytest.fixture(scope="module")
def asked() -> Iterator[Any]:
    with asyncio.Runner() as runner:
        engine = runner.run(Engine.open())

        async def prepare() -> None:
            names = (await engine.call("ListTables", {}))["TableNames"]
            if "things" not in names:
                await engine.call("CreateTable", TABLE)

        def ask(call: Any) -> None:
            runner.run(prepare())
            try:
                runner.run(call(engine))
            except Internal as error:
                pytest.fail(f"the store failed: {error}")
            except DynamoError:
                return

        yield ask
        runner.run(engine.close())


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(operation=st.sampled_from(sorted(OPERATIONS)), request=requests)
def test_any_json_gets_an_answer_or_a_refusal(asked: Any, operation: str, request: dict[str, Any]) -> None:
    asked(lambda engine: Wire(engine).call_json(operation, request))


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    operation=st.sampled_from(sorted(OPERATIONS)),
    request=st.dictionaries(st.sampled_from(FIELDS), junk | values, max_size=5),
)
def test_any_python_value_gets_an_answer_or_a_refusal(
    asked: Any, operation: str, request: dict[str, Any]
) -> None:
    asked(lambda engine: engine.call(operation, {"TableName": "things", **request}))
