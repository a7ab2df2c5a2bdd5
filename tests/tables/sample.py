"""A small model that uses everything: an owner's notes, with tags, guards, versions, TTL and several entities."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal, NewType

from msgspec import Meta, Struct

from entrepot.tables import (
    SECRET,
    Access,
    Entity,
    Index,
    Item,
    Many,
    One,
    Table,
    Update,
    attr,
    begins_with,
    between,
    first,
    guard,
    guarded,
    item,
    query,
    update,
    upsert,
)

OwnerId = NewType("OwnerId", str)
NoteId = NewType("NoteId", str)

notes = Table(
    "notes",
    "PK SK",
    indexes={
        "GSI1": "GSI1PK GSI1SK",
        "thin": Index("thinPk thinSk", project=["noteId", "title", "expiresAt"]),
    },
    ttl="expiresAt",
    type_attribute="entityType",
    stream="NEW_AND_OLD_IMAGES",
)
measures = Table("measures", "device at:N")
TABLES = [notes, measures]


class Place(Struct):
    city: str
    floor: int | None = None


@notes.entity(
    PK="OWNER#{owner}",
    SK="NOTE#{noteId}",
    GSI1PK="SLUG#{slug:fold}",
    GSI1SK="NOTE",
    thinPk="STATE#{owner}#{state}",
    thinSk="{rank:05}#{noteId}",
    unique=[guard(PK="SLUG#{slug:fold}", SK="UNIQUE")],
    version="version",
)
class Note(Entity):
    noteId: NoteId
    owner: OwnerId
    title: Annotated[str, Meta(max_length=100)] = "untitled"
    slug: str | None = None
    state: Literal["open", "done"] = "open"
    rank: Annotated[int, Meta(ge=0)] = 0
    version: int = 1
    views: int = 0
    tags: frozenset[str] = frozenset()
    place: Place | None = None
    score: float | None = None
    price: Decimal | None = None
    blob: bytes | None = None
    secret: Annotated[str, SECRET] | None = None
    extra: dict[str, Any] | None = None
    lines: list[str] = []
    expiresAt: int | None = None


class NoteLine(Struct):
    noteId: NoteId
    title: str


class Notes(Access[Note]):
    def one(self, owner: OwnerId, noteId: NoteId) -> Item[Note]:
        return item()

    def of_owner(self, owner: OwnerId) -> Many[Note]:
        return query(PK=f"OWNER#{owner}", SK=begins_with("NOTE#"), at_most=200)

    def lines_of_owner(self, owner: OwnerId) -> Many[NoteLine]:
        return query(PK=f"OWNER#{owner}", SK=begins_with("NOTE#"))

    def by_slug(self, slug: str) -> One[Note]:
        return first(GSI1PK=f"SLUG#{slug:fold}", fallback=guarded(PK=f"SLUG#{slug:fold}", SK="UNIQUE"))

    def holding_slug(self, slug: str) -> One[Note]:
        return guarded(PK=f"SLUG#{slug:fold}", SK="UNIQUE")

    def in_state(self, owner: OwnerId, state: Literal["open", "done"]) -> Many[Note]:
        return query(thinPk=f"STATE#{owner}#{state}", confirm=True)

    def ranked_between(
        self, owner: OwnerId, state: Literal["open", "done"], low: int, high: int
    ) -> Many[NoteLine]:
        return query(thinPk=f"STATE#{owner}#{state}", thinSk=between(f"{low:05}#", f"{high:05}#\uffff"))

    def finished(self, owner: OwnerId, noteId: NoteId, rank: int) -> Update[Note]:
        return update(
            attr(Note.state).set("done"), attr(Note.rank).set(rank), when=attr(Note.state) == "open"
        )

    def viewed(self, owner: OwnerId, noteId: NoteId, times: int) -> Update[Note]:
        return update(attr(Note.views).add(times))

    def placed(self, owner: OwnerId, noteId: NoteId, place: Place | None) -> Update[Note]:
        return update(attr(Note.place).set(place))


@notes.entity(PK="OWNER#{owner}", SK="NOTE#{noteId}#COMMENT#{number:03}")
class Comment(Entity):
    owner: OwnerId
    noteId: NoteId
    number: int
    text: str
    expiresAt: int | None = None


class Comments(Access[Comment]):
    def one(self, owner: OwnerId, noteId: NoteId, number: int) -> Item[Comment]:
        return item()

    def of_note(self, owner: OwnerId, noteId: NoteId) -> Many[Comment]:
        return query(PK=f"OWNER#{owner}", SK=begins_with(f"NOTE#{noteId}#COMMENT#"))

    def with_notes(self, owner: OwnerId) -> Many[Note | Comment]:
        return query(PK=f"OWNER#{owner}", SK=begins_with("NOTE#"))


@notes.entity(PK="OWNER#{owner}", SK="COUNT#{day}")
class DayCount(Entity):
    owner: OwnerId
    day: str
    count: int = 0
    expiresAt: int


class DayCounts(Access[DayCount]):
    def one(self, owner: OwnerId, day: str) -> Item[DayCount]:
        return item()

    def counted(self, owner: OwnerId, day: str, times: int, expiresAt: int) -> Update[DayCount]:
        return upsert(attr(DayCount.count).add(times), attr(DayCount.expiresAt).set_if_absent(expiresAt))


@notes.entity(PK="DONE#{key}", SK="ONCE")
class Done(Entity):
    key: str
    result: str
    expiresAt: int


@measures.entity()
class Measure(Entity):
    device: str
    at: int
    value: float


class Measures(Access[Measure]):
    def one(self, device: str, at: int) -> Item[Measure]:
        return item()

    def between(self, device: str, low: int, high: int) -> Many[Measure]:
        return query(device=f"{device}", at=between(low, high))

    def latest(self, device: str) -> One[Measure]:
        return first(device=f"{device}", descending=True)


OWNER = OwnerId("o1")
OTHER = OwnerId("o2")


def note(number: int = 1, owner: OwnerId = OWNER, **attributes: Any) -> Note:
    """A note to write, with whatever the test is about."""
    return Note(noteId=NoteId(f"n{number:03}"), owner=owner, **attributes)
