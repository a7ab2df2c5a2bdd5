"""Which entity an item is: by its type attribute, else by the shape of its keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from entrepot.tables.errors import CorruptItem
from entrepot.tables.keys import Template

if TYPE_CHECKING:
    from entrepot.tables.model import Model
    from entrepot.tables.table import Table


def recognise(table: Table, item: Mapping[str, Any]) -> Model[Any]:
    """The model of an item, or an error when no declared entity has such keys."""
    model = find(table, item)
    if model is None:
        key = {name: item.get(name) for name in table.key_names}
        raise CorruptItem(f"{table.name} {key} is of no declared entity")
    return model


def find(table: Table, item: Mapping[str, Any]) -> Model[Any] | None:
    """The model of an item; None for guard items and for what is not declared."""
    if table.type_attribute is not None and table.type_attribute in item:
        name = item[table.type_attribute]
        return next((model for model in table.models.values() if model.type_name == name), None)
    for model in table.models.values():
        if all(_fits(model.templates[name], item.get(name)) for name in table.key_names):
            return model
    return None


def _fits(template: Template, key: Any) -> bool:
    if template.slots and template.slots[0].raw:
        return not isinstance(key, str)
    return isinstance(key, str) and _expression(template).fullmatch(key) is not None


def _expression(template: Template) -> re.Pattern[str]:
    text = ""
    for part in template.parts:
        if isinstance(part, str):
            text += re.escape(part)
            continue
        slot = part[1]
        if slot.field.values is not None:
            text += f"(?:{'|'.join(re.escape(str(value)) for value in slot.field.values)})"
        elif slot.spec.startswith("0"):
            text += f"[0-9]{{{int(slot.spec)}}}"
        else:
            text += ".+" if slot.open else f"[^{re.escape(slot.delimiter)}]+"
    return re.compile(text, re.DOTALL)
