"""Plans: what an owner may have, how long events are kept, and how much of the month is used."""

from __future__ import annotations

import time
from collections import OrderedDict

import msgspec

from entrepot.accounts.model import Plan, User, UserId, Users
from entrepot.relay.errors import PlanLimit
from entrepot.relay.settings import Allowance, Relay
from entrepot.tables import Database

# Limits are soft by these seconds, and by those in which usage is counted.
KEPT_SECONDS = 2.0
OWNERS_KEPT = 10_000
SOURCES_WATCHED = 10_000


class Standing(msgspec.Struct, frozen=True):
    """What an owner may still do."""

    plan: Plan
    allowance: Allowance
    used: int
    closed: bool
    """The account is gone or going: nothing more is taken for it."""


class PlanBook:
    """Says where owners stand; each is read anew after seconds."""

    def __init__(self, db: Database, settings: Relay) -> None:
        self._clock = db.clock
        self._users = Users(db)
        self._settings = settings
        self._known: OrderedDict[UserId, tuple[float, Standing]] = OrderedDict()
        self._minutes: OrderedDict[str, tuple[int, int]] = OrderedDict()

    async def standing(self, user_id: UserId) -> Standing:
        """Where an owner stands, as of seconds ago at most."""
        known = self._known.get(user_id)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        found = self._standing_of(await self._users.one(user_id))
        self._known[user_id] = (time.monotonic() + KEPT_SECONDS, found)
        self._known.move_to_end(user_id)
        if len(self._known) > OWNERS_KEPT:
            self._known.popitem(last=False)
        return found

    async def retention(self, user_id: UserId) -> int:
        """How many seconds an owner's events are kept."""
        return (await self.standing(user_id)).allowance.retention_seconds

    def plan_of(self, user: User) -> Plan:
        """The plan that counts: one that was chosen, else the installation's."""
        chosen = user.stripeSubId is not None or user.plan != "free"
        return user.plan if chosen else self._settings.plan

    def forget(self, user_id: UserId) -> None:
        """Read an owner anew, since the plan has changed."""
        self._known.pop(user_id, None)

    def room_in_minute(self, source_id: str, standing: Standing) -> int:
        """Count a request of this minute; gives 0, or the seconds to wait when there were too many."""
        now = self._clock.epoch_seconds()
        minute, count = self._minutes.get(source_id, (0, 0))
        count = count + 1 if minute == now // 60 else 1
        self._minutes[source_id] = (now // 60, count)
        self._minutes.move_to_end(source_id)
        if len(self._minutes) > SOURCES_WATCHED:
            self._minutes.popitem(last=False)
        return 0 if count <= standing.allowance.inbound_per_minute else 60 - now % 60

    def check_month(self, standing: Standing) -> None:
        """Refuse an event when the month's are used up; raises PlanLimit."""
        most = standing.allowance.events_per_month
        if standing.used >= most:
            raise PlanLimit(f"The plan {standing.plan} takes {most} events a month.")

    def _standing_of(self, user: User | None) -> Standing:
        if user is None:
            return Standing("free", self._settings.plans.free, 0, closed=True)
        plan = self.plan_of(user)
        current = user.usagePeriodStart >= period_start(self._clock.stamp())
        return Standing(
            plan,
            self._settings.plans.of(plan),
            user.usageThisMonth if current else 0,
            closed=user.deletingAt is not None,
        )


def period_start(stamp: str) -> str:
    """The first day of the month of a time, in which usage is counted."""
    return f"{stamp[:7]}-01"
