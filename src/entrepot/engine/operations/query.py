"""Query: the items of one partition, in the order of their sort key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entrepot.engine import keys
from entrepot.engine.errors import Validation
from entrepot.engine.expressions import KeyBounds, KeyCondition, Placeholders
from entrepot.engine.legacy import check_mixing, condition_of_filter, key_bounds_of, projection_of
from entrepot.engine.operations import fields
from entrepot.engine.operations.listing import Listing, admit_start_key, demand_select, read_listing
from entrepot.engine.operations.operation import Operation
from entrepot.engine.pages import Page, Range
from entrepot.engine.schema import KeyPart, demand_key_size
from entrepot.engine.shapes import Record, Text, Whole
from entrepot.engine.values import Item, compare, equal

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

SHAPE = Record(
    "QueryInput",
    {
        "Select": Text(words=("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")),
        "IndexName": fields.INDEX_NAME,
        "ReturnConsumedCapacity": fields.RETURN_CONSUMED,
        "QueryFilter": fields.CONDITIONS,
        "TableName": fields.TABLE_NAME,
        "ConditionalOperator": fields.CONDITIONAL_OPERATOR,
        "AttributesToGet": fields.ATTRIBUTES_TO_GET,
        "Limit": Whole(lowest=1),
        "KeyConditions": fields.CONDITIONS,
        "ExclusiveStartKey": fields.VALUES,
        "ConsistentRead": fields.FLAG,
        "ScanIndexForward": fields.FLAG,
        "KeyConditionExpression": fields.TEXT,
        "FilterExpression": fields.TEXT,
        "ProjectionExpression": fields.TEXT,
        "ExpressionAttributeValues": fields.VALUES,
        "ExpressionAttributeNames": fields.NAMES,
    },
)

_EXPRESSIONS = ("ProjectionExpression", "FilterExpression", "KeyConditionExpression")
_LEGACY = ("AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions")


async def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    check_mixing(request, expressions=_EXPRESSIONS, legacy=_LEGACY)
    admit_start_key(request)
    placeholders = Placeholders(
        request.get("ExpressionAttributeNames"), request.get("ExpressionAttributeValues")
    )
    keep, project = read_filter_and_projection(request, placeholders, "QueryFilter")
    bounds = _read_bounds(request, placeholders)
    placeholders.finish()
    demand_select(request, projects=project is not None)
    listing = Listing(engine.table(request["TableName"]), request, project)
    condition = _key_condition(listing, bounds)
    listing.partition = condition.hash_value
    range_ = _range(listing, condition, forward=request.get("ScanIndexForward") is not False)
    start = listing.demand_start_key()
    if start is not None:
        _demand_inside(listing, condition, start)
        range_.start_after(listing.start_key(start))
    _demand_filter_off_keys(listing, request, keep)
    return await read_listing(engine, listing, Page(range_, limit=request.get("Limit"), keep=keep))


def read_filter_and_projection(
    request: dict[str, Any], placeholders: Placeholders, legacy_filter: str
) -> tuple[Any, Any]:
    """The filter and the projection of a request, in either form."""
    keep: Any = None
    project: Any = None
    if request.get("FilterExpression") is not None:
        keep = placeholders.condition(request["FilterExpression"], "FilterExpression")
    elif request.get(legacy_filter) is not None:
        keep = condition_of_filter(request[legacy_filter], request.get("ConditionalOperator"), legacy_filter)
    if request.get("ProjectionExpression") is not None:
        project = placeholders.projection(request["ProjectionExpression"])
    elif request.get("AttributesToGet") is not None:
        project = projection_of(request["AttributesToGet"])
    return keep, project


def _read_bounds(request: dict[str, Any], placeholders: Placeholders) -> KeyBounds:
    text = request.get("KeyConditionExpression")
    if text is not None:
        return placeholders.key_bounds(text)
    conditions = request.get("KeyConditions")
    if conditions is None:
        raise Validation(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
        )
    return key_bounds_of(conditions)


def _key_condition(listing: Listing, bounds: KeyBounds) -> KeyCondition:
    hash_part, range_part = listing.hash, listing.range
    if range_part is None:
        condition = bounds.fit(hash_part.name, None, {hash_part.name: hash_part.kind})
    else:
        types = {hash_part.name: hash_part.kind, range_part.name: range_part.kind}
        condition = bounds.fit(hash_part.name, range_part.name, types)
    _demand_operand(hash_part, condition.hash_value, is_hash=True)
    for operand in condition.operands:
        if range_part is not None:
            _demand_operand(range_part, operand, is_hash=False)
    return condition


def _demand_operand(part: KeyPart, value: Any, *, is_hash: bool) -> None:
    if part.kind != "N" and not value:
        word = "string" if part.kind == "S" else "binary"
        raise Validation(
            f"One or more parameter values are not valid. The AttributeValue for a key attribute cannot "
            f"contain an empty {word} value. Key: {part.name}"
        )
    demand_key_size(part, value, is_hash=is_hash)


def _range(listing: Listing, condition: KeyCondition, *, forward: bool) -> Range:
    base = keys.partition(listing.hash.kind, condition.hash_value)
    low, high = base, keys.after(base)
    if condition.operator is not None and listing.range is not None:
        low, high = _bounds(base, high, condition, listing.range)
    return Range(listing.table, listing.index, low, high, forward=forward, whole=listing.fetches)


def _bounds(base: bytes, end: bytes, condition: KeyCondition, part: KeyPart) -> tuple[bytes, bytes]:
    """The stretch of a partition that an operator on the sort key leaves."""
    operator, operands = condition.operator, condition.operands
    if operator == "begins_with":
        prefix = base + keys.sort_prefix(part.kind, operands[0])
        return prefix, keys.after(prefix)
    sort = keys.SORTERS[part.kind]
    at = base + sort(operands[0])
    if operator == "=":
        return at, keys.after(at)
    if operator == "<":
        return base, at
    if operator == "<=":
        return base, keys.after(at)
    if operator == ">":
        return keys.after(at), end
    if operator == ">=":
        return at, end
    return at, keys.after(base + sort(operands[1]))


def _demand_inside(listing: Listing, condition: KeyCondition, start: Item) -> None:
    same_partition = equal(start[listing.hash.name], condition.hash_value)
    if condition.operator is None or listing.range is None:
        if not same_partition:
            raise Validation(
                "The provided starting key is outside query boundaries based on provided conditions"
            )
        return
    if not _matches(condition, start[listing.range.name]):
        raise Validation("The provided starting key does not match the range key predicate")
    if not same_partition:
        raise Validation("The query can return at most one row and cannot be restarted")


def _matches(condition: KeyCondition, value: Any) -> bool:
    operator, operands = condition.operator, condition.operands
    if operator == "begins_with":
        return bool(value.startswith(operands[0]))
    if operator == "between":
        return compare(value, operands[0]) >= 0 and compare(value, operands[1]) <= 0
    order = compare(value, operands[0])
    return {"=": order == 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[
        operator or "="
    ]


def _demand_filter_off_keys(listing: Listing, request: dict[str, Any], keep: Any) -> None:
    if keep is None:
        return
    form = "QueryFilter" if request.get("FilterExpression") is None else "Filter Expression"
    for part in (listing.hash, listing.range):
        if part is not None and part.name in keep.attributes:
            raise Validation(
                f"{form} can only contain non-primary key attributes: Primary key attribute: {part.name}"
            )


OPERATION = Operation("Query", SHAPE, run)
