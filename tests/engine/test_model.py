"""The engine against a plain dictionary: any sequence of operations, with closing, crashing and reopening."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from entrepot.engine import Engine
from entrepot.engine.errors import ConditionFailed, TransactionCanceled
from entrepot.engine.integrity import verify
from entrepot.engine.values import equal

TABLE = {
    "TableName": "things",
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
        {"AttributeName": "group", "AttributeType": "S"},
        {"AttributeName": "rank", "AttributeType": "N"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_group",
            "KeySchema": [
                {"AttributeName": "group", "KeyType": "HASH"},
                {"AttributeName": "rank", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by_rank",
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "rank", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}

partitions = st.sampled_from(["a", "b", "a\x00", "é"])
sorts = st.sampled_from([-1, 0, 0.5, 1, 2, 10, 11])
groups = st.sampled_from(["red", "blue"])
ranks = st.sampled_from([-2, 0, 0.25, 3])
bodies = st.fixed_dictionaries({}, optional={"group": groups, "rank": ranks, "note": st.text(max_size=5)})

Key = tuple[str, Any]


class EngineBesideDictionary(RuleBasedStateMachine):
    """Every answer of the engine is the answer that a dictionary gives."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.home = Path(tempfile.mkdtemp(prefix="entrepot-model-"))
        self.generation = 0
        self.model: dict[Key, dict[str, Any]] = {}
        self.engine = self.run(Engine.open(self.path))
        self.call("CreateTable", TABLE)

    @property
    def path(self) -> Path:
        return self.home / str(self.generation) / "store.db"

    def run(self, awaitable: Any) -> Any:
        return self.runner.run(awaitable)

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self.run(self.engine.call(operation, request))
        return answer

    def teardown(self) -> None:
        self.run(self.engine.close())
        self.runner.close()
        shutil.rmtree(self.home)

    @rule(pk=partitions, sk=sorts, body=bodies, fresh=st.booleans())
    def put(self, pk: str, sk: Any, body: dict[str, Any], fresh: bool) -> None:
        item = {"pk": pk, "sk": sk, **body}
        request: dict[str, Any] = {"TableName": "things", "Item": item, "ReturnValues": "ALL_OLD"}
        if fresh:
            request["ConditionExpression"] = "attribute_not_exists(pk)"
        old = self.model.get((pk, sk))
        try:
            answer = self.call("PutItem", request)
        except ConditionFailed:
            assert fresh
            assert old is not None
            return
        assert not (fresh and old)
        assert answer.get("Attributes") == old
        self.model[pk, sk] = item

    @rule(pk=partitions, sk=sorts, rank=ranks)
    def move_rank(self, pk: str, sk: Any, rank: Any) -> None:
        answer = self.call(
            "UpdateItem",
            {
                "TableName": "things",
                "Key": {"pk": pk, "sk": sk},
                "UpdateExpression": "SET #r = :r ADD moves :one",
                "ExpressionAttributeNames": {"#r": "rank"},
                "ExpressionAttributeValues": {":r": rank, ":one": 1},
                "ReturnValues": "ALL_NEW",
            },
        )
        item = dict(self.model.get((pk, sk), {"pk": pk, "sk": sk}))
        item |= {"rank": rank, "moves": item.get("moves", 0) + 1}
        assert equal(answer["Attributes"], item)
        self.model[pk, sk] = item

    @rule(pk=partitions, sk=sorts)
    def leave_group(self, pk: str, sk: Any) -> None:
        request = {
            "TableName": "things",
            "Key": {"pk": pk, "sk": sk},
            "UpdateExpression": "REMOVE #g",
            "ConditionExpression": "attribute_exists(#g)",
            "ExpressionAttributeNames": {"#g": "group"},
        }
        grouped = "group" in self.model.get((pk, sk), {})
        try:
            self.call("UpdateItem", request)
        except ConditionFailed:
            assert not grouped
            return
        assert grouped
        del self.model[pk, sk]["group"]

    @rule(pk=partitions, sk=sorts)
    def delete(self, pk: str, sk: Any) -> None:
        answer = self.call(
            "DeleteItem",
            {"TableName": "things", "Key": {"pk": pk, "sk": sk}, "ReturnValues": "ALL_OLD"},
        )
        assert answer.get("Attributes") == self.model.pop((pk, sk), None)

    @rule(keys=st.lists(st.tuples(partitions, sorts), min_size=1, max_size=4, unique=True), body=bodies)
    def put_together(self, keys: list[Key], body: dict[str, Any]) -> None:
        puts = [
            {
                "Put": {
                    "TableName": "things",
                    "Item": {"pk": pk, "sk": sk, **body},
                    "ConditionExpression": "attribute_not_exists(pk)",
                }
            }
            for pk, sk in keys
        ]
        taken = [key in self.model for key in keys]
        if any(taken):
            with pytest.raises(TransactionCanceled) as caught:
                self.call("TransactWriteItems", {"TransactItems": puts})
            assert [reason.code == "ConditionalCheckFailed" for reason in caught.value.reasons] == taken
            return
        self.call("TransactWriteItems", {"TransactItems": puts})
        self.model |= {(pk, sk): {"pk": pk, "sk": sk, **body} for pk, sk in keys}

    @rule(pk=partitions, low=sorts, high=sorts, forward=st.booleans(), limit=st.integers(1, 5))
    def query(self, pk: str, low: Any, high: Any, forward: bool, limit: int) -> None:
        if low > high:
            low, high = high, low
        found = self.pages(
            "Query",
            {
                "TableName": "things",
                "KeyConditionExpression": "pk = :p AND sk BETWEEN :l AND :h",
                "ExpressionAttributeValues": {":p": pk, ":l": low, ":h": high},
                "ScanIndexForward": forward,
                "Limit": limit,
            },
        )
        wanted = [item for key, item in sorted(self.model.items()) if key[0] == pk and low <= key[1] <= high]
        assert equal(found, wanted if forward else wanted[::-1])

    @rule(group=groups, rank=ranks, forward=st.booleans(), limit=st.integers(1, 3))
    def query_group(self, group: str, rank: Any, forward: bool, limit: int) -> None:
        found = self.pages(
            "Query",
            {
                "TableName": "things",
                "IndexName": "by_group",
                "KeyConditionExpression": "#g = :g AND #r >= :r",
                "ExpressionAttributeNames": {"#g": "group", "#r": "rank"},
                "ExpressionAttributeValues": {":g": group, ":r": rank},
                "ScanIndexForward": forward,
                "Limit": limit,
            },
        )
        wanted = [
            item
            for item in self.model.values()
            if item.get("group") == group and "rank" in item and item["rank"] >= rank
        ]
        ranked = [item["rank"] for item in found]
        assert ranked == sorted(ranked, reverse=not forward)
        assert equal(in_key_order(found), in_key_order(wanted))

    @rule(pk=partitions)
    def query_local(self, pk: str) -> None:
        found = self.pages(
            "Query",
            {
                "TableName": "things",
                "IndexName": "by_rank",
                "KeyConditionExpression": "pk = :p",
                "ExpressionAttributeValues": {":p": pk},
            },
        )
        wanted = [
            {name: item[name] for name in ("pk", "sk", "rank")}
            for item in self.model.values()
            if item["pk"] == pk and "rank" in item
        ]
        assert equal(in_key_order(found), in_key_order(wanted))

    @rule(total=st.integers(1, 5), limit=st.integers(1, 4))
    def scan_in_segments(self, total: int, limit: int) -> None:
        found = [
            item
            for segment in range(total)
            for item in self.pages(
                "Scan",
                {"TableName": "things", "Segment": segment, "TotalSegments": total, "Limit": limit},
            )
        ]
        assert equal(in_key_order(found), in_key_order(list(self.model.values())))

    @rule()
    def close_and_reopen(self) -> None:
        self.run(self.engine.close())
        self.engine = self.run(Engine.open(self.path))

    @rule()
    def crash_and_reopen(self) -> None:
        """What a killed process leaves: the files as they are, and nothing of its memory."""
        before = self.path.parent
        self.generation += 1
        shutil.copytree(before, self.path.parent)
        self.run(self.engine.close())
        self.engine = self.run(Engine.open(self.path))

    @invariant()
    def everything_is_where_it_belongs(self) -> None:
        assert verify(self.engine.file) == []

    @invariant()
    def every_item_is_there(self) -> None:
        for (pk, sk), item in self.model.items():
            assert equal(
                self.call("GetItem", {"TableName": "things", "Key": {"pk": pk, "sk": sk}})["Item"], item
            )

    def pages(self, operation: str, request: dict[str, Any]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            answer = self.call(operation, request)
            found += answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return found
            request = {**request, "ExclusiveStartKey": answer["LastEvaluatedKey"]}


def in_key_order(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(items, key=lambda item: (item["pk"], item["sk"]))


TestEngineBesideDictionary = EngineBesideDictionary.TestCase
TestEngineBesideDictionary.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
