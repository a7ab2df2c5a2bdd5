"""Attribute values in the engine's native form, and what can be done with them.

A value is held as the Python value that says the same:

    S   str                 L   list                SS  set of str
    N   int, float, Decimal M   dict                NS  set of numbers
    B   bytes               BOOL bool               BS  set of bytes
                            NULL None

A number has one form only (`canonical`): an int where it is whole, a float where the float's shortest
text is the number, else a Decimal of up to 38 digits. So the common numbers are cheap, and all are exact.
"""

from __future__ import annotations

from entrepot.engine.values.attribute_json import from_wire, item_from_wire, item_to_wire, to_wire
from entrepot.engine.values.kinds import Invalid, Item, Value, admit, compare, equal, type_of
from entrepot.engine.values.numbers import Number, canonical, exact, number_from_text, number_to_text
from entrepot.engine.values.prepared import prepare
from entrepot.engine.values.sizes import ITEM_BYTES_MAX, item_size, size_of

__all__ = [
    "ITEM_BYTES_MAX",
    "Invalid",
    "Item",
    "Number",
    "Value",
    "admit",
    "canonical",
    "compare",
    "equal",
    "exact",
    "from_wire",
    "item_from_wire",
    "item_size",
    "item_to_wire",
    "number_from_text",
    "number_to_text",
    "prepare",
    "size_of",
    "to_wire",
    "type_of",
]
