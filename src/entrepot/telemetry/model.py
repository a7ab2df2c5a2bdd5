"""The four LOCKED tables of seed 000, alerts, and hourly roll-ups.

Added to the seed, by its own guidelines: optional attributes (`owner`, `metrics`, `time_source`), the indexes
`owner_index`, and two tables of our own.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NewType

from msgspec import Meta, Struct

from entrepot.accounts.model import Stamp, UserId
from entrepot.tables import (
    Access,
    Entity,
    Item,
    Many,
    One,
    Table,
    Update,
    attr,
    begins_with,
    between,
    first,
    item,
    query,
    update,
)

HardwareId = NewType("HardwareId", str)
KeyId = NewType("KeyId", str)
KeyHash = NewType("KeyHash", str)
BatchId = NewType("BatchId", str)
AlertId = NewType("AlertId", str)

Mac = Meta(pattern=r"^[0-9A-F]{2}(:[0-9A-F]{2}){5}$")
Uuid4 = Annotated[str, Meta(pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
FriendlyName = Annotated[str, Meta(min_length=1, max_length=64)]

SERIES_MAX = 20_000

devices = Table(
    "devices", "hardware_id", indexes={"gsi1": "gsi1pk gsi1sk", "owner_index": "owner last_seen_at"}
)
device_readings = Table("device_readings", "hardware_id ts_batch", ttl="expiration_time", transactions=True)
processed_batches = Table("processed_batches", "batch_id", ttl="expiration_time", transactions=True)
api_keys = Table(
    "api_keys",
    "key_id",
    indexes={
        "api_key_hash_index": "api_key_hash",
        "gsi1": "gsi1pk gsi1sk",
        "owner_index": "owner created_at",
    },
)
alerts = Table("telemetry_alerts", "PK SK", indexes={"gsi1": "gsi1pk gsi1sk"}, transactions=True)
hours = Table("telemetry_hours", "series hour_ms:N", ttl="expiration_time")


class Capabilities(Struct):
    """What a device says it can do."""

    sensors: list[str]
    features: dict[str, Any]


@devices.entity(gsi1pk="devices", gsi1sk="{last_seen_at}")
class Device(Entity):
    """A registered sensor device."""

    hardware_id: Annotated[HardwareId, Mac]
    confirmation_id: Uuid4
    capabilities: Capabilities
    first_registered_at: Stamp
    last_seen_at: Stamp
    last_boot_id: Uuid4
    firmware_version: str
    friendly_name: FriendlyName | None = None
    # Beyond the seed.
    owner: UserId | None = None
    metrics: set[str] | None = None


class Devices(Access[Device]):
    def one(self, hardware_id: HardwareId) -> Item[Device]:
        """Get a device."""
        return item()

    def by_activity(self) -> Many[Device]:
        """List all devices, most recent first."""
        return query(gsi1pk="devices", descending=True)

    def of_owner(self, owner: UserId) -> Many[Device]:
        """List an owner's devices, most recent first."""
        return query(owner=f"{owner}", descending=True, at_most=10_000)

    def seen(self, hardware_id: HardwareId, last_seen_at: str) -> Update[Device]:
        """A device's activity moves forward."""
        return update(
            attr(Device.last_seen_at).set(last_seen_at), when=attr(Device.last_seen_at) < last_seen_at
        )

    def seen_again(self, hardware_id: HardwareId, last_seen_at: str, before: str) -> Update[Device]:
        """A device's activity moves forward, unless another process noted it since `before`."""
        return update(attr(Device.last_seen_at).set(last_seen_at), when=attr(Device.last_seen_at) <= before)

    def measuring(self, hardware_id: HardwareId, metrics: set[str]) -> Update[Device]:
        """Note metrics that a device has sent."""
        return update(attr(Device.metrics).add(metrics))

    def named(self, hardware_id: HardwareId, friendly_name: str | None) -> Update[Device]:
        """Friendly name update: set, or clear with None."""
        return update(attr(Device.friendly_name).set(friendly_name))


@device_readings.entity(ts_batch="{timestamp_ms:013}#{batch_id}")
class Reading(Entity):
    """What a device measured at one time."""

    hardware_id: Annotated[HardwareId, Mac]
    timestamp_ms: Annotated[int, Meta(ge=0)]
    batch_id: BatchId
    boot_id: Uuid4
    firmware_version: str
    friendly_name: FriendlyName | None = None
    sensors: dict[str, float]
    sensor_status: dict[str, Literal["ok", "error"]]
    expiration_time: int | None = None
    # Beyond the seed.
    time_source: Literal["server"] | None = None


class Readings(Access[Reading]):
    def one(self, hardware_id: HardwareId, timestamp_ms: int, batch_id: BatchId) -> Item[Reading]:
        """Get one reading."""
        return item()

    def latest(self, hardware_id: HardwareId) -> One[Reading]:
        """Latest reading."""
        return first(hardware_id=f"{hardware_id}", descending=True)

    def between(self, hardware_id: HardwareId, from_ms: int, to_ms: int) -> Many[Reading]:
        """Time range query, both ends included, newest first."""
        return query(
            hardware_id=f"{hardware_id}",
            ts_batch=between(f"{from_ms:013}#", f"{to_ms:013}#\uffff"),
            descending=True,
        )


@processed_batches.entity()
class Batch(Entity):
    """A batch id that has been processed."""

    batch_id: Annotated[BatchId, Meta(min_length=1, max_length=512)]
    hardware_id: HardwareId
    received_at: Stamp
    expiration_time: int


class Batches(Access[Batch]):
    def one(self, batch_id: BatchId) -> Item[Batch]:
        """Find out whether a batch was processed."""
        return item()


@api_keys.entity(gsi1pk="api_keys", gsi1sk="{created_at}")
class DeviceKey(Entity):
    """A key that devices send; `key_id` is derived from the hash, so that a new key is found before its index."""

    key_id: Annotated[KeyId, Uuid4]
    api_key_hash: Annotated[KeyHash, Meta(pattern=r"^[0-9a-f]{64}$")]
    created_at: Stamp
    last_used_at: Stamp | None = None
    is_active: bool = True
    description: str | None = None
    # Beyond the seed.
    owner: UserId | None = None


class DeviceKeys(Access[DeviceKey]):
    def one(self, key_id: KeyId) -> Item[DeviceKey]:
        """Get an API key."""
        return item()

    def by_hash(self, api_key_hash: KeyHash, key_id: KeyId) -> One[DeviceKey]:
        """Validate API key by hash, confirmed on the item; `key_id` is the id derived from the hash."""
        return first(api_key_hash=f"{api_key_hash}", confirm=True, fallback=item(key_id=f"{key_id}"))

    def by_creation(self) -> Many[DeviceKey]:
        """List all API keys, newest first."""
        return query(gsi1pk="api_keys", descending=True)

    def of_owner(self, owner: UserId) -> Many[DeviceKey]:
        """List an owner's API keys, newest first."""
        return query(owner=f"{owner}", descending=True)

    def last_used(self, key_id: KeyId, at: str) -> Update[DeviceKey]:
        """Note the use of a key, forward only."""
        return update(
            attr(DeviceKey.last_used_at).set(at),
            when=attr(DeviceKey.last_used_at).absent() | (attr(DeviceKey.last_used_at) < at),
        )

    def revoked(self, key_id: KeyId) -> Update[DeviceKey]:
        """Revoke a key; repeatable."""
        return update(attr(DeviceKey.is_active).set(False))


@alerts.entity(
    PK="OWNER#{owner}", SK="ALERT#{alert_id}", gsi1pk="KIND#{kind}", gsi1sk="ALERT#{owner}#{alert_id}"
)
class Alert(Entity):
    """A rule of an owner, for one device or for all."""

    alert_id: AlertId
    owner: UserId
    kind: Literal["above", "below", "silent"]
    hardware_id: HardwareId | None = None
    metric: str | None = None
    threshold: float | None = None
    hysteresis: float = 0.0
    silent_for_seconds: int | None = None
    is_active: bool = True
    created_at: Stamp
    updated_at: Stamp


class Alerts(Access[Alert]):
    def one(self, owner: UserId, alert_id: AlertId) -> Item[Alert]:
        """Get an alert."""
        return item()

    def of_owner(self, owner: UserId) -> Many[Alert]:
        """List an owner's alerts."""
        return query(PK=f"OWNER#{owner}", SK=begins_with("ALERT#"), consistent=True)

    def of_kind(self, kind: Literal["above", "below", "silent"]) -> Many[Alert]:
        """List all alerts of one kind, to look for silence."""
        return query(gsi1pk=f"KIND#{kind}", at_most=100_000)


@alerts.entity(PK="OWNER#{owner}", SK="STATE#{alert_id}#{hardware_id}", version="version")
class AlertState(Entity):
    """Whether an alert is raised for one device."""

    owner: UserId
    alert_id: AlertId
    hardware_id: HardwareId
    is_raised: bool = False
    since_ms: int | None = None
    value: float | None = None
    version: int = 1


class AlertStates(Access[AlertState]):
    def one(self, owner: UserId, alert_id: AlertId, hardware_id: HardwareId) -> Item[AlertState]:
        """Get the state of an alert for a device."""
        return item()

    def of_alert(self, owner: UserId, alert_id: AlertId) -> Many[AlertState]:
        """List the states of an alert."""
        return query(PK=f"OWNER#{owner}", SK=begins_with(f"STATE#{alert_id}#"), at_most=10_000)


@alerts.entity(PK="OWNER#{owner}", SK="NOTICE#{alert_id}#{window:013}#{at_ms:013}#{hardware_id}")
class Notice(Entity):
    """A crossing or a silence that has yet to be told: kept with the change, told with others of its window."""

    owner: UserId
    alert_id: AlertId
    window: int
    at_ms: int
    hardware_id: HardwareId
    is_raised: bool
    value: float | None = None
    friendly_name: FriendlyName | None = None


class Notices(Access[Notice]):
    def one(
        self, owner: UserId, alert_id: AlertId, window: int, at_ms: int, hardware_id: HardwareId
    ) -> Item[Notice]:
        """Get one notice."""
        return item()

    def of_window(self, owner: UserId, alert_id: AlertId, window: int) -> Many[Notice]:
        """List what has yet to be told of an alert's window, oldest first."""
        return query(PK=f"OWNER#{owner}", SK=begins_with(f"NOTICE#{alert_id}#{window:013}#"), consistent=True)

    def of_alert(self, owner: UserId, alert_id: AlertId) -> Many[Notice]:
        """List what has yet to be told of an alert, oldest first."""
        return query(
            PK=f"OWNER#{owner}", SK=begins_with(f"NOTICE#{alert_id}#"), consistent=True, at_most=10_000
        )


@alerts.entity(PK="LISTENING", SK="LISTENING")
class Listening(Entity):
    """Since when somebody has been taking readings without a gap, and when that was last said."""

    since_ms: int
    until_ms: int


class Listenings(Access[Listening]):
    def one(self) -> Item[Listening]:
        """Get the time since which silence counts."""
        return item()


@hours.entity(series="{hardware_id}#{metric}")
class Hour(Entity):
    """One metric of one device in one hour, kept two years."""

    hardware_id: HardwareId
    metric: str
    hour_ms: int
    count: int
    total: float
    low: float
    high: float
    last: float
    last_ms: int
    expiration_time: int


class Hours(Access[Hour]):
    def one(self, hardware_id: HardwareId, metric: str, hour_ms: int) -> Item[Hour]:
        """Get one hour of a metric."""
        return item()

    def between(self, hardware_id: HardwareId, metric: str, from_ms: int, to_ms: int) -> Many[Hour]:
        """List the hours of a metric in a time range, oldest first."""
        return query(series=f"{hardware_id}#{metric}", hour_ms=between(from_ms, to_ms), at_most=SERIES_MAX)


TABLES: tuple[Table, ...] = (devices, device_readings, processed_batches, api_keys, alerts, hours)
"""The service's tables."""
