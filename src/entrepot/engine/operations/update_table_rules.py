"""What UpdateTable refuses before it looks at the table: it takes one change at a time."""

from __future__ import annotations

from typing import Any

from entrepot.engine.errors import Validation
from entrepot.engine.operations import table_settings as settings

_INVALID = settings.INVALID
_ACTIONS = ("Update", "Create", "Delete")


def demand_sensible(request: dict[str, Any]) -> None:
    """Refuses a request that asks for nothing, or for things that don't go together."""
    _demand_something(request)
    settings.demand_class(request.get("TableClass"))
    throughput = request.get("ProvisionedThroughput")
    if request.get("BillingMode") == "PROVISIONED" and throughput is None:
        raise Validation(f"{_INVALID}ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
    if throughput is not None:
        settings.bounded_units(throughput)
    _demand_alone(request)
    _demand_index_updates(request)
    _demand_together(request)
    _demand_stream(request.get("StreamSpecification"))
    settings.demand_encryption(request.get("SSESpecification"))


def _demand_something(request: dict[str, Any]) -> None:
    if any(_asked(request)) or request.get("GlobalSecondaryIndexUpdates"):
        return
    raise Validation(
        "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, "
        "SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, "
        "MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is "
        "required"
    )


def _asked(request: dict[str, Any]) -> list[str]:
    """What a request asks for, its index updates apart; settings without a value ask for nothing."""
    plain = ("ProvisionedThroughput", "BillingMode", "StreamSpecification", "SSESpecification")
    asked = [
        name for name in (*plain, "TableClass", "DeletionProtectionEnabled") if request.get(name) is not None
    ]
    return asked + [name for name in ("OnDemandThroughput", "WarmThroughput") if request.get(name)]


def _demand_alone(request: dict[str, Any]) -> None:
    asked = _asked(request) + (["Indexes"] if request.get("GlobalSecondaryIndexUpdates") else [])
    for name, words in (
        ("SSESpecification", "Server-Side Encryption modification"),
        ("TableClass", "TableClass modification"),
        ("DeletionProtectionEnabled", "DeletionProtection modification"),
        ("WarmThroughput", "WarmThroughput"),
    ):
        if name in asked and len(asked) > 1:
            raise Validation(f"{_INVALID}{words} must be the only operation in the request")
    if "OnDemandThroughput" in asked and not {"OnDemandThroughput", "BillingMode"}.issuperset(asked):
        raise Validation(
            f"{_INVALID}OnDemandThroughput can only be combined with BillingMode in an UpdateTable request"
        )


def _demand_index_updates(request: dict[str, Any]) -> None:
    updates = request.get("GlobalSecondaryIndexUpdates")
    if updates is None:
        return
    if not updates:
        raise Validation(f"{_INVALID}List of GlobalSecondaryIndexUpdates is empty")
    names: set[str] = set()
    for update in updates:
        actions = [action for action in _ACTIONS if update.get(action) is not None]
        if not actions:
            raise Validation(
                f"{_INVALID}One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                f"GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        if len(actions) > 1:
            raise Validation(
                f"{_INVALID}Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object"
            )
        name = update[actions[0]]["IndexName"]
        if name in names:
            raise Validation(
                f"{_INVALID}Only one global secondary index update per index is allowed simultaneously. Index: "
                f"{name}"
            )
        names.add(name)


def _demand_together(request: dict[str, Any]) -> None:
    units = request.get("ProvisionedThroughput") is not None
    stream = request.get("StreamSpecification") is not None
    indexes = any(
        update.get("Create") or update.get("Delete")
        for update in request.get("GlobalSecondaryIndexUpdates") or ()
    )
    if units and stream:
        raise Validation(f"{_INVALID}You cannot modify stream status while updating table IOPS")
    if units and indexes:
        raise Validation(f"{_INVALID}You cannot create or delete index while updating table IOPS")
    if stream and indexes:
        raise Validation(f"{_INVALID}You cannot create or delete index while changing stream status")


def _demand_stream(wanted: dict[str, Any] | None) -> None:
    if wanted is None:
        return
    view = wanted.get("StreamViewType")
    if wanted["StreamEnabled"] and view is None:
        raise Validation(f"{_INVALID}If stream is being enabled then UpdateViewType is required")
    if not wanted["StreamEnabled"] and view is not None:
        raise Validation(f"{_INVALID}If stream is being disabled, then UpdateViewType must not be specified")
