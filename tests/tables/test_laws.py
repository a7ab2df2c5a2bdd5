"""Any entity survives the round trip; any sequence of writes does the same to a dictionary; no index is stale."""

from __future__ import annotations

import copy
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entrepot.tables import AlreadyExists, ConditionFailed, Database, NotFound, attr
from entrepot.tables.recognition import find
from entrepot.tables.scanning import every_item
from tests.tables.sample import OWNER, Note, NoteId, Notes, OwnerId, Place, notes

pytestmark = pytest.mark.anyio

lawful = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

words = st.text(max_size=30)
names = st.text(min_size=1, max_size=30)
key_words = st.text(st.characters(exclude_characters="#", exclude_categories=["Cs"]), min_size=1, max_size=30)
whole = st.integers(min_value=-(10**38) + 1, max_value=10**38 - 1)
# moto can't read a number that is longer than 38 digits when written out; the engine's own tests go further.
magnitudes = st.floats(min_value=1e-20, max_value=1e30)
reals = magnitudes | magnitudes.map(lambda real: -real) | st.just(0.0)
decimals = st.decimals(
    allow_nan=False, allow_infinity=False, places=10, min_value=-(10**25), max_value=10**25
)
# Where nothing says float, a whole number comes back as an int: the same number while a float is exact.
scalars = (
    words
    | st.integers(-(2**60), 2**60)
    | reals.filter(lambda x: abs(x) < 2**53)
    | st.booleans()
    | st.none()
    | st.binary(max_size=30)
)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=10,
)
any_note = st.builds(
    Note,
    noteId=key_words.map(NoteId),
    owner=key_words.map(OwnerId),
    title=words,
    slug=st.none() | key_words,
    state=st.sampled_from(["open", "done"]),
    rank=st.integers(0, 99_999),
    version=whole.filter(lambda number: number > 0),
    views=whole,
    tags=st.frozensets(words, max_size=4),
    place=st.none() | st.builds(Place, city=words, floor=st.none() | st.integers(-5, 200)),
    score=st.none() | reals,
    price=st.none() | decimals,
    blob=st.none() | st.binary(max_size=50),
    extra=st.none() | st.dictionaries(names, documents, max_size=4),
    lines=st.lists(words, max_size=4),
    expiresAt=st.none() | st.integers(4_000_000_000, 5_000_000_000),
)


@lawful
@given(any_note)
async def test_any_entity_survives_the_round_trip(db: Database, made: Note) -> None:
    stored = Notes(db).one(made.owner, made.noteId)
    await db.delete(stored)
    if made.slug is not None:
        holder = await Notes(db).holding_slug(made.slug)
        if holder is not None:
            await db.delete(holder)
    await db.create(made)
    assert await stored == made
    listed = await Notes(db).of_owner(made.owner).all()
    assert made in listed


numbers = st.integers(0, 3)
slugs = st.sampled_from([None, "a", "B", "b", "c"])
operations = st.lists(
    st.one_of(
        st.tuples(st.just("create"), numbers, slugs),
        st.tuples(st.just("edit"), numbers, st.fixed_dictionaries({}, optional={
            "slug": slugs, "state": st.sampled_from(["open", "done"]), "rank": st.integers(0, 9), "title": words,
            "tags": st.frozensets(words, max_size=2), "score": st.none() | reals,
        })),
        st.tuples(st.just("finish"), numbers, st.integers(0, 9)),
        st.tuples(st.just("view"), numbers, st.integers(-3, 3)),
        st.tuples(st.just("delete"), numbers, st.none()),
        st.tuples(st.just("move"), numbers, numbers),
        st.tuples(st.just("retitle"), numbers, words),
    ),
    max_size=15,
)  # fmt: skip


class Dictionary:
    """What the same operations do to a plain dictionary."""

    def __init__(self) -> None:
        self.notes: dict[int, Note] = {}

    def taken(self, slug: str | None, but: int) -> bool:
        return slug is not None and any(
            number != but and held.slug is not None and held.slug.casefold() == slug.casefold()
            for number, held in self.notes.items()
        )

    def create(self, number: int, slug: str | None) -> type[Exception] | None:
        if number in self.notes or self.taken(slug, number):
            return AlreadyExists
        self.notes[number] = made(number, slug)
        return None

    def edit(self, number: int, changes: dict[str, Any]) -> type[Exception] | None:
        if number not in self.notes:
            return NotFound
        if self.taken(changes.get("slug"), number):
            return AlreadyExists
        held = copy.copy(self.notes[number])
        for name, value in changes.items():
            setattr(held, name, value)
        if held != self.notes[number]:
            held.version += 1
        self.notes[number] = held
        return None

    def finish(self, number: int, rank: int) -> type[Exception] | None:
        if number not in self.notes:
            return NotFound
        if self.notes[number].state != "open":
            return ConditionFailed
        return self.edit(number, {"state": "done", "rank": rank})

    def view(self, number: int, times: int) -> type[Exception] | None:
        if number not in self.notes:
            return NotFound
        self.notes[number].views += times
        self.notes[number].version += 1
        return None

    def delete(self, number: int, _: None) -> type[Exception] | None:
        self.notes.pop(number, None)
        return None

    def move(self, number: int, to: int) -> type[Exception] | None:
        """A transaction: one note goes, another takes its slug."""
        if number not in self.notes or to in self.notes or number == to:
            return ConditionFailed
        self.notes[to] = made(to, None)
        self.notes.pop(number)
        return None

    def retitle(self, number: int, title: str) -> type[Exception] | None:
        if number not in self.notes:
            return NotFound
        self.notes[number].title = title
        self.notes[number].version += 1
        return None


def made(number: int, slug: str | None) -> Note:
    return Note(noteId=NoteId(f"n{number}"), owner=OWNER, slug=slug)


class Stored:
    """The operations on the database."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.notes = Notes(db)

    async def create(self, number: int, slug: str | None) -> None:
        await self.db.create(made(number, slug))

    async def edit(self, number: int, changes: dict[str, Any]) -> None:
        async with self.db.edit(self.notes.one(OWNER, NoteId(f"n{number}"))) as draft:
            for name, value in changes.items():
                setattr(draft, name, value)

    async def finish(self, number: int, rank: int) -> None:
        await self.notes.finished(OWNER, NoteId(f"n{number}"), rank)

    async def view(self, number: int, times: int) -> None:
        await self.notes.viewed(OWNER, NoteId(f"n{number}"), times)

    async def delete(self, number: int, _: None) -> None:
        await self.db.delete(self.notes.one(OWNER, NoteId(f"n{number}")))

    async def move(self, number: int, to: int) -> None:
        held = await self.notes.one(OWNER, NoteId(f"n{number}"))
        if held is None or number == to or await self.notes.one(OWNER, NoteId(f"n{to}")) is not None:
            raise ConditionFailed("no move")
        async with self.db.transaction() as t:
            t.delete(held)
            t.create(made(to, None))

    async def retitle(self, number: int, title: str) -> None:
        await self.db.update(self.notes.one(OWNER, NoteId(f"n{number}")), attr(Note.title).set(title))


@lawful
@given(operations)
async def test_any_sequence_of_operations_equals_the_same_on_a_dictionary(
    db: Database, sequence: list[tuple[str, int, Any]]
) -> None:
    await empty(db)
    stored, plain = Stored(db), Dictionary()
    for name, number, argument in sequence:
        expected = getattr(plain, name)(number, argument)
        try:
            await getattr(stored, name)(number, argument)
            happened = None
        except ConditionFailed as refused:
            happened = type(refused)
        assert happened is expected, (name, number, argument)
    held = [plain.notes[number] for number in sorted(plain.notes)]
    assert await stored.notes.of_owner(OWNER).all() == held
    for state in ("open", "done"):
        in_state = sorted((n for n in held if n.state == state), key=lambda n: (n.rank, n.noteId))
        assert await stored.notes.in_state(OWNER, state).all() == in_state
    for slug in ("a", "b", "c"):
        holder = next((n for n in held if n.slug is not None and n.slug.casefold() == slug), None)
        assert await stored.notes.by_slug(slug) == holder
        assert await stored.notes.holding_slug(slug) == holder
    await assert_equal_to_a_rebuild(db)


async def assert_equal_to_a_rebuild(db: Database) -> None:
    """Every item's keys and guards are exactly those that its attributes give."""
    items = [item async for item in every_item(db, notes)]
    guards = {}
    for item in items:
        model = find(notes, item)
        if model is None:
            guards[item["PK"], item["SK"]] = item["of"]
            continue
        assert model.encode(model.decode(item)) == item
    derived = {}
    for item in items:
        model = find(notes, item)
        for guard in model.guards if model is not None else ():
            key = guard.build(item)
            if key is not None:
                derived[key["PK"], key["SK"]] = {"PK": item["PK"], "SK": item["SK"]}
    assert guards == derived


async def empty(db: Database) -> None:
    for item in [item async for item in every_item(db, notes)]:
        await db.call("DeleteItem", {"TableName": "notes", "Key": {"PK": item["PK"], "SK": item["SK"]}})


@pytest.mark.parametrize("store", ["engine", "wire"], indirect=True)
@pytest.mark.parametrize("score", [1e-130, -1e-130, 9.99e124, -1e125, 1.1850108426516758e17, 0.1, -0.0])
async def test_the_ends_of_the_range_of_numbers_survive(db: Database, score: float) -> None:
    await db.create(Note(noteId=NoteId("n"), owner=OWNER, score=score))
    assert (await Notes(db).one(OWNER, NoteId("n")).required()).score == score


def test_prices_keep_all_their_digits() -> None:
    model = Note.__model__  # type: ignore[attr-defined]
    exact = Decimal("12345678901234567890.1234567890")
    item = model.encode(Note(noteId=NoteId("n"), owner=OWNER, price=exact))
    assert model.decode(item).price == exact
