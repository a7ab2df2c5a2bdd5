"""DynamoDB's expressions: read, checked with its messages in its order, compiled, remembered.

ctx = Placeholders(names, values)
cond = ctx.condition("#s = :open AND size(tags) < :n", "ConditionExpression");  cond(item) -> bool
upd = ctx.update("SET #s = :done ADD visits :one");                             upd.apply(item) -> Item
proj = ctx.projection("id, tags[0]");                                           proj(item) -> Item
kc = ctx.key_condition("pk = :p AND sk > :from", "pk", "sk")                    -> KeyCondition
ctx.key_bounds("pk = :p").fit("pk", None)                                       the same, the schema later
ctx.finish()                                                                    refuses unused placeholders
"""

from __future__ import annotations

from entrepot.engine.expressions.conditions import Condition
from entrepot.engine.expressions.keys import KeyBounds, KeyCondition
from entrepot.engine.expressions.placeholders import Placeholders
from entrepot.engine.expressions.projections import Projection
from entrepot.engine.expressions.updates import Update

__all__ = ["Condition", "KeyBounds", "KeyCondition", "Placeholders", "Projection", "Update"]
