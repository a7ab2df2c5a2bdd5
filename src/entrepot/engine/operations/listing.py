"""What Query and Scan have in common: the index, the selection, the start key, the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entrepot.engine.capacity import READ_UNIT_BYTES, Consumed
from entrepot.engine.chaos import RunningChaos
from entrepot.engine.errors import Validation
from entrepot.engine.operations.reading import Project, admit_key
from entrepot.engine.pages import Page
from entrepot.engine.schema import Index, KeyPart, Table, demand_part
from entrepot.engine.values import Item, Value, item_size

if TYPE_CHECKING:
    from entrepot.engine.engine import Engine

_INVALID = "One or more parameter values were invalid: "
BAD_START = "The provided starting key is invalid"


_NOT_OF_THE_START = ("numeric value", "magnitude", "significant digits", "contains duplicates", "number set")


def admit_start_key(request: dict[str, Any]) -> None:
    """Refuses values of an ExclusiveStartKey that are none."""
    start = request.get("ExclusiveStartKey")
    if start is None:
        return
    try:
        admit_key(start)
    except Validation as error:
        if any(words in error.message for words in _NOT_OF_THE_START):
            raise
        raise Validation(f"{BAD_START}: {error.message}") from None


class Listing:
    """One Query or Scan: where it reads, and what it shows of what it finds."""

    def __init__(self, table: Table, request: dict[str, Any], project: Project | None) -> None:
        self.table = table
        self.request = request
        self.project = project
        self.index = demand_index(table, request)
        self.hash: KeyPart = table.hash if self.index is None else self.index.hash
        self.range: KeyPart | None = table.range if self.index is None else self.index.range
        self.key_names = table.key_names if self.index is None else self.index.key_names
        self.consistent = request.get("ConsistentRead") is True
        # The partition key that a query reads; a scan reads many, and is not counted by key.
        self.partition: Value | None = None
        # A local index can show attributes that it does not hold, by reading the item itself.
        self.fetches = self._demand_selection()

    def answer(self, page: Page) -> dict[str, Any]:
        select = self.request.get("Select")
        answer: dict[str, Any] = {"Count": len(page.items), "ScannedCount": page.scanned}
        if select != "COUNT":
            answer["Items"] = (
                page.items if self.project is None else [self.project(item) for item in page.items]
            )
        if page.last is not None:
            answer["LastEvaluatedKey"] = {name: page.last[name] for name in self.key_names}
        wanted = self.request.get("ReturnConsumedCapacity", "NONE")
        if wanted != "NONE":
            answer["ConsumedCapacity"] = self._consumed(page).answer(wanted)
        return answer

    def start_key(self, item: Item) -> bytes:
        """The bytes of a checked ExclusiveStartKey."""
        return self.table.key_of(item) if self.index is None else self.index.start_after(item)

    def demand_start_key(self) -> Item | None:
        """The ExclusiveStartKey of the request, whole and of the right types."""
        start = self.request.get("ExclusiveStartKey")
        if start is None:
            return None
        start = admit_key(start)
        if len(start) != len(self.key_names):
            raise Validation(BAD_START)
        if self.index is not None:
            for part in self.index.parts:
                if part.name not in start:
                    raise Validation(BAD_START)
                demand_part(part, start, is_hash=part is self.index.hash)
        try:
            for part in self.table.parts:
                demand_part(part, start, is_hash=part is self.table.hash)
        except Validation as error:
            raise Validation(f"{BAD_START}: {error.message}") from None
        return start

    def _demand_selection(self) -> bool:
        index = self.index
        if index is None or index.projected is None:
            return False
        select = self.request.get("Select")
        if select == "ALL_ATTRIBUTES":
            if index.is_global:
                raise Validation(
                    f"{_INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index "
                    f"{index.name} because its projection type is not ALL"
                )
            return True
        wanted: frozenset[str] | set[str] | None = getattr(self.project, "attributes", None)
        missing = set() if wanted is None else set(wanted) - index.projected
        if missing and index.is_global:
            raise Validation(
                f"{_INVALID}Global secondary index {index.name} does not project "
                f"[{', '.join(sorted(missing))}]"
            )
        return bool(missing)

    def _consumed(self, page: Page) -> Consumed:
        consumed = Consumed(self.table)
        factor = 1.0 if self.consistent else 0.5
        if self.fetches and self.index is not None:
            held = sum(item_size(self.index.shows(item)) for item in page.items)
            consumed.read(_units(held) * factor, self.index)
            consumed.read(sum(_units(item_size(item)) for item in page.items) * factor)
        else:
            consumed.read(_units(page.bytes_read) * factor, self.index)
        return consumed


def _units(size: int) -> int:
    return -(-size // READ_UNIT_BYTES)


def demand_index(table: Table, request: dict[str, Any]) -> Index | None:
    """The index that a request names, which must be there and fit the wanted consistency."""
    name = request.get("IndexName")
    if name is None:
        return None
    index = table.indexes.get(name)
    if index is None:
        raise Validation(f"The table does not have the specified index: {name}")
    if index.is_global and request.get("ConsistentRead") is True:
        raise Validation("Consistent reads are not supported on global secondary indexes")
    if index.definition.status == "CREATING":
        raise Validation(f"Cannot read from backfilling global secondary index: {name}")
    return index


def demand_select(request: dict[str, Any], *, projects: bool) -> None:
    """Select and the attributes asked for must agree."""
    select = request.get("Select")
    if select is None:
        return
    if select == "ALL_PROJECTED_ATTRIBUTES" and request.get("IndexName") is None:
        raise Validation("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
    if select == "SPECIFIC_ATTRIBUTES" and not projects:
        raise Validation(
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
        )
    if projects and select != "SPECIFIC_ATTRIBUTES":
        form = (
            "ProjectionExpression" if request.get("ProjectionExpression") is not None else "AttributesToGet"
        )
        if select == "COUNT" or select.startswith("ALL"):
            raise Validation(f"Cannot specify the {form} when choosing to get {_select_words(select)}")


def _select_words(select: str) -> str:
    return {"COUNT": "only the Count"}.get(select, select)


async def read_listing(engine: Engine, listing: Listing, page: Page) -> dict[str, Any]:
    chaos, heat = engine.chaos, engine.heat
    if chaos is not None:
        chaos.refuse(listing.table)
    if heat is not None and listing.partition is not None:
        heat.demand_read_room(listing.table, listing.index, listing.partition)
    if chaos is None:
        await page.read(engine)
    else:
        _read_unsettled(engine, chaos, listing, page)
    if heat is not None and listing.partition is not None:
        heat.read(
            listing.table,
            listing.index,
            listing.partition,
            page.bytes_read,
            consistent=listing.consistent,
        )
    return listing.answer(page)


def _read_unsettled(engine: Engine, chaos: RunningChaos, listing: Listing, page: Page) -> None:
    """Reads a page that may be short, or of an earlier state; in place, for nothing may change meanwhile."""
    start = listing.request.get("ExclusiveStartKey")
    page.limit = chaos.page_items(listing.table, page.limit, goes_on=start is not None)
    if page.limit == 0:
        page.last = start
        return
    page.range = chaos.range_at(page.range, consistent=listing.consistent)
    page.read_rest(engine.read)
