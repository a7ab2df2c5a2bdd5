"""A table of the tests: counters that work adds to, so that it can be seen how often its effect happened."""

from __future__ import annotations

from entrepot.tables import Access, Entity, Item, Table, Update, attr, item, upsert

tallies = Table("tallies", "PK", ttl="expiresAt", transactions=True)


@tallies.entity(PK="TALLY#{name}")
class Tally(Entity):
    name: str
    count: int = 0


class Tallies(Access[Tally]):
    def one(self, name: str) -> Item[Tally]:
        return item()

    def counted(self, name: str, count: int) -> Update[Tally]:
        return upsert(attr(Tally.count).add(count))
