"""The tables that the suite shares, by the shape of their keys."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def keys(hash_key: str, range_key: str | None = None) -> list[Json]:
    schema = [{"AttributeName": hash_key, "KeyType": "HASH"}]
    if range_key is not None:
        schema.append({"AttributeName": range_key, "KeyType": "RANGE"})
    return schema


def attributes(**types: str) -> list[Json]:
    return [{"AttributeName": name, "AttributeType": type_} for name, type_ in types.items()]


def index(name: str, hash_key: str, range_key: str | None, projection: str, *others: str) -> Json:
    projected: Json = {"ProjectionType": projection}
    if others:
        projected["NonKeyAttributes"] = list(others)
    return {"IndexName": name, "KeySchema": keys(hash_key, range_key), "Projection": projected}


def table(*schema: str, **types: str) -> Json:
    return {"KeySchema": keys(*schema), "AttributeDefinitions": attributes(**types)}


SHAPES: dict[str, Json] = {
    "hash": table("a", a="S"),
    "hash_n": table("a", a="N"),
    "hash_b": table("a", a="B"),
    "range": table("a", "b", a="S", b="S"),
    "range_n": table("a", "b", a="S", b="N"),
    "range_b": table("a", "b", a="S", b="B"),
    # Every kind of index with every kind of projection.
    "indexed": {
        **table("a", "b", a="S", b="S", c="S", d="S"),
        "LocalSecondaryIndexes": [
            index("lsi_all", "a", "c", "ALL"),
            index("lsi_keys", "a", "d", "KEYS_ONLY"),
            index("lsi_some", "a", "d", "INCLUDE", "e"),
        ],
        "GlobalSecondaryIndexes": [
            index("gsi_all", "c", None, "ALL"),
            index("gsi_keys", "c", "d", "KEYS_ONLY"),
            index("gsi_some", "d", "c", "INCLUDE", "e"),
        ],
    },
    # One global index ordered by a number, for a table without a sort key.
    "by_number": {
        **table("a", a="S", g="S", n="N"),
        "GlobalSecondaryIndexes": [index("by_n", "g", "n", "ALL")],
    },
}
