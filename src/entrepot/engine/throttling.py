"""Throttling: what DynamoDB answers when a table, an index or an account has no capacity left.

A provisioned table answers ProvisionedThroughputExceededException, an on-demand one ThrottlingException;
inside a transaction the same is a reason for its cancellation.
"""

from __future__ import annotations

from entrepot.engine.errors import Reason, Throttled
from entrepot.engine.schema import Index, Table

PROVISIONED_TYPE = "ProvisionedThroughputExceededException"
ON_DEMAND_TYPE = "ThrottlingException"
ACCOUNT_TYPE = "RequestLimitExceeded"

_TABLE_EXCEEDED = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)
_INDEX_EXCEEDED = (
    "The level of configured provisioned throughput for one or more global secondary indexes of the table "
    "was exceeded. Consider increasing your provisioning level for the under-provisioned global secondary "
    "indexes with the UpdateTable API"
)
_TABLE_SCALING = (
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your "
    "table or index so please try again shortly. If exceptions persist, check if you have a hot key: "
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
)
_INDEX_SCALING = (
    "Throughput exceeds the current capacity for one or more global secondary indexes. DynamoDB is "
    "automatically scaling your index so please try again shortly."
)
_ACCOUNT_EXCEEDED = (
    "Throughput exceeds the current throughput limit for your account. Please contact AWS Support at "
    "https://aws.amazon.com/support request a limit increase"
)
_REASON_CODES = {PROVISIONED_TYPE: "ProvisionedThroughputExceeded", ON_DEMAND_TYPE: "ThrottlingError"}


class OverCapacity(Throttled):
    """A refusal for want of capacity, which names the table or index and the limit that was met."""

    def __init__(self, message: str, type_: str, *, reason: str, table: str, index: str | None) -> None:
        super().__init__(message, type_)
        self.reason = reason
        self.table = table
        self.index = index


def over_capacity(table: Table, index: Index | None, *, writing: bool, is_hot: bool = False) -> OverCapacity:
    """The error of a request that a table, a global index or, where it is hot, one key has no capacity for."""
    if table.definition.billing_mode == "PAY_PER_REQUEST":
        limit = "MaxOnDemandThroughputExceeded"
        type_, message = ON_DEMAND_TYPE, _TABLE_SCALING if index is None else _INDEX_SCALING
    else:
        limit = "ProvisionedThroughputExceeded"
        type_, message = PROVISIONED_TYPE, _TABLE_EXCEEDED if index is None else _INDEX_EXCEEDED
    reason = _reason(index, "KeyRangeThroughputExceeded" if is_hot else limit, writing=writing)
    name = None if index is None else index.name
    return OverCapacity(message, type_, reason=reason, table=table.name, index=name)


def over_account_limit(table: Table, *, writing: bool) -> OverCapacity:
    """The error of a request that the account has no capacity for."""
    reason = _reason(None, "AccountLimitExceeded", writing=writing)
    return OverCapacity(_ACCOUNT_EXCEEDED, ACCOUNT_TYPE, reason=reason, table=table.name, index=None)


def reason_of(error: Throttled) -> Reason:
    """Why an action cancels its transaction, when alone it would have met this error."""
    return Reason(_REASON_CODES.get(error.type, "ThrottlingError"), error.message)


def _reason(index: Index | None, limit: str, *, writing: bool) -> str:
    return f"{'Table' if index is None else 'Index'}{'Write' if writing else 'Read'}{limit}"
