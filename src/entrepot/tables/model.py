"""A compiled entity: its codec, its keys, its guards. Made once, when the entity is declared."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, dataclass_transform

import msgspec

from entrepot.engine.errors import Validation
from entrepot.engine.values import ITEM_BYTES_MAX, Item, item_size
from entrepot.tables.errors import CorruptItem, InvalidKey, InvalidValue
from entrepot.tables.fields import NATIVE, PLAIN, Field, encode_any, field_of
from entrepot.tables.keys import Template

if TYPE_CHECKING:
    from entrepot.tables.table import Index, Table

E = TypeVar("E", bound="Entity")

_PATH = re.compile(r" - at `\$\.(\w+)")
# A cheap sum decides whether an item could be near DynamoDB's limit and must be measured.
_MEASURE_FROM_CHARACTERS = ITEM_BYTES_MAX // 8


class EntityMeta(msgspec.StructMeta):
    """Makes every entity's attributes keyword-only, so that they may stand in the order of the document."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        options.setdefault("kw_only", True)
        return super().__new__(mcls, name, bases, namespace, **options)


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Entity(msgspec.Struct, metaclass=EntityMeta):
    """The base of all entities: a Struct whose attributes are the item's attributes."""


class Guard:
    """An item that makes a value unique, and leads to the entity that holds it."""

    __slots__ = ("build", "keys", "name", "templates", "texts")

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)
        self.templates: dict[str, Template] = {}
        self.build: Callable[[Mapping[str, Any]], Item | None] = lambda values: None
        self.name = " ".join(texts.values())

    @property
    def fields(self) -> set[str]:
        return {name for template in self.templates.values() for name in template.names}


def guard(**keys: str) -> Guard:
    """A unique constraint: the guard item with these keys is written and removed with its entity."""
    return Guard(keys)


class Model(Generic[E]):
    """Everything that is derived from one entity's declaration."""

    def __init__(self, entity: type[E], table: Table, *, file: str, line: int) -> None:
        self.entity = entity
        self.name = entity.__name__
        self.table = table
        self.file = file
        self.line = line
        infos = msgspec.structs.fields(entity)
        self.fields: dict[str, Field] = {info.encode_name: field_of(info) for info in infos}
        self.templates: dict[str, Template] = {}
        self.guards: tuple[Guard, ...] = ()
        self.version: str | None = None
        self.key_builders: list[tuple[str, Callable[[Mapping[str, Any]], Any]]] = []
        self.index_builders: list[tuple[Index, list[tuple[str, Any]], tuple[str, ...]]] = []
        self.type_name: str | None = None
        self._encoders = [(name, field.encode) for name, field in self.fields.items() if field.encode]
        self._droppable = [
            name for name, field in self.fields.items() if field.optional or field.kind in ("SS", "NS", "BS")
        ]
        self._nested = [name for name, field in self.fields.items() if field.nested]

    def __repr__(self) -> str:
        return self.name

    @property
    def key_fields(self) -> set[str]:
        """The attributes that make the primary key."""
        return {name for attribute in self.table.key_names for name in self.templates[attribute].names}

    def compile(self) -> None:
        """Make the builders, once all templates are known."""
        self.key_builders = [(name, self.templates[name].builder()) for name in self.table.key_names]
        self.index_builders = []
        for index in self.table.indexes.values():
            # An attribute that is itself a field, or part of the primary key, is written anyway.
            derived = [
                (name, self.templates[name].builder())
                for name in index.key_names
                if name in self.templates and name not in self.fields and name not in self.table.key_names
            ]
            names = [slot for name, _ in derived for slot in self.templates[name].names]
            sparse = tuple(name for name in names if self.fields[name].optional)
            if derived:
                self.index_builders.append((index, derived, sparse))

    # -- encoding

    def encode(self, entity: E) -> Item:
        """The whole item: attributes, keys, index keys; refused when a value is wrong."""
        item = self.attributes_of(entity)
        for name, build in self.key_builders:
            item[name] = build(item)
        for _, derived, sparse in self.index_builders:
            if any(name not in item for name in sparse):
                continue
            for name, build in derived:
                item[name] = build(item)
        if self.type_name is not None:
            item[self.table.type_attribute] = self.type_name  # type: ignore[index]
        return item

    def attributes_of(self, entity: E) -> Item:
        """The attributes in native form, without the keys that are derived from them."""
        try:
            item = msgspec.structs.asdict(entity)
            checked = item
            if self._nested:
                plain = {name: msgspec.to_builtins(item[name], builtin_types=PLAIN) for name in self._nested}
                checked = {**item, **plain}
            msgspec.convert(checked, self.entity, builtin_types=NATIVE)
            for name, encode in self._encoders:
                value = item[name]
                if value is not None:
                    item[name] = encode(value)
        except (msgspec.ValidationError, Validation, TypeError, AttributeError, ValueError) as error:
            raise self._refusal(entity, error) from None
        for name in self._droppable:
            if item[name] is None:
                del item[name]
        return item

    def encode_value(self, name: str, value: Any) -> Any:
        """One attribute's value in native form, refused when it is wrong; without a name any value will do."""
        if not name:
            return encode_any(value)
        field = self.fields[name]
        try:
            plain = msgspec.to_builtins(value, builtin_types=PLAIN) if field.nested else value
            msgspec.convert(plain, field.annotation, builtin_types=NATIVE)
            return field.encode(value) if field.encode is not None and value is not None else value
        except (msgspec.ValidationError, Validation, TypeError, AttributeError, ValueError) as error:
            raise self._invalid(name, value, error) from None

    def check_size(self, item: Item) -> None:
        """Refuse an item over DynamoDB's limit, naming its largest attribute."""
        rough = 0
        for value in item.values():
            kind = value.__class__
            if kind is str or kind is bytes:
                rough += len(value)
            elif kind is dict or kind is list or kind is set:
                rough = _MEASURE_FROM_CHARACTERS
                break
        if rough < _MEASURE_FROM_CHARACTERS:
            return
        size = item_size(item)
        if size <= ITEM_BYTES_MAX:
            return
        largest = max(item, key=lambda name: item_size({name: item[name]}))
        reason = f"the item would have {size} bytes, the limit is {ITEM_BYTES_MAX}"
        raise InvalidValue(self.name, largest, f"{item_size({largest: item[largest]})} bytes", reason)

    def _refusal(self, entity: E, error: Exception) -> InvalidValue:
        found = _PATH.search(str(error))
        if found and found.group(1) in self.fields:
            name = found.group(1)
            return self._invalid(name, getattr(entity, name), error)
        for name in self.fields:
            try:
                self.encode_value(name, getattr(entity, name))
            except InvalidValue as invalid:
                return invalid
        return InvalidValue(self.name, "?", None, _reason(error))

    def _invalid(self, name: str, value: Any, error: Exception) -> InvalidValue:
        shown = "(secret)" if self.fields[name].secret else value
        return InvalidValue(self.name, name, shown, _reason(error))

    # -- keys

    def key_of(self, item: Mapping[str, Any]) -> Item:
        """The primary key of an item, or from the attributes that make it."""
        return {name: build(item) for name, build in self.key_builders}

    def key_of_entity(self, entity: E) -> Item:
        """The primary key of an entity."""
        try:
            return {name: build(_Values(entity)) for name, build in self.key_builders}
        except AttributeError as error:
            raise InvalidKey(self.name, str(error.name), None, "not set") from None

    def expired(self, item: Mapping[str, Any], now: int) -> bool:
        """Whether the item's time has passed, deleted or not."""
        ttl = self.table.ttl
        return ttl is not None and isinstance(item.get(ttl), (int, float)) and item[ttl] <= now

    # -- decoding

    def decode(self, item: Mapping[str, Any]) -> E:
        """The entity that an item holds."""
        try:
            return msgspec.convert(item, self.entity, builtin_types=NATIVE)
        except msgspec.ValidationError as error:
            raise self._corrupt(item, error) from None

    def _corrupt(self, item: Mapping[str, Any], error: Exception) -> CorruptItem:
        key = {name: item.get(name) for name in self.table.key_names}
        return CorruptItem(f"{self.table.name} {key} is no {self.name}: {_reason(error)}")


class _Values(Mapping[str, Any]):
    """An entity's attributes by name, for the key builders."""

    __slots__ = ("_entity",)

    def __init__(self, entity: Any) -> None:
        self._entity = entity

    def __getitem__(self, name: str) -> Any:
        return getattr(self._entity, name)

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


def _reason(error: Exception) -> str:
    return getattr(error, "message", None) or str(error)
