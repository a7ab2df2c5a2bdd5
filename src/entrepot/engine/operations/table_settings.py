"""The settings of a table that CreateTable and UpdateTable share: throughput, stream, class, encryption."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from entrepot.engine.errors import Validation
from entrepot.engine.schema import Definition, IndexDefinition
from entrepot.engine.shapes import Flag, Record, Text, Whole

UNITS_MAX = 1_000_000_000_000
TABLE_CLASSES = ("STANDARD", "STANDARD_INFREQUENT_ACCESS")
# What an on-demand table can do at once, from the first minute.
WARM_READ_UNITS = 12_000
WARM_WRITE_UNITS = 4_000
# -1 in an update takes a limit away.
NO_LIMIT = -1

INVALID = "One or more parameter values were invalid: "
_REFER = "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."

THROUGHPUT = Record(
    "ProvisionedThroughput",
    {
        "WriteCapacityUnits": Whole(required=True, lowest=1, java="Long"),
        "ReadCapacityUnits": Whole(required=True, lowest=1, java="Long"),
    },
)
STREAM = Record(
    "StreamSpecification",
    {
        "StreamEnabled": Flag(required=True),
        "StreamViewType": Text(words=("NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY")),
    },
)
ENCRYPTION = Record(
    "SSESpecification",
    {"Enabled": Flag(), "SSEType": Text(words=("AES256", "KMS")), "KMSMasterKeyId": Text()},
)
ON_DEMAND = Record(
    "OnDemandThroughput",
    {"MaxReadRequestUnits": Whole(java="Long"), "MaxWriteRequestUnits": Whole(java="Long")},
)
WARM = Record(
    "WarmThroughput",
    {
        "ReadUnitsPerSecond": Whole(lowest=1, java="Long"),
        "WriteUnitsPerSecond": Whole(lowest=1, java="Long"),
    },
)
BILLING_MODE = Text(words=("PROVISIONED", "PAY_PER_REQUEST"))


def bounded_units(throughput: dict[str, Any]) -> tuple[int, int]:
    for name in ("ReadCapacityUnits", "WriteCapacityUnits"):
        if throughput[name] > UNITS_MAX:
            raise Validation(f"Given value {throughput[name]} for {name} is out of bounds")
    return throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]


def change_units(kept: Definition | IndexDefinition, throughput: dict[str, Any], now: float) -> None:
    """Gives a table or an index other units, which must be other than those it has."""
    read, write = throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]
    if (read, write) == (kept.read_units, kept.write_units):
        thing = "the table" if isinstance(kept, Definition) else f"index {kept.name}"
        subject = "the table" if isinstance(kept, Definition) else f"the index {kept.name}"
        raise Validation(
            f"The provisioned throughput for {subject} will not change. The requested value equals the current "
            f"value. Current ReadCapacityUnits provisioned for {thing}: {read}. Requested ReadCapacityUnits: "
            f"{read}. Current WriteCapacityUnits provisioned for {thing}: {write}. Requested "
            f"WriteCapacityUnits: {write}. {_REFER}"
        )
    if read > kept.read_units or write > kept.write_units:
        kept.throughput_increased_at = now
    if read < kept.read_units or write < kept.write_units:
        kept.decreases_today = decreases_on(kept, now) + 1
        kept.throughput_decreased_at = now
    kept.read_units, kept.write_units = read, write
    kept.warm_read_units = max(kept.warm_read_units, read)
    kept.warm_write_units = max(kept.warm_write_units, write)


def decreases_on(kept: Definition | IndexDefinition, now: float) -> int:
    """How often the units were lowered on the day (in UTC) of a time."""
    last = kept.throughput_decreased_at
    return kept.decreases_today if last is not None and _day(last) == _day(now) else 0


def _day(seconds: float) -> int:
    return int(seconds // 86_400)


def demand_class(table_class: str | None) -> None:
    if table_class is not None and table_class not in TABLE_CLASSES:
        raise Validation(
            f"Invalid table-class parameter provided. Please try again with a valid table-class value: "
            f"[{', '.join(TABLE_CLASSES)}]."
        )


def demand_limits(limits: dict[str, int] | None, billing: str, of: str, lowest: int = 1) -> None:
    """On-demand limits are for on-demand tables; `of` says whose they are."""
    for name, value in (limits or {}).items():
        if billing == "PROVISIONED":
            whose = "" if of == "table" else f" for {of}"
            raise Validation(
                f"{INVALID}{name} for OnDemandThroughput{whose} cannot be specified when the table BillingMode is "
                f"PROVISIONED"
            )
        if value < 1 and not (lowest == NO_LIMIT and value == NO_LIMIT):
            raise Validation(
                f"{INVALID}Requested {name} for OnDemandThroughput for {of} is outside of valid range"
            )


def merge_limits(before: dict[str, int] | None, wanted: dict[str, int]) -> dict[str, int] | None:
    """Limits after an update: -1 takes one away."""
    merged = {name: value for name, value in ({**(before or {}), **wanted}).items() if value != NO_LIMIT}
    return merged or None


def warm_units(kept: Definition | IndexDefinition, billing: str) -> tuple[int, int]:
    """What a table or an index can do at once: it never falls."""
    read, write = kept.read_units, kept.write_units
    if billing == "PAY_PER_REQUEST":
        read, write = WARM_READ_UNITS, WARM_WRITE_UNITS
    return max(read, kept.warm_read_units), max(write, kept.warm_write_units)


def warm_up(kept: Definition | IndexDefinition, wanted: dict[str, int] | None, billing: str) -> None:
    """Makes a new table or index warmer than it would be by itself."""
    why = "initial throughput for OnDemand"
    if billing == "PROVISIONED":
        why = "{} of ProvisionedThroughput"
    _warm(kept, wanted or {}, billing, why)


def warm_further(kept: Definition | IndexDefinition, wanted: dict[str, int], billing: str) -> None:
    """Makes a table or an index warmer than it is."""
    _warm(kept, wanted, billing, "current WarmThroughput, decreasing WarmThroughput is not supported")


def _warm(kept: Definition | IndexDefinition, wanted: dict[str, int], billing: str, why: str) -> None:
    whose = "table" if isinstance(kept, Definition) else f"index {kept.name}"
    read, write = warm_units(kept, billing)
    for name, units, least in (
        ("ReadUnitsPerSecond", "ReadCapacityUnits", read),
        ("WriteUnitsPerSecond", "WriteCapacityUnits", write),
    ):
        if wanted.get(name, least) < least:
            raise Validation(
                f"{INVALID}Requested {name} for WarmThroughput for {whose} is lower than {why.format(units)}"
            )
    kept.warm_read_units = wanted.get("ReadUnitsPerSecond", read)
    kept.warm_write_units = wanted.get("WriteUnitsPerSecond", write)


def stream_label(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]


def demand_encryption(wanted: dict[str, Any] | None) -> None:
    """The parts of an encryption setting must fit together."""
    if wanted is None:
        return
    kind, key = wanted.get("SSEType"), wanted.get("KMSMasterKeyId")
    if wanted.get("Enabled") is False:
        for name in ("SSEType", "KMSMasterKeyId"):
            if wanted.get(name) is not None:
                raise Validation(f"{INVALID}{name} can not be specified if Enabled is false")
    if kind == "AES256":
        raise Validation(f"{INVALID}SSEType AES256 is not supported")
    if key is not None and kind != "KMS":
        raise Validation(f"{INVALID}SSEType KMS is required if KMSMasterKeyId is specified")


def encryption_of(wanted: dict[str, Any] | None, key_arn_prefix: str) -> dict[str, str] | None:
    """The description of an encryption that is on; None where the store's own, always on, is all."""
    if wanted is None or not (wanted.get("Enabled") or wanted.get("SSEType")):
        return None
    key: str = wanted.get("KMSMasterKeyId") or str(uuid.uuid5(uuid.NAMESPACE_URL, key_arn_prefix))
    return {
        "Status": "ENABLED",
        "SSEType": "KMS",
        "KMSMasterKeyArn": key if key.startswith("arn:") else key_arn_prefix + key,
    }
