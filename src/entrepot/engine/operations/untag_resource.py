"""UntagResource: takes tags away from a table; those that it has not are no error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from entrepot.engine.errors import Validation
from entrepot.engine.operations import fields, tags
from entrepot.engine.operations.operation import Operation
from entrepot.engine.shapes import ListOf, Record
from entrepot.engine.storage import Transaction

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

SHAPE = Record("UntagResourceInput", {"ResourceArn": fields.TEXT, "TagKeys": ListOf(fields.TEXT)})


async def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    name = tags.demand_resource(engine, request.get("ResourceArn"))
    keys = request.get("TagKeys")
    if keys is None:
        raise Validation(
            "1 validation error detected: Value null at 'tagKeys' failed to satisfy constraint: Member must not be "
            "null"
        )
    if not keys:
        raise Validation("Atleast one Tag Key needs to be provided as Input.")
    removed = {tags.demand_key(key) for key in keys}
    tags.demand_few(len(keys))
    table = tags.tagged_table(engine, name)

    def change(transaction: Transaction) -> None:
        current = engine.catalog.in_step(table)
        kept = {key: value for key, value in current.definition.tags.items() if key not in removed}
        engine.catalog.replace(transaction, current, msgspec.structs.replace(current.definition, tags=kept))

    await engine.writer.submit(change)
    return {}


OPERATION = Operation("UntagResource", SHAPE, run)
