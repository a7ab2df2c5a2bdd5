"""The states of events: what follows from the states of their deliveries, and what may follow what."""

from __future__ import annotations

from collections.abc import Iterable

from entrepot.relay.model import DeliveryState, EventStatus

WAITING: tuple[DeliveryState, ...] = ("pending", "held")

# A status may be followed only by one of a higher rank; a replay begins again, as a new run.
_RANK: dict[EventStatus, int] = {
    "received": 0,
    "processing": 1,
    "retrying": 2,
    "filtered": 3,
    "delivered": 3,
    "failed": 3,
}


def status_of(deliveries: Iterable[tuple[DeliveryState, int]]) -> EventStatus:
    """The status of an event by the state and attempt count of each delivery."""
    found = list(deliveries)
    if not found:
        return "received"
    waiting = [attempts for state, attempts in found if state in WAITING]
    if waiting:
        return "retrying" if any(waiting) else "processing"
    states = {state for state, _ in found}
    if "failed" in states:
        return "failed"
    if "delivered" in states:
        return "delivered"
    # What was cancelled with its connection neither arrived nor was filtered.
    return "filtered" if "filtered" in states else "failed"


def may_follow(new: EventStatus) -> list[EventStatus]:
    """The statuses that this one may follow, within one run."""
    return [old for old, rank in _RANK.items() if rank < _RANK[new]]


def is_final(status: EventStatus) -> bool:
    """Whether only a replay leads on from here."""
    return _RANK[status] == _RANK["delivered"]
