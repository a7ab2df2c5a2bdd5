"""What a read answers: an entity, a smaller Struct of its attributes, or one of several entities."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from entrepot.engine.values import Item
from entrepot.tables.errors import CorruptItem
from entrepot.tables.fields import NATIVE, identity_of, without_none
from entrepot.tables.keys import TemplateError
from entrepot.tables.recognition import recognise

if TYPE_CHECKING:
    from entrepot.tables.model import Model
    from entrepot.tables.table import Index, Table


class Result:
    """Decodes the items of one read, and says which attributes the read must ask for."""

    __slots__ = ("_many", "_page", "attributes", "expression", "model", "names", "struct", "table")

    def __init__(
        self, model: Model[Any], result: Any, members: Sequence[Model[Any]], index: Index | None
    ) -> None:
        self.table: Table = model.table
        self.model = model
        self._many = len(members) > 1 or typing.get_origin(result) is not None
        self.struct: type[msgspec.Struct] = model.entity if self._many else result
        # msgspec keeps what it knows of a Struct, but works out `list[...]` anew on every call.
        self._page = msgspec.defstruct("Page", [("items", list[self.struct])])  # type: ignore[name-defined]
        self.attributes: list[str] | None = None
        self.expression: str | None = None
        self.names: dict[str, str] = {}
        if not self._many and self.struct is not model.entity:
            self._project(index)

    def _project(self, index: Index | None) -> None:
        wanted: list[str] = []
        for info in msgspec.structs.fields(self.struct):
            field = self.model.fields.get(info.encode_name)
            if field is None:
                raise TemplateError(
                    f"{self.struct.__name__}.{info.encode_name} is no attribute of {self.model.name}"
                )
            bare = info.default is msgspec.NODEFAULT and not without_none(info.type)[1]
            if identity_of(info.type) != field.identity or (field.optional and bare):
                raise TemplateError(
                    f"{self.struct.__name__}.{info.encode_name} is {info.type}, "
                    f"but {self.model.name}.{info.encode_name} is {field.annotation}"
                )
            wanted.append(info.encode_name)
        self.attributes = wanted
        # Keys are for cursors, the TTL for what has expired, the type for what shares a prefix.
        table = self.table
        extra = [*table.key_names, *(index.key_names if index else ()), table.ttl, table.type_attribute]
        every = list(wanted)
        for name in extra:
            if name is not None and name not in every and (index is None or index.projects(name, table)):
                every.append(name)
        self.names = {f"#{name}": name for name in every}
        self.expression = ", ".join(self.names)

    def needs(self, type_filter: bool) -> list[str]:
        """The attributes that an index must project to serve this result."""
        needed = list(self.attributes if self.attributes is not None else self.model.fields)
        if (
            self.table.ttl is not None
            and self.table.ttl in self.model.fields
            and self.table.ttl not in needed
        ):
            needed.append(self.table.ttl)
        if type_filter and self.table.type_attribute is not None:
            needed.append(self.table.type_attribute)
        return needed

    def decode(self, item: Mapping[str, Any]) -> Any:
        """What one item says."""
        if self._many:
            return recognise(self.table, item).decode(item)
        try:
            return msgspec.convert(item, self.struct, builtin_types=NATIVE)
        except msgspec.ValidationError as error:
            key = {name: item.get(name) for name in self.table.key_names}
            raise CorruptItem(f"{self.table.name} {key} is no {self.struct.__name__}: {error}") from None

    def decode_all(self, items: list[Item]) -> list[Any]:
        """What a page of items says, decoded in one go."""
        if self._many or len(items) <= 1:
            return [self.decode(item) for item in items]
        try:
            page: Any = msgspec.convert({"items": items}, self._page, builtin_types=NATIVE)
            return page.items  # type: ignore[no-any-return]
        except msgspec.ValidationError:
            return [self.decode(item) for item in items]
