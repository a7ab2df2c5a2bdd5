"""ListTagsOfResource: the tags of a table, in the order of their keys, a page at a time."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from entrepot.engine.errors import Validation
from entrepot.engine.operations import fields, tags
from entrepot.engine.operations.operation import Operation
from entrepot.engine.shapes import Record

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

SHAPE = Record("ListTagsOfResourceInput", {"ResourceArn": fields.TEXT, "NextToken": fields.TEXT})

# As many as a table may have: a table that was tagged within its limit is told in one page.
PAGE_TAGS = tags.TAGS_MAX


def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    name = tags.demand_resource(engine, request.get("ResourceArn"))
    kept = tags.tagged_table(engine, name).definition.tags
    keys = sorted(kept)
    token = request.get("NextToken")
    if token is not None:
        keys = keys[bisect_right(keys, _read_token(token)) :]
    page = keys[:PAGE_TAGS]
    answer: dict[str, Any] = {"Tags": [{"Key": key, "Value": kept[key]} for key in page]}
    if len(keys) > PAGE_TAGS:
        answer["NextToken"] = base64.urlsafe_b64encode(page[-1].encode()).decode()
    return answer


def _read_token(token: str) -> str:
    """The key that a page ended with."""
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise Validation("Invalid NextToken provided as input") from None


OPERATION = Operation("ListTagsOfResource", SHAPE, run, answers_at_once=True)
