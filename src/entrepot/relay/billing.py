"""Billing: Stripe's events about subscriptions set the plan of the person who pays."""

from __future__ import annotations

from typing import Any

import msgspec

from entrepot.accounts.model import Plan, User, Users
from entrepot.relay import verification
from entrepot.relay.errors import WrongValue
from entrepot.relay.plans import PlanBook
from entrepot.tables import Database, attr

SUBSCRIPTION = "customer.subscription."
PLANS: tuple[Plan, ...] = ("free", "starter", "pro", "team")
# A payment that is late is being asked for again by Stripe; the plan goes when it gives up.
PAID = frozenset({"active", "trialing", "past_due"})


class Subscription(msgspec.Struct):
    """What we read of a subscription."""

    id: str
    customer: str
    status: str
    items: dict[str, Any] = {}
    metadata: dict[str, Any] = {}


class SubscriptionData(msgspec.Struct):
    object: Subscription


class SubscriptionEvent(msgspec.Struct):
    """An event about a subscription."""

    type: str
    data: SubscriptionData


class EventHead(msgspec.Struct):
    """All that is known of any event."""

    type: str


class Billing:
    """Takes Stripe's events."""

    def __init__(self, db: Database, *, plans: PlanBook, secret: str | None) -> None:
        self._db = db
        self._users = Users(db)
        self._plans = plans
        self._secret = secret

    @property
    def enabled(self) -> bool:
        """Whether there is a secret to verify events with."""
        return bool(self._secret)

    async def take(self, headers: dict[str, str], body: bytes) -> Plan | None:
        """Set the plan that an event tells; None when it is about nothing of ours. Raises Rejected, WrongValue."""
        request = verification.Request(headers, body, "")
        verification.verify("stripe", self._secret or "", request, self._db.clock.epoch_seconds())
        try:
            if not msgspec.json.decode(body, type=EventHead).type.startswith(SUBSCRIPTION):
                return None
            event = msgspec.json.decode(body, type=SubscriptionEvent)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise WrongValue("body", f"is no event of Stripe: {error}") from None
        user = await self._users.by_stripe_customer(event.data.object.customer)
        if user is None:
            return None
        ended = event.type == f"{SUBSCRIPTION}deleted"
        return await self._set_plan(user, event.data.object, ended=ended)

    async def _set_plan(self, user: User, subscription: Subscription, *, ended: bool) -> Plan | None:
        plan: Plan | None = "free" if ended or subscription.status not in PAID else plan_of(subscription)
        if plan is None:
            return None
        if plan == "free" and user.stripeSubId not in (None, subscription.id):
            # An older subscription that ends takes nothing from the one that came after it.
            return None
        await self._db.update(
            self._users.one(user.userId),
            attr(User.plan).set(plan),
            attr(User.stripeSubId).set(subscription.id),
            attr(User.updatedAt).set(self._db.clock.stamp()),
        )
        self._plans.forget(user.userId)
        return plan


def plan_of(subscription: Subscription) -> Plan | None:
    """The plan that a subscription names: in its metadata, or by its price's lookup key or metadata."""
    named = [subscription.metadata.get("plan")]
    for item in subscription.items.get("data", []):
        price = item.get("price") if isinstance(item, dict) else None
        if isinstance(price, dict):
            metadata = price.get("metadata")
            named += [price.get("lookup_key"), metadata.get("plan") if isinstance(metadata, dict) else None]
    return next((plan for name in named for plan in PLANS if plan == name), None)
