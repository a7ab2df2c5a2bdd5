"""Scan: the items of a table or an index, whole or in segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entrepot.engine.errors import Validation
from entrepot.engine.expressions import Placeholders
from entrepot.engine.legacy import check_mixing
from entrepot.engine.operations import fields
from entrepot.engine.operations.listing import (
    BAD_START,
    Listing,
    admit_start_key,
    demand_select,
    read_listing,
)
from entrepot.engine.operations.operation import Operation
from entrepot.engine.operations.query import read_filter_and_projection
from entrepot.engine.pages import Page, Range
from entrepot.engine.schema import NO_MATCH
from entrepot.engine.shapes import Record, Text, Whole

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

SEGMENTS_MAX = 1_000_000
# Segments are cut at twelve bits of the hash, as the cloud cuts them.
HASH_STEPS = 4096
_HASH_STEP = 2**32 // HASH_STEPS

SHAPE = Record(
    "ScanInput",
    {
        "Select": Text(words=("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")),
        "IndexName": fields.INDEX_NAME,
        "ReturnConsumedCapacity": fields.RETURN_CONSUMED,
        "TableName": fields.TABLE_NAME,
        "ConditionalOperator": fields.CONDITIONAL_OPERATOR,
        "AttributesToGet": fields.ATTRIBUTES_TO_GET,
        "Limit": Whole(lowest=1),
        "Segment": Whole(lowest=0, highest=SEGMENTS_MAX - 1),
        "TotalSegments": Whole(lowest=1, highest=SEGMENTS_MAX),
        "ExclusiveStartKey": fields.VALUES,
        "ConsistentRead": fields.FLAG,
        "ScanFilter": fields.CONDITIONS,
        "FilterExpression": fields.TEXT,
        "ProjectionExpression": fields.TEXT,
        "ExpressionAttributeValues": fields.VALUES,
        "ExpressionAttributeNames": fields.NAMES,
    },
)

_EXPRESSIONS = ("ProjectionExpression", "FilterExpression")
_LEGACY = ("AttributesToGet", "ScanFilter", "ConditionalOperator")


async def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    check_mixing(request, expressions=_EXPRESSIONS, legacy=_LEGACY)
    admit_start_key(request)
    placeholders = Placeholders(
        request.get("ExpressionAttributeNames"), request.get("ExpressionAttributeValues")
    )
    _demand_segment(request)
    keep, project = read_filter_and_projection(request, placeholders, "ScanFilter")
    placeholders.finish()
    demand_select(request, projects=project is not None)
    listing = Listing(engine.table(request["TableName"]), request, project)
    low, high = _segment(request)
    range_ = Range(listing.table, listing.index, low, high, whole=listing.fetches)
    if request.get("ExclusiveStartKey") is not None:
        range_.start_after(_start(listing, request, low, high))
    return await read_listing(engine, listing, Page(range_, limit=request.get("Limit"), keep=keep))


def _demand_segment(request: dict[str, Any]) -> None:
    segment, total = request.get("Segment"), request.get("TotalSegments")
    if total is not None and segment is None:
        raise Validation(
            "The Segment parameter is required but was not present in the request when parameter TotalSegments "
            "is present"
        )
    if segment is None or total is None:
        if segment is not None:
            raise Validation(
                "The TotalSegments parameter is required but was not present in the request when Segment "
                "parameter is present"
            )
        return
    if segment >= total:
        raise Validation(
            f"The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {total}"
        )


def _segment(request: dict[str, Any]) -> tuple[bytes, bytes | None]:
    """The stretch of hashes that a segment covers."""
    total = request.get("TotalSegments") or 1
    segment = request.get("Segment") or 0
    first = -(-HASH_STEPS * segment // total)
    last = -(-HASH_STEPS * (segment + 1) // total)
    high = None if last >= HASH_STEPS else (last * _HASH_STEP).to_bytes(4, "big")
    return (first * _HASH_STEP).to_bytes(4, "big") if first < HASH_STEPS else b"\xff" * 5, high


def _start(listing: Listing, request: dict[str, Any], low: bytes, high: bytes | None) -> bytes:
    try:
        start = listing.demand_start_key()
    except Validation as error:
        if listing.index is None and error.message == BAD_START:
            raise Validation(f"{BAD_START}: {NO_MATCH}") from None
        raise
    key = listing.start_key(start or {})
    if request.get("TotalSegments", 1) > 1 and (key < low or (high is not None and key >= high)):
        raise Validation(
            f"{BAD_START}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
            f"TotalSegments: {request['TotalSegments']} Segment: {request['Segment']}"
        )
    return key


OPERATION = Operation("Scan", SHAPE, run)
