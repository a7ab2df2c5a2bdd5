"""Reads: one item by its key, one through an index, or many, a page at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import msgspec

from entrepot.engine.values import Item as NativeItem
from entrepot.tables.errors import DeclarationError, NotFound, TooMany
from entrepot.tables.expressions import Condition
from entrepot.tables.keys import TemplateError
from entrepot.tables.patterns import Pattern
from entrepot.tables.queries import Query, look_up
from entrepot.tables.results import Result

if TYPE_CHECKING:
    from entrepot.tables.database import Database

T = TypeVar("T")
P = TypeVar("P", bound=msgspec.Struct)

PAGE_MAX = 1000


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
        item = await look_up(self._db, self._pattern, self._values)
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
        query = self._query()
        start = self._db.cursors.open(query.scope, cursor) if cursor is not None else None
        items, more_after = await query.collect(limit, start, reads_max=self._pattern.reads_max)
        sealed = None if more_after is None else self._db.cursors.seal(query.scope, more_after)
        return Page(self._result.decode_all(items), sealed)

    async def all(self) -> list[T]:
        """The whole list; raises TooMany when it is longer than its pattern's bound."""
        return [item async for item in self.each(at_most=self._pattern.bound)]

    async def each(self, *, at_most: int) -> AsyncIterator[T]:
        """One item after the other, read as needed; raises TooMany past `at_most`."""
        query, seen = self._query(), 0
        start: NativeItem | None = None
        while True:
            items, start = await query.collect(PAGE_MAX, start, reads_max=None)
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
        return await self._query().count(self._pattern.bound)

    def _query(self) -> Query:
        return Query(
            self._db,
            self._pattern,
            self._values,
            result=self._result,
            where=self._where,
            descending=self._descending,
        )

    def _copy(self) -> Many[T]:
        other: Many[T] = type(self)(self._db, self._pattern, self._values)
        other._result, other._where, other._descending = self._result, self._where, self._descending
        return other


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
