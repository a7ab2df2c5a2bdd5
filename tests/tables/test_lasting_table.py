"""A table whose items never expire, with counters and gauges in it."""

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


@counters.entity(PK="GAUGE#{name}", SK="GAUGE")
class Gauge(Entity):
    name: str
    level: float


class Gauges(Access[Gauge]):
    def one(self, name: str) -> Item[Gauge]:
        return item()


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


@pytest.mark.parametrize("level", [3, 0, -7, 2.0, 21.5, 1e-12, 10**20])
async def test_a_whole_number_passes_for_a_float(dynamo: Engine, level: float) -> None:
    db = Database(dynamo)
    await provision(db, [counters])
    await db.put(Gauge(name="tank", level=level))
    found = await Gauges(db).one("tank").required()
    assert found.level == level
    assert type(found.level) is float
