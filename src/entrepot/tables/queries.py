"""Queries: one list as requests, and the lookup that does not trust an index."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from entrepot.engine.values import Item as NativeItem
from entrepot.tables.errors import TooMany
from entrepot.tables.expressions import Condition, Expressions
from entrepot.tables.patterns import Fallback, Pattern
from entrepot.tables.results import Result

if TYPE_CHECKING:
    from entrepot.tables.database import Database

# A lookup may meet items that have expired or are of another type; this many pages of them, and it gives up.
FIRST_READS_MAX = 100
FIRST_CHUNK = 4
FILTERED_CHUNK = 100


class Query:
    """One list as requests: key condition, filter, projection, pages."""

    def __init__(
        self,
        db: Database,
        pattern: Pattern,
        values: dict[str, Any],
        *,
        result: Result,
        where: Condition | None,
        descending: bool,
    ) -> None:
        self.db = db
        self.pattern = pattern
        self.result = result
        self.descending = descending
        self.request = dict(pattern.request)
        self.values = pattern.key_values(values)
        if descending != pattern.descending:
            self.request["ScanIndexForward"] = not descending
        if where is not None or pattern.type_filter:
            self._filter(where, values)
        if result.expression is not None and not pattern.confirm:
            self.request["ProjectionExpression"] = result.expression
            self.request["ExpressionAttributeNames"] = {
                **self.request["ExpressionAttributeNames"],
                **result.names,
            }
        self.request["ExpressionAttributeValues"] = self.values

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
        self.request["FilterExpression"] = " AND ".join(texts)
        names = self.request["ExpressionAttributeNames"]
        self.request["ExpressionAttributeNames"] = {**names, **expressions.names}
        self.values.update(expressions.fill(arguments))

    async def collect(
        self, limit: int, start: NativeItem | None, *, reads_max: int | None
    ) -> tuple[list[NativeItem], NativeItem | None]:
        """Up to `limit` items, and the key to go on from when there are more.

        With a filter at most `reads_max` items are read: then there may be fewer, although there are more.
        """
        request = self.request
        filtered = "FilterExpression" in request
        items: list[NativeItem] = []
        rows: list[NativeItem] = []
        while True:
            # One more than asked for tells whether there is a next page.
            wanted = limit + 1 - len(items)
            if filtered:
                wanted = max(wanted, FILTERED_CHUNK)
                if reads_max is not None:
                    wanted = min(wanted, reads_max)
            request["Limit"] = wanted
            if start is not None:
                request["ExclusiveStartKey"] = start
            answer = await self.db.call("Query", request)
            found, shown = await self._present(answer["Items"])
            items += found
            rows += shown
            start = answer.get("LastEvaluatedKey")
            if len(items) > limit:
                return items[:limit], {name: rows[limit - 1][name] for name in self.pattern.cursor_names}
            if start is None:
                return items, None
            if filtered and reads_max is not None:
                reads_max -= answer["ScannedCount"]
                if reads_max <= 0:
                    return items, start

    async def first(self) -> NativeItem | None:
        """The first item that is live and passes."""
        request = self.request
        plain = self.pattern.table.ttl is None and "FilterExpression" not in request
        request["Limit"] = 1 if plain else FIRST_CHUNK
        for _ in range(FIRST_READS_MAX):
            answer = await self.db.call("Query", request)
            if answer["Items"]:
                found, _ = await self._present(answer["Items"])
                if found:
                    return found[0]
            if "LastEvaluatedKey" not in answer:
                return None
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        raise TooMany(f"{self.pattern.name}: no live item among {FIRST_READS_MAX} pages")

    async def _present(self, rows: list[NativeItem]) -> tuple[list[NativeItem], list[NativeItem]]:
        """The items that are live, and the row of the index that showed each: a list goes on behind the row."""
        items = rows
        if self.pattern.confirm and rows:
            items, rows = await confirm(self.db, self.pattern, rows, self.values[":partition"])
        ttl = self.pattern.table.ttl
        if ttl is None or not items:
            return items, rows
        now = self.db.now()
        if rows is items:
            items = [item for item in items if ttl not in item or item[ttl] > now]
            return items, items
        live = [place for place, item in enumerate(items) if ttl not in item or item[ttl] > now]
        return [items[place] for place in live], [rows[place] for place in live]

    async def count(self, bound: int) -> int:
        """How many items there are, up to the bound."""
        request = {**self.request, "Select": "COUNT"}
        request.pop("ProjectionExpression", None)
        names = dict(request["ExpressionAttributeNames"])
        ttl = self.pattern.table.ttl
        if ttl is not None:
            live = "(attribute_not_exists(#ttl) OR #ttl > :now)"
            known = request.get("FilterExpression")
            request["FilterExpression"] = f"{known} AND {live}" if known else live
            names["#ttl"] = ttl
            request["ExpressionAttributeValues"] = {**self.values, ":now": self.db.now()}
        # A name that no expression uses is refused, and the projection's are used by none now.
        texts = f"{request['KeyConditionExpression']} {request.get('FilterExpression')}"
        used = set(re.findall(r"#\w+", texts))
        request["ExpressionAttributeNames"] = {alias: names[alias] for alias in used}
        total: int = 0
        while True:
            answer = await self.db.call("Query", request)
            total += int(answer["Count"])
            if total >= bound or "LastEvaluatedKey" not in answer:
                return min(total, bound)
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


async def look_up(db: Database, pattern: Pattern, values: dict[str, Any]) -> NativeItem | None:
    """The first live item that an index shows, else what the fallback finds by key."""
    if pattern.kind == "guarded" and pattern.fallback is not None:
        return await _fall_back(db, pattern, pattern.fallback, values, None)
    query = Query(
        db, pattern, values, result=pattern.result, where=pattern.where, descending=pattern.descending
    )
    found = await query.first()
    if found is not None or pattern.fallback is None:
        return found
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
    db: Database, pattern: Pattern, rows: list[NativeItem], partition: Any
) -> tuple[list[NativeItem], list[NativeItem]]:
    """The items themselves, read consistently, and their rows; without those that have left the partition."""
    keys = [{name: row[name] for name in pattern.table.key_names} for row in rows]
    if len(keys) == 1:
        found = [await _read(db, pattern, keys[0])]
    else:
        found = await db.read_batch(pattern.table.name, keys)
    pairs = [
        (item, row)
        for item, row in zip(found, rows, strict=True)
        if item is not None and _index_value(pattern, item) == partition
    ]
    return [item for item, _ in pairs], [row for _, row in pairs]


def _index_value(pattern: Pattern, item: NativeItem) -> Any:
    return item.get(pattern.keys[0].attribute)
