"""Actions: a put, an update, a delete or a check of one item.

An action first decides, which may refuse it and writes nothing, and then is kept. So a transaction can
decide all of its actions before it keeps the first, and a group can hold refused ones beside kept ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from entrepot.engine.capacity import Consumed
from entrepot.engine.errors import ConditionFailed, Validation
from entrepot.engine.expressions import Update
from entrepot.engine.schema import Table
from entrepot.engine.storage import Transaction, rows
from entrepot.engine.storage.rows import Found
from entrepot.engine.values import ITEM_BYTES_MAX, Item, prepare

Condition = Callable[[Item], bool]

ITEM_TOO_LARGE = "Item size has exceeded the maximum allowed size"
UPDATE_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"


class Action:
    """One change of one item, read from a request and checked against its table."""

    __slots__ = ("condition", "key", "shows_old_on_failure", "table")

    def __init__(
        self,
        table: Table,
        key: bytes,
        condition: Condition | None = None,
        *,
        shows_old_on_failure: bool = False,
    ) -> None:
        self.table = table
        self.key = key
        self.condition = condition
        self.shows_old_on_failure = shows_old_on_failure

    def decide(self, transaction: Transaction, table: Table) -> Change:
        """What the action would change, or ConditionFailed; `table` is the table as it is now."""
        found = rows.find(transaction, table, self.key)
        if self.condition is not None and not self.condition({} if found is None else found.item):
            raise ConditionFailed(found.item if found is not None and self.shows_old_on_failure else None)
        return Change(table, self.key, found, self.result(table, found))

    def result(self, table: Table, found: Found | None) -> tuple[Item, int, bytes] | None:
        """The item as it is afterwards, prepared; None where there is none."""
        raise TypeError(f"{type(self).__name__} does not say what it results in")


class Put(Action):
    """Replaces the item as a whole."""

    __slots__ = ("prepared",)

    def __init__(self, table: Table, item: Item, condition: Condition | None = None, **options: bool) -> None:
        self.prepared = prepare(item)
        if self.prepared[1] > ITEM_BYTES_MAX:
            raise Validation(ITEM_TOO_LARGE)
        super().__init__(table, table.demand_item_keys(self.prepared[0]), condition, **options)

    def decide(self, transaction: Transaction, table: Table) -> Change:
        if self.condition is None and table is self.table:
            return Unseen(transaction, table, self.key, self.prepared)
        return super().decide(transaction, table)

    def result(self, table: Table, found: Found | None) -> tuple[Item, int, bytes]:
        if table is not self.table:
            # An index came since the request was checked.
            table.demand_index_keys(self.prepared[0])
        return self.prepared


class Delete(Action):
    """Removes the item, if it is there."""

    __slots__ = ()

    def result(self, table: Table, found: Found | None) -> None:
        return None


class Change:
    """A decided change: what was there, and what comes in its place."""

    __slots__ = ("_found", "after", "key", "table")

    def __init__(
        self, table: Table, key: bytes, found: Found | None, after: tuple[Item, int, bytes] | None
    ) -> None:
        self.table = table
        self.key = key
        self._found = found
        self.after = after

    @property
    def found(self) -> Found | None:
        """The item as it was before."""
        return self._found

    @property
    def old(self) -> Item | None:
        return None if self.found is None else self.found.item

    @property
    def new(self) -> Item | None:
        return None if self.after is None else self.after[0]

    def keep(self, transaction: Transaction) -> None:
        """Writes the change into the open transaction."""
        if self.after is not None:
            rows.put(transaction, self.table, self.key, self.found, self.after)
        elif self.found is not None:
            rows.delete(transaction, self.table, self.key, self.found)

    def consumed(self, consumed: Consumed, factor: int = 1) -> None:
        sizes = (0 if self.found is None else self.found.size, 0 if self.after is None else self.after[1])
        consumed.change(self.old, self.new, size=max(sizes), factor=factor)


class Unseen(Change):
    """A put of which nobody asked what was there before: most make new items, and need not look for an old one."""

    __slots__ = ("_seen", "_transaction")

    def __init__(
        self, transaction: Transaction, table: Table, key: bytes, after: tuple[Item, int, bytes]
    ) -> None:
        super().__init__(table, key, None, after)
        self._transaction = transaction
        self._seen = False

    @property
    def found(self) -> Found | None:
        if not self._seen:
            self._found = rows.find(self._transaction, self.table, self.key)
            self._seen = True
        return self._found

    def keep(self, transaction: Transaction) -> None:
        if (
            not self._seen
            and self.after is not None
            and rows.insert(transaction, self.table, self.key, self.after)
        ):
            self._seen = True
            return
        super().keep(transaction)


class Check(Action):
    """Only demands that its condition holds."""

    __slots__ = ()

    def decide(self, transaction: Transaction, table: Table) -> Change:
        change = super().decide(transaction, table)
        return Unchanged(table, self.key, change.found, None)

    def result(self, table: Table, found: Found | None) -> None:
        return None


class Unchanged(Change):
    """The outcome of a check: an item that was looked at."""

    __slots__ = ()

    def keep(self, transaction: Transaction) -> None:
        return

    def consumed(self, consumed: Consumed, factor: int = 1) -> None:
        size = 0 if self.found is None else self.found.size
        consumed.change(self.old, self.old, size=size, factor=factor)


class Edit(Action):
    """Changes attributes of the item, or makes it from its key."""

    __slots__ = ("key_item", "update")

    def __init__(
        self,
        table: Table,
        key: bytes,
        key_item: Item,
        update: Update | None,
        condition: Condition | None = None,
        **options: bool,
    ) -> None:
        super().__init__(table, key, condition, **options)
        self.key_item = key_item
        self.update = update

    def result(self, table: Table, found: Found | None) -> tuple[Item, int, bytes]:
        before: dict[str, Any] = self.key_item if found is None else found.item
        after = before if self.update is None else self.update.apply(before)
        prepared = prepare(after)
        if prepared[1] > ITEM_BYTES_MAX:
            raise Validation(UPDATE_TOO_LARGE)
        if table.index_parts:
            table.demand_index_keys(prepared[0], before)
        return prepared
