"""Fields that many requests share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from entrepot.engine.shapes import (
    NAME_LONGEST,
    NAME_SHORTEST,
    Attribute,
    Flag,
    ListOf,
    MapOf,
    Record,
    Shape,
    Text,
)

_ARN = re.compile(
    rf"arn:aws[a-z-]*:dynamodb:[a-z0-9-]*:\d*:table/[a-zA-Z0-9_.-]{{{NAME_SHORTEST},{NAME_LONGEST}}}"
)


class TableName(Text):
    """The name of a table, or its ARN."""

    def __init__(self) -> None:
        super().__init__(
            required=True, pattern=r"[a-zA-Z0-9_.-]+", shortest=NAME_SHORTEST, longest=NAME_LONGEST
        )

    def holds(self, value: Any) -> bool:
        return super().holds(value) or _ARN.fullmatch(value) is not None

    def violations(self, value: Any, path: str) -> Iterator[str]:
        return iter(()) if self.holds(value) else super().violations(value, path)


COMPARISONS = (
    "IN",
    "NULL",
    "BETWEEN",
    "LT",
    "NOT_CONTAINS",
    "EQ",
    "GT",
    "NOT_NULL",
    "NE",
    "LE",
    "BEGINS_WITH",
    "GE",
    "CONTAINS",
)

TABLE_NAME = TableName()
INDEX_NAME = Text(pattern=r"[a-zA-Z0-9_.-]+", shortest=3, longest=255)
RETURN_CONSUMED = Text(words=("INDEXES", "TOTAL", "NONE"))
RETURN_METRICS = Text(words=("SIZE", "NONE"))
RETURN_ON_FAILURE = Text(words=("ALL_OLD", "NONE"))
CONDITIONAL_OPERATOR = Text(words=("OR", "AND"))
FLAG = Flag()
TEXT = Text()
VALUES = MapOf(Attribute(), "AttributeValue")
REQUIRED_VALUES = MapOf(Attribute(), "AttributeValue", required=True)
NAMES = MapOf(Text(), "java.lang.String")
ATTRIBUTES_TO_GET = ListOf(Text(), shortest=1, longest=255)
COMPARISON = Text(words=COMPARISONS)
CONDITIONS = MapOf(
    Record(
        "Condition",
        {
            "AttributeValueList": ListOf(Attribute()),
            "ComparisonOperator": Text(required=True, words=COMPARISONS),
        },
        field=False,
    ),
    "Condition",
)
EXPECTED = MapOf(
    Record(
        "ExpectedAttributeValue",
        {
            "AttributeValueList": ListOf(Attribute()),
            "ComparisonOperator": COMPARISON,
            "Exists": FLAG,
            "Value": Attribute(field=True),
        },
        field=False,
    ),
    "ExpectedAttributeValue",
)

Fields = dict[str, Shape]
