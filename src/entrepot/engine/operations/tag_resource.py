"""TagResource: gives a table tags, over those of the same keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from entrepot.engine.errors import Validation
from entrepot.engine.operations import fields, tags
from entrepot.engine.operations.operation import Operation
from entrepot.engine.shapes import Record
from entrepot.engine.storage import Transaction

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

SHAPE = Record("TagResourceInput", {"ResourceArn": fields.TEXT, "Tags": tags.TAGS})


async def run(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    name = tags.demand_resource(engine, request.get("ResourceArn"))
    wanted = request.get("Tags")
    if wanted is None:
        raise Validation(
            "1 validation error detected: Value null at 'tags' failed to satisfy constraint: Member must not be null"
        )
    if not wanted:
        raise Validation("Atleast one Tag needs to be provided as Input.")
    added = tags.read_tags(wanted)
    table = tags.tagged_table(engine, name)

    def change(transaction: Transaction) -> None:
        current = engine.catalog.in_step(table)
        kept = current.definition.tags | added
        tags.demand_few(len(kept))
        engine.catalog.replace(transaction, current, msgspec.structs.replace(current.definition, tags=kept))

    await engine.writer.submit(change)
    return {}


OPERATION = Operation("TagResource", SHAPE, run)
