"""Tags: what may be one, and whose they are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from entrepot.engine.errors import Refused, Validation
from entrepot.engine.operations import fields
from entrepot.engine.schema import Table
from entrepot.engine.shapes import NAME_LONGEST, NAME_SHORTEST, ListOf, Record

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

TAGS_MAX = 50
KEY_LONGEST = 128
VALUE_LONGEST = 256

TAGS = ListOf(Record("Tag", {"Key": fields.TEXT, "Value": fields.TEXT}, required=True, field=False))

_INVALID = "One or more parameter values were invalid: "
# Letters and digits of any script, spaces, and few signs.
_TEXT = re.compile(r"[\w\s+\-=.:/@]*")
_RESOURCE = re.compile(r"arn:aws[a-z-]*:dynamodb:([^:]+):\d+:table/([^/]+)(/.*)?")
_NAME = re.compile(rf"[a-zA-Z0-9_.-]{{{NAME_SHORTEST},{NAME_LONGEST}}}")


def read_tags(tags: Iterable[dict[str, str]]) -> dict[str, str]:
    """Tags by their keys, each of which must be allowed and stand there once."""
    read: dict[str, str] = {}
    for tag in tags:
        key = demand_key(tag.get("Key"))
        value = tag.get("Value")
        if value is None or len(value) > VALUE_LONGEST or not _TEXT.fullmatch(value):
            raise Validation(
                f"The Tag Value provided is invalid, Value: {'null' if value is None else value}"
            )
        if key in read:
            raise Validation(f"Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}")
        read[key] = value
    demand_few(len(read))
    return read


def demand_key(key: str | None) -> str:
    if key is None or not 0 < len(key) <= KEY_LONGEST or not _TEXT.fullmatch(key):
        raise Validation(f"The Tag Key provided is invalid, Key: {'null' if key is None else key}")
    if key.lower().startswith("aws:"):
        raise Validation(f"Tag Key cannot be prefixed with aws:, Key: {key}")
    return key


def demand_few(count: int) -> None:
    if count > TAGS_MAX:
        raise Validation("Number of Tags exceed the current limit for the provided ResourceArn")


def demand_resource(engine: Engine, arn: str | None) -> str:
    """The name of the table that an ARN is of; whether there is such a table is another question."""
    if arn is None:
        raise Validation("Invalid TableArn")
    if not arn.startswith("arn:"):
        raise Validation(f"{_INVALID}ARNs must start with 'arn:': {arn}")
    matched = _RESOURCE.fullmatch(arn)
    if matched is None:
        raise Validation(f"{_INVALID}Provided Arn is not a DynamoDB resource arn: {arn}")
    region, name, rest = matched.groups()
    if rest is not None:
        raise Validation(
            f"{_INVALID}Invalid resource arn provided, only table or stream is accepted. Provided resource "
            f"arn: {arn}"
        )
    if region != engine.region or not _NAME.fullmatch(name):
        raise Validation(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    return name


def tagged_table(engine: Engine, name: str) -> Table:
    try:
        return engine.table(name)
    except Refused:
        raise resource_not_found(engine.arn(name)) from None


def resource_not_found(arn: str) -> Refused:
    return Refused("ResourceNotFoundException", f"Requested resource not found: ResourceArn: {arn} not found")
