"""The route of Stripe's events about subscriptions."""

from __future__ import annotations

from litestar import post
from litestar.handlers import HTTPRouteHandler

from entrepot.accounts.api.requests import AnyRequest
from entrepot.http.caller import anyone
from entrepot.http.problems import NotFound
from entrepot.relay.api.context import TAGS, Context, answered

BODY_BYTES_MAX = 256 * 1024


def routes(context: Context) -> list[HTTPRouteHandler]:
    """The route of billing."""

    @post(
        "/hooks/billing/stripe",
        guards=[anyone],
        tags=TAGS,
        summary="Stripe tells of a subscription",
        status_code=200,
        opt={"body_bytes_max": BODY_BYTES_MAX},
    )
    async def stripe(request: AnyRequest) -> dict[str, bool]:
        """Takes `customer.subscription.*` events that are signed with the installation's secret, and sets plans."""
        if not context.billing.enabled:
            raise NotFound("Billing is not set up here.", code="BILLING_OFF")
        headers = {name.lower(): value for name, value in request.headers.items()}
        with answered():
            plan = await context.billing.take(headers, await request.body())
        return {"received": True, "changed": plan is not None}

    return [stripe]
