"""The route of analytics."""

from __future__ import annotations

from typing import Annotated

from litestar import get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter
from msgspec import Struct

from entrepot.http.caller import Caller, reader
from entrepot.relay.analytics import Analytics, Counts, Latency, Period, SourceCounts, Span
from entrepot.relay.api.context import TAGS, owner_of
from entrepot.relay.plans import PlanBook

PeriodQuery = Annotated[Period, QueryParameter(description="24h by hours, 7d and 30d by days.")]


class Usage(Struct):
    """How much of the plan's month is used."""

    plan: str
    eventsThisMonth: int
    eventsPerMonth: int


class AnalyticsView(Struct):
    """Totals, success rate, latency, what happened when, the busiest sources, usage."""

    period: Period
    totals: Counts
    latencyMs: Latency
    spans: list[Span]
    topSources: list[SourceCounts]
    usage: Usage


def routes(analytics: Analytics, plans: PlanBook) -> list[HTTPRouteHandler]:
    """The route of analytics."""

    @get("/hooks/analytics", guards=[reader], tags=TAGS, summary="How one's sources do")
    async def report(caller: NamedDependency[Caller], period: PeriodQuery = "24h") -> AnalyticsView:
        """Counted by hours or days of UTC; exact within seconds of what happened."""
        owner = owner_of(caller)
        found = await analytics.report(owner, period)
        standing = await plans.standing(owner)
        usage = Usage(standing.plan, standing.used, standing.allowance.events_per_month)
        return AnalyticsView(
            found.period, found.totals, found.latencyMs, found.spans, found.topSources, usage
        )

    return [report]
