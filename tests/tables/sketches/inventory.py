"""Seed 004's table with the entities that it leans on, far enough to know that the syntax carries them."""

from __future__ import annotations

from typing import Annotated, Literal, NewType

from msgspec import Meta

from entrepot.tables import (
    Access,
    Entity,
    Item,
    Many,
    One,
    Table,
    Update,
    attr,
    begins_with,
    first,
    guard,
    guarded,
    item,
    query,
    update,
)

FamilyId = NewType("FamilyId", str)
MemberId = NewType("MemberId", str)
ItemId = NewType("ItemId", str)
UrlId = NewType("UrlId", str)

inventory = Table(
    "InventoryManagement",
    "PK SK",
    indexes={"GSI1": "GSI1PK GSI1SK", "GSI2": "GSI2PK GSI2SK"},
    ttl="expiresAt",
    type_attribute="entityType",
    pitr=True,
    transactions=True,
)


@inventory.entity(PK="FAMILY#{familyId}", SK="FAMILY#{familyId}")
class Family(Entity):
    familyId: FamilyId
    name: str


@inventory.entity(
    PK="FAMILY#{familyId}", SK="MEMBER#{memberId}", GSI1PK="MEMBER#{memberId}", GSI1SK="FAMILY#{familyId}"
)
class Member(Entity):
    familyId: FamilyId
    memberId: MemberId
    role: Literal["admin", "suggester"]


class Members(Access[Member]):
    def families_of(self, memberId: MemberId) -> Many[Member]:
        return query(GSI1PK=f"MEMBER#{memberId}")


@inventory.entity(
    PK="FAMILY#{familyId}",
    SK="ITEM#{itemId}",
    GSI2PK="FAMILY#{familyId}#ITEMS",
    GSI2SK="STATUS#{status}#ITEM#{itemId}",
    version="version",
)
class InventoryItem(Entity):
    familyId: FamilyId
    itemId: ItemId
    name: str
    quantity: Annotated[int, Meta(ge=0)]
    threshold: int = 0
    status: Literal["low", "ok", "archived"] = "ok"
    version: int = 1


class Items(Access[InventoryItem]):
    def one(self, familyId: FamilyId, itemId: ItemId) -> Item[InventoryItem]:
        return item()

    def of_family(self, familyId: FamilyId) -> Many[InventoryItem]:
        """URL rows share the prefix, and are left out by their type."""
        return query(PK=f"FAMILY#{familyId}", SK=begins_with("ITEM#"))

    def low_of(self, familyId: FamilyId) -> Many[InventoryItem]:
        return query(GSI2PK=f"FAMILY#{familyId}#ITEMS", GSI2SK=begins_with("STATUS#low#"))

    def taken(self, familyId: FamilyId, itemId: ItemId, delta: int, least: int) -> Update[InventoryItem]:
        return update(attr(InventoryItem.quantity).add(delta), when=attr(InventoryItem.quantity) >= least)


@inventory.entity(
    PK="FAMILY#{familyId}",
    SK="ITEM#{itemId}#URL#{urlId}",
    GSI1PK="URL#{urlId}",
    GSI1SK="ITEM#{itemId}",
    GSI2PK="FAMILY#{familyId}#URLS",
    GSI2SK="CREATED#{createdAt}#URL#{urlId}",
    unique=[guard(PK="URL#{urlId}", SK="UNIQUE")],
)
class NFCUrl(Entity):
    urlId: Annotated[UrlId, Meta(pattern="^[0-9A-Za-z]{22}$")]
    itemId: ItemId
    familyId: FamilyId
    itemName: str
    isActive: bool = True
    createdAt: str
    createdBy: MemberId
    lastAccessedAt: str | None = None
    accessCount: int = 0
    rotatedAt: str | None = None
    rotatedBy: MemberId | None = None


class Urls(Access[NFCUrl]):
    def one(self, familyId: FamilyId, itemId: ItemId, urlId: UrlId) -> Item[NFCUrl]:
        return item()

    def by_id(self, urlId: UrlId) -> One[NFCUrl]:
        """Get URL details by urlId."""
        return first(GSI1PK=f"URL#{urlId}", confirm=True, fallback=guarded(PK=f"URL#{urlId}", SK="UNIQUE"))

    def of_item(self, familyId: FamilyId, itemId: ItemId) -> Many[NFCUrl]:
        """List all URLs for an item."""
        return query(PK=f"FAMILY#{familyId}", SK=begins_with(f"ITEM#{itemId}#URL#"))

    def of_family(self, familyId: FamilyId) -> Many[NFCUrl]:
        """List all URLs for a family, newest first."""
        return query(GSI2PK=f"FAMILY#{familyId}#URLS", descending=True)

    def accessed(
        self, familyId: FamilyId, itemId: ItemId, urlId: UrlId, times: int, at: str
    ) -> Update[NFCUrl]:
        return update(attr(NFCUrl.accessCount).add(times), attr(NFCUrl.lastAccessedAt).set(at))

    def rotated(
        self, familyId: FamilyId, itemId: ItemId, urlId: UrlId, at: str, by: MemberId
    ) -> Update[NFCUrl]:
        return update(
            attr(NFCUrl.isActive).set(False),
            attr(NFCUrl.rotatedAt).set(at),
            attr(NFCUrl.rotatedBy).set(by),
            when=attr(NFCUrl.isActive).equals(True),
        )


@inventory.entity(PK="FAMILY#{familyId}", SK="ADJ#{itemId}#{at}#{adjustmentId}")
class Adjustment(Entity):
    familyId: FamilyId
    itemId: ItemId
    at: str
    adjustmentId: str
    delta: int


@inventory.entity(PK="FAMILY#{familyId}", SK="TAPKEY#{itemId}#{key}")
class TapKey(Entity):
    familyId: FamilyId
    itemId: ItemId
    key: str
    expiresAt: int
