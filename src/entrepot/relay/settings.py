"""The settings of the relay."""

from __future__ import annotations

import ipaddress
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from entrepot.accounts.model import Plan
from entrepot.settings import Section, says

DAY_SECONDS = 24 * 3600


Events = Annotated[int, Meta(ge=0)]
Sources = Annotated[int, Meta(ge=0)]
Connections = Annotated[int, Meta(ge=0)]
Inbound = Annotated[int, Meta(ge=1)]
Retention = Annotated[int, Meta(ge=60)]


class Allowance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a plan allows; the numbers are those of `team`."""

    events_per_month: Events = 5_000_000
    sources: Sources = 200
    connections_per_source: Connections = 50
    inbound_per_minute: Inbound = 10_000
    retention_seconds: Retention = 90 * DAY_SECONDS


class Free(Allowance, frozen=True, kw_only=True):
    events_per_month: Events = 5_000
    sources: Sources = 3
    connections_per_source: Connections = 2
    inbound_per_minute: Inbound = 100
    retention_seconds: Retention = DAY_SECONDS


class Starter(Allowance, frozen=True, kw_only=True):
    events_per_month: Events = 100_000
    sources: Sources = 10
    connections_per_source: Connections = 5
    inbound_per_minute: Inbound = 500
    retention_seconds: Retention = 7 * DAY_SECONDS


class Pro(Allowance, frozen=True, kw_only=True):
    events_per_month: Events = 1_000_000
    sources: Sources = 50
    connections_per_source: Connections = 20
    inbound_per_minute: Inbound = 2_000
    retention_seconds: Retention = 30 * DAY_SECONDS


class Plans(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All plans; what the file does not say of one stays as it is here."""

    free: Free = Free()
    starter: Starter = Starter()
    pro: Pro = Pro()
    team: Allowance = Allowance()

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
