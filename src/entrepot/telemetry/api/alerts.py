"""Routes of alerts."""

from __future__ import annotations

import msgspec
from litestar import delete, get, patch, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody

from entrepot.http.caller import Caller
from entrepot.http.pages import limit_within
from entrepot.telemetry.api.requests import (
    PAGE_DEFAULT,
    PAGE_MAX,
    TAGS,
    Context,
    Cursor,
    Limit,
    answered,
    person_of,
    reader,
    writer,
)
from entrepot.telemetry.model import Alert
from entrepot.telemetry.thresholds import AlertBody


class AlertView(msgspec.Struct, omit_defaults=True, kw_only=True):
    """An alert as the API shows it; `raised_for` names the devices for which it is raised now."""

    alert_id: str
    created_at: str
    updated_at: str
    hardware_id: str | None = None
    metric: str | None = None
    above: float | None = None
    below: float | None = None
    silent_for: int | None = None
    hysteresis: float | None = None
    is_active: bool
    raised_for: list[str] | None = None

    @classmethod
    def of(cls, alert: Alert, raised_for: list[str] | None = None) -> AlertView:
        return cls(
            alert_id=alert.alert_id,
            created_at=alert.created_at,
            updated_at=alert.updated_at,
            hardware_id=alert.hardware_id,
            metric=alert.metric,
            above=alert.threshold if alert.kind == "above" else None,
            below=alert.threshold if alert.kind == "below" else None,
            silent_for=alert.silent_for_seconds,
            hysteresis=None if alert.kind == "silent" else alert.hysteresis,
            is_active=alert.is_active,
            raised_for=raised_for,
        )


class AlertPage(msgspec.Struct, omit_defaults=True):
    """One's alerts."""

    alerts: list[AlertView]
    next_cursor: str | None = None


def routes(context: Context) -> list[HTTPRouteHandler]:
    """The routes of alerts."""

    @post("/telemetry/alerts", guards=[writer], tags=TAGS, summary="Make an alert")
    async def make(caller: NamedDependency[Caller], data: JSONBody[AlertBody]) -> AlertView:
        """Makes an alert for one device, or for all without `hardware_id`: above, below or silent_for."""
        with answered():
            return AlertView.of(await context.alerts.make(person_of(caller), data))

    @get("/telemetry/alerts", guards=[reader], tags=TAGS, summary="Alerts")
    async def alerts(
        caller: NamedDependency[Caller], limit: Limit = None, cursor: Cursor = None
    ) -> AlertPage:
        """One's alerts."""
        size = limit_within(limit, default=PAGE_DEFAULT, most=PAGE_MAX)
        page = await context.alerts.page(person_of(caller), limit=size, cursor=cursor)
        return AlertPage([AlertView.of(alert) for alert in page.items], page.cursor)

    @get("/telemetry/alerts/{alert_id:str}", guards=[reader], tags=TAGS, summary="An alert")
    async def one(caller: NamedDependency[Caller], alert_id: FromPath[str]) -> AlertView:
        """An alert, and the devices for which it is raised."""
        with answered():
            alert = await context.alerts.one(person_of(caller), alert_id)
            return AlertView.of(alert, list(await context.alerts.raised(alert)))

    @patch("/telemetry/alerts/{alert_id:str}", guards=[writer], tags=TAGS, summary="Change an alert")
    async def change(
        caller: NamedDependency[Caller], alert_id: FromPath[str], data: JSONBody[AlertBody]
    ) -> AlertView:
        """Changes what is said; what is absent stays. With other terms its states begin anew."""
        with answered():
            return AlertView.of(await context.alerts.change(person_of(caller), alert_id, data))

    @delete("/telemetry/alerts/{alert_id:str}", guards=[writer], tags=TAGS, summary="Delete an alert")
    async def remove(caller: NamedDependency[Caller], alert_id: FromPath[str]) -> None:
        """Deletes an alert with its states."""
        with answered():
            await context.alerts.delete(person_of(caller), alert_id)

    return [make, alerts, one, change, remove]
