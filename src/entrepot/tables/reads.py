"""Reads: one item by its key, one through an index, or many, a page at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import msgspec

from entrepot.engine.values import Item as NativeItem
from entrepot.tables.errors import DeclarationError, NotFound, TooMany
from entrepot.tables.expressions import Condition, Expressions
from entrepot.tables.keys import TemplateError
from entrepot.tables.patterns import Fallback, Pattern
from entrepot.tables.results import Result

if TYPE_CHECKING:
    from entrepot.tables.database import Database

T = TypeVar("T")
P = TypeVar("P", bound=msgspec.Struct)

PAGE_MAX = 1000
# A lookup may meet items that have expired or are of another type; this many pages of them, and it gives up.
FIRST_READS_MAX = 100
FIRST_CHUNK = 4
FILTERED_CHUNK = 100


class One(Generic[T]):
    """At most one item: `await` it, and it is there or None."""

    __slots__ = ("_db", "_pattern", "_result", "_values")

    def __init__(
        self, db: Database, pattern: Pattern, values: dict[str, Any], result: Result | None = None
    ) -> None:
        self._db = db
        self._pattern = pattern
        self._values = values
        self._result = result or pattern.result

    def __await__(self) -> Generator[Any, None, T | None]:
        return self.get().__await__()

    async def get(self) -> T | None:
        """The item, or None."""
        item = await _look_up(self._db, self._pattern, self._values)
        return None if item is None else cast("T", self._result.decode(item))

    async def required(self) -> T:
        """The item; raises NotFound when there is none."""
        found = await self.get()
        if found is None:
            raise NotFound(f"{self._pattern.name}({_shown(self._values)}): not found")
        return found

    def only(self, struct: type[P]) -> One[P]:
        """The same item, but just the attributes of a smaller Struct."""
        return cast(
            "One[P]", type(self)(self._db, self._pattern, self._values, _narrow(self._pattern, struct))
        )


class Item(One[T]):
    """An item by its primary key: it can be read, and it is what writes are aimed at."""

    __slots__ = ()

    async def get(self) -> T | None:
        """The item, or None when there is none or its time has passed."""
        pattern, db = self._pattern, self._db
        request: dict[str, Any] = {
            "TableName": pattern.table.name,
            "Key": {builder.attribute: builder.build(self._values) for builder in pattern.keys},
            "ConsistentRead": pattern.consistent,
        }
        result = self._result
        if result.expression is not None:
            request["ProjectionExpression"] = result.expression
            request["ExpressionAttributeNames"] = result.names
        item = (await db.call("GetItem", request)).get("Item")
        if item is None:
            return None
        ttl = pattern.table.ttl
        if ttl is not None and ttl in item and item[ttl] <= db.now():
            return None
        return cast("T", result.decode(item))

    @property
    def pattern(self) -> Pattern:
        return self._pattern

    def key(self) -> NativeItem:
        """The primary key, as the table has it."""
        return {builder.attribute: builder.build(self._values) for builder in self._pattern.keys}

    def attributes(self) -> dict[str, Any]:
        """The entity's attributes that the key is made of."""
        return {
            slot.name: self._values[name]
            for builder in self._pattern.keys
            for name, slot in (part for part in builder.template.parts if not isinstance(part, str))
        }


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list; `cursor` leads to the next, and is None at the end."""

    items: list[T]
    cursor: str | None = None


class Many(Generic[T]):
    """A list that is read in pages. Every way to read it has a bound."""

    __slots__ = ("_db", "_descending", "_pattern", "_result", "_values", "_where")

    def __init__(self, db: Database, pattern: Pattern, values: dict[str, Any]) -> None:
        self._db = db
        self._pattern = pattern
        self._values = values
        self._result = pattern.result
        self._where: Condition | None = pattern.where
        self._descending = pattern.descending

    def only(self, struct: type[P]) -> Many[P]:
        """The same list, but just the attributes of a smaller Struct."""
        other = self._copy()
        other._result = _narrow(self._pattern, struct)
        return cast("Many[P]", other)

    def where(self, condition: Condition) -> Many[T]:
        """Only items for which the condition holds; they are read all the same."""
        other = self._copy()
        other._where = condition if self._where is None else self._where & condition
        return other

    def reversed(self) -> Many[T]:
        """The list from its other end."""
        other = self._copy()
        other._descending = not self._descending
        return other

    async def first(self) -> T | None:
        """The first item, or None."""
        page = await self.page(limit=1)
        return page.items[0] if page.items else None

    async def page(self, *, limit: int, cursor: str | None = None) -> Page[T]:
        """Up to `limit` items after the cursor, and a cursor when there are more."""
        if not 1 <= limit <= PAGE_MAX:
            raise ValueError(f"limit is {limit}, a page has 1 to {PAGE_MAX} items")
        query = _Query(self)
        start = self._db.cursors.open(query.scope, cursor) if cursor is not None else None
        items, more_after = await query.collect(limit, start)
        sealed = None if more_after is None else self._db.cursors.seal(query.scope, more_after)
        return Page(self._result.decode_all(items), sealed)

    async def all(self) -> list[T]:
        """The whole list; raises TooMany when it is longer than its pattern's bound."""
        return [item async for item in self.each(at_most=self._pattern.bound)]

    async def each(self, *, at_most: int) -> AsyncIterator[T]:
        """One item after the other, read as needed; raises TooMany past `at_most`."""
        query, seen = _Query(self), 0
        start: NativeItem | None = None
        while True:
            items, start = await query.collect(PAGE_MAX, start, filtered_reads_max=None)
            for item in self._result.decode_all(items):
                seen += 1
                if seen > at_most:
                    raise TooMany(
                        f"{self._pattern.name}({_shown(self._values)}) has more than {at_most} items"
                    )
                yield item
            if start is None:
                return

    async def count(self) -> int:
        """How many items there are, up to the pattern's bound."""
        return await _Query(self).count(self._pattern.bound)

    def _copy(self) -> Many[T]:
        other: Many[T] = type(self)(self._db, self._pattern, self._values)
        other._result, other._where, other._descending = self._result, self._where, self._descending
        return other


class _Query:
    """One list as requests."""

    def __init__(self, many: Many[Any]) -> None:
        self.db = many._db
        self.pattern = many._pattern
        self.result = many._result
        self.confirm = self.pattern.confirm
        self.request = dict(self.pattern.request)
        self.values = self.pattern.key_values(many._values)
        self.filtered = False
        if many._descending != self.pattern.descending:
            self.request["ScanIndexForward"] = not many._descending
        if many._where is not None or self.pattern.type_filter:
            self._filter(many._where, many._values)
        if self.result.expression is not None and not self.confirm:
            self.request["ProjectionExpression"] = self.result.expression
            self.request["ExpressionAttributeNames"] = {
                **self.request["ExpressionAttributeNames"],
                **self.result.names,
            }
        self.request["ExpressionAttributeValues"] = self.values
        self.descending = many._descending

    @property
    def scope(self) -> str:
        """What a cursor of this list is bound to."""
        filtered = self.request.get("FilterExpression")
        return f"{self.pattern.name}\n{filtered}\n{self.descending}\n{sorted(self.values.items())}"

    def _filter(self, where: Condition | None, arguments: dict[str, Any]) -> None:
        model = self.pattern.model
        expressions = Expressions(model.encode_value)
        texts = []
        if self.pattern.type_filter:
            type_attribute = str(self.pattern.table.type_attribute)
            texts.append(f"{expressions.name(type_attribute)} = {expressions.raw(model.type_name)}")
        if where is not None:
            texts.append(f"({expressions.condition(where)})")
            self.filtered = True
        self.request["FilterExpression"] = " AND ".join(texts)
        names = self.request["ExpressionAttributeNames"]
        self.request["ExpressionAttributeNames"] = {**names, **expressions.names}
        self.values.update(expressions.fill(arguments))

    async def collect(
        self, limit: int, start: NativeItem | None, *, filtered_reads_max: int | None = -1
    ) -> tuple[list[NativeItem], NativeItem | None]:
        """Up to `limit` items, and the key to go on from when there are more."""
        reads_left = self.pattern.reads_max if filtered_reads_max == -1 else filtered_reads_max
        has_filter = "FilterExpression" in self.request
        items: list[NativeItem] = []
        request = self.request
        while True:
            # One more than asked for tells whether there is a next page.
            request["Limit"] = (
                max(limit + 1 - len(items), FILTERED_CHUNK) if has_filter else limit + 1 - len(items)
            )
            if reads_left is not None and has_filter:
                request["Limit"] = min(request["Limit"], reads_left)
            if start is not None:
                request["ExclusiveStartKey"] = start
            answer = await self.db.call("Query", request)
            found = await self._present(answer["Items"])
            items.extend(found)
            start = answer.get("LastEvaluatedKey")
            if len(items) > limit:
                items = items[:limit]
                return items, self._key_after(items[-1])
            if start is None:
                return items, None
            if reads_left is not None and has_filter:
                reads_left -= answer["ScannedCount"]
                if reads_left <= 0:
                    return items, start

    async def first(self) -> NativeItem | None:
        """The first item that is live and passes."""
        request = self.request
        plain = self.pattern.table.ttl is None and "FilterExpression" not in request
        request["Limit"] = 1 if plain else FIRST_CHUNK
        for _ in range(FIRST_READS_MAX):
            answer = await self.db.call("Query", request)
            found = answer["Items"]
            if found:
                found = await self._present(found)
                if found:
                    return found[0]
            if "LastEvaluatedKey" not in answer:
                return None
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        raise TooMany(f"{self.pattern.name}: no live item among {FIRST_READS_MAX} pages")

    async def _present(self, items: list[NativeItem]) -> list[NativeItem]:
        ttl = self.pattern.table.ttl
        if self.confirm and items:
            items = await confirm(self.db, self.pattern, items, self.values[":partition"])
        if ttl is None or not items:
            return items
        now = self.db.now()
        return [item for item in items if ttl not in item or item[ttl] > now]

    def _key_after(self, item: NativeItem) -> NativeItem:
        return {name: item[name] for name in self.pattern.cursor_names}

    async def count(self, bound: int) -> int:
        request = {**self.request, "Select": "COUNT"}
        request.pop("ProjectionExpression", None)
        ttl = self.pattern.table.ttl
        if ttl is not None:
            live = "(attribute_not_exists(#ttl) OR #ttl > :now)"
            known = request.get("FilterExpression")
            request["FilterExpression"] = f"{known} AND {live}" if known else live
            request["ExpressionAttributeNames"] = {**request["ExpressionAttributeNames"], "#ttl": ttl}
            request["ExpressionAttributeValues"] = {**self.values, ":now": self.db.now()}
        if self.result.expression is not None:
            used = " ".join(str(request.get(part)) for part in ("KeyConditionExpression", "FilterExpression"))
            names = request["ExpressionAttributeNames"]
            request["ExpressionAttributeNames"] = {a: n for a, n in names.items() if a in used}
        total: int = 0
        while True:
            answer = await self.db.call("Query", request)
            total += int(answer["Count"])
            if total >= bound or "LastEvaluatedKey" not in answer:
                return min(total, bound)
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


async def _look_up(db: Database, pattern: Pattern, values: dict[str, Any]) -> NativeItem | None:
    """The first live item that an index shows, else what the fallback finds by key."""
    if pattern.kind == "guarded" and pattern.fallback is not None:
        return await _fall_back(db, pattern, pattern.fallback, values, None)
    query = _Query(Many(db, pattern, values))
    found = await query.first()
    if found is not None:
        return found
    if pattern.fallback is None:
        return None
    return await _fall_back(db, pattern, pattern.fallback, values, query.values[":partition"])


async def _fall_back(
    db: Database, pattern: Pattern, fallback: Fallback, values: dict[str, Any], partition: Any
) -> NativeItem | None:
    key = {builder.attribute: builder.build(values) for builder in fallback.keys}
    found = await _read(db, pattern, key)
    if found is not None and fallback.guard is not None:
        if pattern.model.expired(found, db.now()):
            return None
        found = await _read(db, pattern, found["of"])
    if found is None or pattern.model.expired(found, db.now()):
        return None
    # The key leads to the item, but it must be one that the index would have shown, or that holds the guard.
    if partition is None:
        return found if fallback.guard is not None and fallback.guard.build(found) == key else None
    return found if _index_value(pattern, found) == partition else None


async def _read(db: Database, pattern: Pattern, key: NativeItem) -> NativeItem | None:
    request = {"TableName": pattern.table.name, "Key": key, "ConsistentRead": True}
    return cast("NativeItem | None", (await db.call("GetItem", request)).get("Item"))


async def confirm(
    db: Database, pattern: Pattern, items: list[NativeItem], partition: Any
) -> list[NativeItem]:
    """The items themselves, read consistently; those that have left the partition since are left out."""
    keys = [{name: item[name] for name in pattern.table.key_names} for item in items]
    if len(keys) == 1:
        found = [await _read(db, pattern, keys[0])]
    else:
        found = await db.read_batch(pattern.table.name, keys)
    return [item for item in found if item is not None and _index_value(pattern, item) == partition]


def _index_value(pattern: Pattern, item: NativeItem) -> Any:
    return item.get(pattern.keys[0].attribute)


def _narrow(pattern: Pattern, struct: type[P]) -> Result:
    known = pattern.narrowed.get(struct)
    if known is not None:
        return known
    try:
        result = Result(pattern.model, struct, [pattern.model], None if pattern.confirm else pattern.index)
    except TemplateError as error:
        raise DeclarationError(f"{pattern.name}: {error}", file=pattern.file, line=pattern.line) from None
    if pattern.index is not None and not pattern.confirm:
        for name in result.needs(pattern.type_filter):
            if not pattern.index.projects(name, pattern.table):
                raise DeclarationError(
                    f"{pattern.name}: the index {pattern.index.name} does not project {name!r}",
                    file=pattern.file,
                    line=pattern.line,
                )
    pattern.narrowed[struct] = result
    return result


def _shown(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())
