"""Notices: what alerts have to tell, kept with the change that caused it and told in groups."""

from __future__ import annotations

import logging

from entrepot.accounts.model import UserId
from entrepot.log import fields
from entrepot.tables import Database, Item, Transaction
from entrepot.telemetry.events import DomainEvent, Publish, event_of
from entrepot.telemetry.model import Alert, AlertId, Alerts, AlertState, Notice, Notices
from entrepot.work import DONE, Again, Lease, Outcome, Work, WorkItem

NOTIFY = "telemetry.notify"
# What happens within this time is told together.
GROUP_MS = 10_000
# A clock of another process may be behind ours by this much.
SKEW_MS = 1_000
DEVICES_TOLD_MAX = 90
NOTICES_MAX = 100_000

log = logging.getLogger(__name__)


class NoticeBoard:
    """Takes notices into transactions, and tells them as domain events, at least once, by the same id."""

    def __init__(self, db: Database, work: Work, publish: Publish | None) -> None:
        self._db = db
        self._work = work
        self._notices = Notices(db)
        self._alerts = Alerts(db)
        self._publish = publish or log_event
        work.handle(NOTIFY, self._tell, attempts_max=None)

    def put(
        self,
        transaction: Transaction,
        alert: Alert,
        state: AlertState,
        *,
        at_ms: int,
        friendly_name: str | None,
    ) -> None:
        """Add a notice to the transaction of its cause; it is told with others of its alert soon after."""
        window = self._db.clock.epoch_ms() // GROUP_MS
        notice = Notice(
            owner=alert.owner,
            alert_id=alert.alert_id,
            window=window,
            at_ms=at_ms,
            hardware_id=state.hardware_id,
            is_raised=state.is_raised,
            value=state.value,
            friendly_name=friendly_name,
        )
        transaction.put(notice)
        self._work.put(
            transaction,
            kind=NOTIFY,
            subject=notice.alert_id,
            arguments={"owner": notice.owner, "window": window},
            due_at_ms=(window + 1) * GROUP_MS + SKEW_MS,
            work_id=f"{NOTIFY}.{notice.alert_id}.{window}",
        )

    async def _tell(self, item: WorkItem, lease: Lease) -> Outcome:
        owner, alert_id = UserId(item.arguments["owner"]), AlertId(item.subject or "")
        # A window is closed when its work is due: told again after a crash, it is the same event by the same id.
        found = self._notices.of_window(owner, alert_id, item.arguments["window"])
        page = await found.page(limit=DEVICES_TOLD_MAX)
        if not page.items:
            return DONE
        alert = await self._alerts.one(owner, alert_id)
        if alert is not None:
            await self._publish(event_of(alert, page.items))
        for notice in page.items:
            lease.transaction.delete(self._place(notice))
        return DONE if page.cursor is None else Again(self._db.clock.epoch_ms(), counts=False)

    async def forget(self, alert: Alert) -> None:
        """Drop what has yet to be told of an alert."""
        found = self._notices.of_alert(alert.owner, alert.alert_id)
        async for notice in found.each(at_most=NOTICES_MAX):
            await self._db.delete(self._place(notice))

    def _place(self, notice: Notice) -> Item[Notice]:
        return self._notices.one(
            notice.owner, notice.alert_id, notice.window, notice.at_ms, notice.hardware_id
        )


async def log_event(event: DomainEvent) -> None:
    """Where events go when nobody passes them on."""
    log.info("domain event", extra=fields(event=event.type, event_id=event.id, subject=event.subject))
