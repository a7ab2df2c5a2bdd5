"""The settings of the relay."""

from __future__ import annotations

import ipaddress
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from entrepot.accounts.model import Plan
from entrepot.settings import Section, says

DAY_SECONDS = 24 * 3600


class Allowance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a plan allows."""

    events_per_month: Annotated[int, Meta(ge=0)]
    sources: Annotated[int, Meta(ge=0)]
    connections_per_source: Annotated[int, Meta(ge=0)]
    inbound_per_minute: Annotated[int, Meta(ge=1)]
    retention_seconds: Annotated[int, Meta(ge=60)]


def _allowance(events: int, sources: int, connections: int, inbound: int, days: int) -> Allowance:
    return Allowance(
        events_per_month=events,
        sources=sources,
        connections_per_source=connections,
        inbound_per_minute=inbound,
        retention_seconds=days * DAY_SECONDS,
    )


class Plans(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All plans."""

    free: Allowance = _allowance(5_000, 3, 2, 100, 1)
    starter: Allowance = _allowance(100_000, 10, 5, 500, 7)
    pro: Allowance = _allowance(1_000_000, 50, 20, 2_000, 30)
    team: Allowance = _allowance(5_000_000, 200, 50, 10_000, 90)

    def of(self, plan: Plan) -> Allowance:
        """What this plan allows."""
        found: Allowance = getattr(self, plan)
        return found


def _networks(values: tuple[str, ...]) -> str | None:
    for value in values:
        try:
            ipaddress.ip_network(value)
        except ValueError:
            return f"{value!r} is not an address or a network like 10.0.0.0/8"
    return None


class Relay(Section, frozen=True, kw_only=True):
    """Webhooks: who may be delivered to, and what each plan allows."""

    section: ClassVar[str] = "relay"

    allow_http: Annotated[bool, says("lets destinations be http, not only https")] = False
    allow_networks: Annotated[
        tuple[str, ...], says("private networks that destinations may be in", check=_networks)
    ] = ()
    plan: Annotated[Plan, says("the plan of people who have chosen none")] = "team"
    plans: Annotated[Plans, says("what each plan allows, as [relay.plans.free] …")] = Plans()
    stripe_secret: Annotated[
        str | None, says("the signing secret of Stripe's events about subscriptions", secret=True)
    ] = None
