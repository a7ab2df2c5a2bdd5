"""Declare a DynamoDB model once: typed, proven when loaded, unable to scan.

main = Table("ferryhook-main", "PK SK", indexes={"GSI3": "GSI3PK GSI3SK"})

@main.entity(PK="USER#{userId}", SK="SRC#{sourceId}", GSI3PK="SRCID#{sourceId}", GSI3SK="SOURCE")
class Source(Entity):
    sourceId: SourceId
    userId: UserId
    name: str

class Sources(Access[Source]):
    def of_user(self, userId: UserId) -> Many[Source]:
        return query(PK=f"USER#{userId}", SK=begins_with("SRC#"))

db = Database(store)
await db.create(Source(...))
page = await Sources(db).of_user(userId).page(limit=20)
"""

from __future__ import annotations

from entrepot.tables.access import Access, first, guarded, item, query, update, upsert
from entrepot.tables.database import Database, Edit
from entrepot.tables.errors import (
    AlreadyExists,
    ConditionFailed,
    CorruptItem,
    DeclarationError,
    InvalidCursor,
    InvalidKey,
    InvalidValue,
    NotFound,
    OutcomeUnknown,
    Repeated,
    ScanRefused,
    StaleKey,
    StoreLacks,
    TablesError,
    Throttled,
    TooMany,
    TransactionLost,
    Unreachable,
)
from entrepot.tables.expressions import Attr, Change, Condition, attr
from entrepot.tables.fields import SECRET
from entrepot.tables.model import Entity, guard
from entrepot.tables.patterns import above, at_least, at_most, begins_with, below, between
from entrepot.tables.provision import provision
from entrepot.tables.reads import Item, Many, One, Page
from entrepot.tables.stores import Store, open_store
from entrepot.tables.streams import Changed, changed
from entrepot.tables.table import Index, Table
from entrepot.tables.transaction import Action, Transaction
from entrepot.tables.updates import Update

__all__ = [
    "SECRET",
    "Access",
    "Action",
    "AlreadyExists",
    "Attr",
    "Change",
    "Changed",
    "Condition",
    "ConditionFailed",
    "CorruptItem",
    "Database",
    "DeclarationError",
    "Edit",
    "Entity",
    "Index",
    "InvalidCursor",
    "InvalidKey",
    "InvalidValue",
    "Item",
    "Many",
    "NotFound",
    "One",
    "OutcomeUnknown",
    "Page",
    "Repeated",
    "ScanRefused",
    "StaleKey",
    "Store",
    "StoreLacks",
    "Table",
    "TablesError",
    "Throttled",
    "TooMany",
    "Transaction",
    "TransactionLost",
    "Unreachable",
    "Update",
    "above",
    "at_least",
    "at_most",
    "attr",
    "begins_with",
    "below",
    "between",
    "changed",
    "first",
    "guard",
    "guarded",
    "item",
    "open_store",
    "provision",
    "query",
    "update",
    "upsert",
]
