"""A table whose items never expire: what has nothing to ask of the item asks nothing."""

from __future__ import annotations

import pytest

from entrepot.engine import Engine
from entrepot.tables import Access, Database, Entity, Item, Table, Update, attr, item, provision, upsert

pytestmark = pytest.mark.anyio

counters = Table("lasting-counters", "PK SK")


@counters.entity(PK="COUNTER#{name}", SK="COUNTER")
class Counter(Entity):
    name: str
    count: int = 0


class Counters(Access[Counter]):
    def one(self, name: str) -> Item[Counter]:
        return item()

    def counted(self, name: str, times: int) -> Update[Counter]:
        return upsert(attr(Counter.count).add(times))


async def test_an_upsert_needs_no_condition_where_nothing_expires(dynamo: Engine) -> None:
    db = Database(dynamo)
    await provision(db, [counters])
    await Counters(db).counted("taps", 2)
    assert (await Counters(db).counted("taps", 3)).count == 5
    assert (await Counters(db).one("taps").required()).count == 5
