"""Alerts as people keep them: made, listed, changed, deleted with their states."""

from __future__ import annotations

from collections import OrderedDict

from entrepot.accounts.model import UserId
from entrepot.ids import nanoid
from entrepot.tables import Database, NotFound, Page
from entrepot.telemetry.errors import Full, Unknown
from entrepot.telemetry.model import Alert, AlertId, Alerts, AlertState, AlertStates, HardwareId
from entrepot.telemetry.notices import NoticeBoard
from entrepot.telemetry.thresholds import AlertBody, Terms, terms_of

ALERTS_MAX = 100
STATES_MAX = 100_000
ID_CHARACTERS = 16
REMEMBERED_MAX = 10_000
REMEMBERED_MS = 3_000


class AlertBook:
    """The alerts of an installation, by owner."""

    def __init__(self, db: Database, notices: NoticeBoard) -> None:
        self._db = db
        self._alerts = Alerts(db)
        self._states = AlertStates(db)
        self._notices = notices
        self._thresholds: OrderedDict[UserId, tuple[int, list[Alert]]] = OrderedDict()

    async def make(self, owner: UserId, body: AlertBody) -> Alert:
        """A new alert; raises Unfit or Full."""
        terms = terms_of(body)
        if await self._alerts.of_owner(owner).count() >= ALERTS_MAX:
            raise Full("ALERTS_FULL", f"There are {ALERTS_MAX} alerts already.")
        stamp = self._db.clock.stamp()
        alert_id = AlertId(f"alr_{nanoid(ID_CHARACTERS)}")
        alert = _alert(terms, owner, alert_id, created_at=stamp, updated_at=stamp)
        await self._db.create(alert)
        self._thresholds.pop(owner, None)
        return alert

    async def one(self, owner: UserId, alert_id: str) -> Alert:
        """An alert of an owner; raises Unknown."""
        alert = await self._alerts.one(owner, AlertId(alert_id))
        if alert is None:
            raise _not_found(alert_id)
        return alert

    async def page(self, owner: UserId, *, limit: int, cursor: str | None) -> Page[Alert]:
        """An owner's alerts."""
        return await self._alerts.of_owner(owner).page(limit=limit, cursor=cursor)

    async def raised(self, alert: Alert) -> list[HardwareId]:
        """The devices for which an alert is raised now."""
        states = await self._states.of_alert(alert.owner, alert.alert_id).all()
        return [state.hardware_id for state in states if state.is_raised]

    async def change(self, owner: UserId, alert_id: str, body: AlertBody) -> Alert:
        """Change an alert; with other terms its states begin anew."""
        before = await self.one(owner, alert_id)
        after = _alert(
            terms_of(body, before),
            owner,
            before.alert_id,
            created_at=before.created_at,
            updated_at=self._db.clock.stamp(),
        )
        try:
            await self._db.replace(after)
        except NotFound:
            raise _not_found(alert_id) from None
        if _what(after) != _what(before):
            await self._forget_states(after)
        self._thresholds.pop(owner, None)
        return after

    async def delete(self, owner: UserId, alert_id: str) -> None:
        """Delete an alert with its states and what it had yet to tell."""
        alert = await self.one(owner, alert_id)
        await self._db.delete(self._alerts.one(owner, alert.alert_id))
        self._thresholds.pop(owner, None)
        await self._forget_states(alert)
        await self._notices.forget(alert)

    async def thresholds_of(self, owner: UserId) -> list[Alert]:
        """An owner's active alerts on metrics, remembered for seconds."""
        now_ms = self._db.clock.epoch_ms()
        known = self._thresholds.get(owner)
        if known is not None and 0 <= now_ms - known[0] < REMEMBERED_MS:
            return known[1]
        found = await self._alerts.of_owner(owner).all()
        active = [alert for alert in found if alert.is_active and alert.kind != "silent"]
        self._thresholds[owner] = (now_ms, active)
        self._thresholds.move_to_end(owner)
        if len(self._thresholds) > REMEMBERED_MAX:
            self._thresholds.popitem(last=False)
        return active

    async def _forget_states(self, alert: Alert) -> None:
        states = self._states.of_alert(alert.owner, alert.alert_id)
        async for state in states.each(at_most=STATES_MAX):
            await self._db.delete(self._states.one(state.owner, state.alert_id, state.hardware_id))


def flipped(
    alert: Alert, state: AlertState | None, hardware_id: HardwareId, *, at_ms: int, value: float | None
) -> AlertState:
    """The other state of an alert for a device."""
    return AlertState(
        owner=alert.owner,
        alert_id=alert.alert_id,
        hardware_id=hardware_id,
        is_raised=not (state is not None and state.is_raised),
        since_ms=at_ms,
        value=value,
        version=state.version if state is not None else 1,
    )


def _alert(terms: Terms, owner: UserId, alert_id: AlertId, *, created_at: str, updated_at: str) -> Alert:
    return Alert(
        alert_id=alert_id,
        owner=owner,
        kind=terms.kind,
        hardware_id=None if terms.hardware_id is None else HardwareId(terms.hardware_id),
        metric=terms.metric,
        threshold=terms.threshold,
        hysteresis=terms.hysteresis,
        silent_for_seconds=terms.silent_for_seconds,
        is_active=terms.is_active,
        created_at=created_at,
        updated_at=updated_at,
    )


def _what(alert: Alert) -> tuple[object, ...]:
    return (alert.kind, alert.hardware_id, alert.metric, alert.threshold, alert.silent_for_seconds)


def _not_found(alert_id: str) -> Unknown:
    return Unknown("ALERT_NOT_FOUND", f"There is no alert {alert_id} of yours.")
