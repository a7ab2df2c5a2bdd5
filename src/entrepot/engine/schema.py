"""What a table is: its keys, its indexes, and the settings that describe calls tell of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from entrepot.engine import keys
from entrepot.engine.errors import Validation
from entrepot.engine.values import Item, Value, equal, type_of

PARTITION_KEY_BYTES_MAX = 2048
SORT_KEY_BYTES_MAX = 1024

_INVALID = "One or more parameter values were invalid: "
NO_MATCH = "The provided key element does not match the schema"


class KeyPart(msgspec.Struct, frozen=True):
    """One attribute of a key, and its type."""

    name: str
    kind: Literal["S", "N", "B"]


class IndexDefinition(msgspec.Struct, kw_only=True):
    """A secondary index as it was asked for; `number` names its rows in the store."""

    number: int
    name: str
    is_global: bool
    hash: KeyPart
    range: KeyPart | None
    projection: Literal["ALL", "KEYS_ONLY", "INCLUDE"]
    non_key_attributes: list[str] = []
    read_units: int = 0
    write_units: int = 0
    status: Literal["ACTIVE", "CREATING"] = "ACTIVE"
    # An index that was added later may meet items from before it that can't be in it.
    added_later: bool = False
    # The key of the last item that the backfill has looked at: writes keep the index up to here, and leave
    # what lies behind to the backfill.
    backfilled_to: bytes | None = None
    decreases_today: int = 0
    throughput_increased_at: float | None = None
    throughput_decreased_at: float | None = None
    on_demand_limits: dict[str, int] | None = None
    warm_read_units: int = 0
    warm_write_units: int = 0


class Definition(msgspec.Struct, kw_only=True):
    """Everything about a table that is kept."""

    name: str
    table_id: str
    hash: KeyPart
    range: KeyPart | None
    attributes: list[KeyPart]
    indexes: list[IndexDefinition] = []
    created_at: float
    billing_mode: Literal["PROVISIONED", "PAY_PER_REQUEST"] = "PROVISIONED"
    billing_changed_at: float | None = None
    read_units: int = 0
    write_units: int = 0
    decreases_today: int = 0
    throughput_increased_at: float | None = None
    throughput_decreased_at: float | None = None
    ttl_attribute: str | None = None
    ttl_enabled: bool = False
    # The row up to which the expiry of items is noted, while a change of it is carried through; else None.
    ttl_marked_to: int | None = None
    stream_view: str | None = None
    stream_label: str | None = None
    deletion_protection: bool = False
    table_class: str | None = None
    encryption: dict[str, Any] | None = None
    tags: dict[str, str] = {}
    recovery_enabled_at: float | None = None
    recovery_days: int = 35
    on_demand_limits: dict[str, int] | None = None
    warm_read_units: int = 0
    warm_write_units: int = 0
    next_index_number: int = 1


class Index:
    """A secondary index, ready for use: how its keys are built and what it shows of an item."""

    def __init__(self, definition: IndexDefinition, table: Table) -> None:
        self.definition = definition
        self.name = definition.name
        self.is_global = definition.is_global
        self.hash = definition.hash
        self.range = definition.range
        self.rows = f"index_{table.id}_{definition.number}"
        self.parts = [part for part in (definition.hash, definition.range) if part is not None]
        self.key_names = list(dict.fromkeys([part.name for part in (*table.parts, *self.parts)]))
        self.projected: frozenset[str] | None = None
        if definition.projection != "ALL":
            self.projected = frozenset((*self.key_names, *definition.non_key_attributes))
        self.sql_insert = f"INSERT INTO {self.rows} (key, item) VALUES (?, ?)"
        self.sql_delete = f"DELETE FROM {self.rows} WHERE key = ?"
        self._table = table
        self._build = _builder(definition.hash, definition.range)
        self.reached = definition.backfilled_to or b""
        # The index key of an item, or None where the index has no place for the item.
        self.key_of: Callable[[Item, bytes], bytes | None] = self._key_of
        if definition.status == "CREATING":
            self.key_of = self._key_so_far
        elif definition.added_later:
            self.key_of = self.key_if_fit

    def _key_of(self, item: Item, base_key: bytes) -> bytes | None:
        """An item that lacks an attribute of the key is not in the index (it is sparse)."""
        if self.hash.name not in item or (self.range is not None and self.range.name not in item):
            return None
        return self._build(item) + base_key

    def key_if_fit(self, item: Item, base_key: bytes) -> bytes | None:
        """The same for items older than the index, whose attributes may be of other types or too long."""
        for part in self.parts:
            if part.name not in item:
                return None
            try:
                demand_index_part(self, part, item[part.name])
            except Validation:
                return None
        return self._build(item) + base_key

    def _key_so_far(self, item: Item, base_key: bytes) -> bytes | None:
        """The same while the index is filled: items that the backfill comes to later are not yet in it."""
        return self.key_if_fit(item, base_key) if base_key <= self.reached else None

    def start_after(self, item: Item) -> bytes:
        """The index key of an ExclusiveStartKey."""
        return self._build(item) + self._table.key_of(item)

    def shows(self, item: Item) -> Item:
        """What the index holds of an item."""
        if self.projected is None:
            return item
        return {name: value for name, value in item.items() if name in self.projected}


class Table:
    """A table, ready for use."""

    def __init__(self, number: int, definition: Definition) -> None:
        self.id = number
        self.definition = definition
        self.name = definition.name
        self.hash = definition.hash
        self.range = definition.range
        self.parts = [part for part in (definition.hash, definition.range) if part is not None]
        self.key_names = [part.name for part in self.parts]
        self.rows = f"items_{number}"
        self.key_of = _builder(definition.hash, definition.range)
        self.indexes = {index.name: Index(index, self) for index in definition.indexes}
        self.maintained = list(self.indexes.values())
        # Of several indexes that an attribute breaks, the service names the first by name.
        ordered = sorted(self.maintained, key=lambda index: index.name)
        self.index_parts = [(index, part) for index in ordered for part in index.parts]
        self.has_local_indexes = any(not index.is_global for index in self.maintained)
        self.ttl_attribute = definition.ttl_attribute if definition.ttl_enabled else None
        self.sql_find = f"SELECT id, size, image FROM {self.rows} WHERE key = ?"
        self.sql_get = f"SELECT size, image FROM {self.rows} WHERE key = ?"
        columns = "(key, size, expires, image) VALUES (?, ?, ?, ?)"
        self.sql_insert = f"INSERT INTO {self.rows} {columns} ON CONFLICT (key) DO NOTHING"
        self.sql_update = f"UPDATE {self.rows} SET size = ?, expires = ?, image = ? WHERE id = ?"
        self.sql_delete = f"DELETE FROM {self.rows} WHERE id = ?"

    def demand_key(self, key: Item) -> bytes:
        """The bytes of the key that a request gives, which must be the whole key and nothing else."""
        if len(key) != len(self.parts):
            raise Validation(NO_MATCH)
        for part in self.parts:
            value = key.get(part.name)
            kind = type(value)
            if kind is str and part.kind == "S" and 0 < len(value) <= 256:  # type: ignore[arg-type]
                continue
            demand_part(part, key, is_hash=part is self.hash)
        return self.key_of(key)

    def demand_item_keys(self, item: Item) -> bytes:
        """The bytes of the key of a whole item; its index keys must be of their types too."""
        for part in self.parts:
            value = item.get(part.name, item)
            if type(value) is str and part.kind == "S" and 0 < len(value) <= 256:
                continue
            demand_item_part(part, item, is_hash=part is self.hash)
        if self.index_parts:
            self.demand_index_keys(item)
        return self.key_of(item)

    def demand_index_keys(self, item: Item, before: Item | None = None) -> None:
        """Attributes of index keys must be of their types, unless they were so before and stay as they are."""
        for index, part in self.index_parts:
            if part.name in item:
                value = item[part.name]
                if type(value) is str and part.kind == "S" and 0 < len(value) <= 256:
                    continue
                if before is None or part.name not in before or not equal(before[part.name], value):
                    demand_index_part(index, part, value, updating=before is not None)


def demand_part(part: KeyPart, key: Item, *, is_hash: bool) -> None:
    """One attribute of a given key: there, of its type, not empty, not too long."""
    if part.name not in key or type_of(key[part.name]) != part.kind:
        raise Validation(NO_MATCH)
    value = key[part.name]
    if part.kind != "N" and not value:
        word = "string" if part.kind == "S" else "binary"
        raise Validation(
            f"One or more parameter values are not valid. The AttributeValue for a key attribute cannot "
            f"contain an empty {word} value. Key: {part.name}"
        )
    demand_key_size(part, value, is_hash=is_hash)


def demand_item_part(part: KeyPart, item: Item, *, is_hash: bool) -> None:
    if part.name not in item:
        raise Validation(f"{_INVALID}Missing the key {part.name} in the item")
    value = item[part.name]
    kind = type_of(value)
    if kind != part.kind:
        raise Validation(f"{_INVALID}Type mismatch for key {part.name} expected: {part.kind} actual: {kind}")
    demand_part(part, item, is_hash=is_hash)


def demand_index_part(index: Index, part: KeyPart, value: Value, *, updating: bool = False) -> None:
    kind = type_of(value)
    if kind != part.kind:
        raise Validation(
            f"{_INVALID}Type mismatch for Index Key {part.name} Expected: {part.kind} Actual: {kind} "
            f"IndexName: {index.name}"
        )
    if part.kind != "N" and not value:
        word = "string" if part.kind == "S" else "binary"
        cannot = f"The AttributeValue for a key attribute cannot contain an empty {word} value."
        if updating:
            raise Validation(
                f"One or more parameter values are not valid. The update expression attempted to update a "
                f"secondary index key to a value that is not supported. {cannot}"
            )
        raise Validation(
            f"One or more parameter values are not valid. A value specified for a secondary index key is not "
            f"supported. {cannot} IndexName: {index.name}, IndexKey: {part.name}"
        )
    demand_key_size(part, value, is_hash=part is index.hash)


def demand_key_size(part: KeyPart, value: Value, *, is_hash: bool) -> None:
    if part.kind == "N":
        return
    size = len(value.encode()) if part.kind == "S" else len(value)
    if is_hash and size > PARTITION_KEY_BYTES_MAX:
        raise Validation(f"{_INVALID}Size of hashkey has exceeded the maximum size limit of2048 bytes")
    if not is_hash and size > SORT_KEY_BYTES_MAX:
        raise Validation(
            f"{_INVALID}Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
        )


def _builder(hash_part: KeyPart, range_part: KeyPart | None) -> Callable[[Item], bytes]:
    """A function from an item to the bytes of its key."""
    partition = keys.partition
    hash_name, hash_kind = hash_part.name, hash_part.kind
    if range_part is None:
        return lambda item: partition(hash_kind, item[hash_name])
    sort = keys.SORTERS[range_part.kind]
    range_name = range_part.name
    return lambda item: partition(hash_kind, item[hash_name]) + sort(item[range_name])
