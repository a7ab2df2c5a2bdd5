"""Fields that many requests share."""

from __future__ import annotations

from entrepot.engine.shapes import Attribute, Flag, ListOf, MapOf, Record, Shape, Text

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

TABLE_NAME = Text(required=True, pattern=r"[a-zA-Z0-9_.-]+", shortest=3, longest=255)
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
