"""Devices: registered by themselves, known from memory while they report, named by people."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterable

from msgspec import Struct

from entrepot.accounts.model import UserId
from entrepot.clock import stamp_of
from entrepot.tables import AlreadyExists, ConditionFailed, Database, NotFound, Page, attr
from entrepot.telemetry import rules
from entrepot.telemetry.errors import Taken, device_not_found
from entrepot.telemetry.model import Capabilities, Device, Devices, HardwareId
from entrepot.telemetry.rules import Accepted

REMEMBERED_MAX = 50_000
# A name that was changed by another process is seen after this time.
REMEMBERED_MS = 60_000
ACTIVITY_MS = rules.ACTIVITY_SECONDS * 1000
METRICS_MAX = 1000
REGISTER_TRIES_MAX = 5


class Known(Struct):
    """What is remembered of a device between its readings."""

    owner: UserId | None
    friendly_name: str | None
    last_seen_at: str
    metrics: set[str]
    read_at_ms: int


class DeviceBook:
    """The devices of an installation."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._devices = Devices(db)
        self._known: OrderedDict[str, Known] = OrderedDict()

    # -- what devices do

    async def register(self, owner: UserId | None, body: rules.RegisterBody) -> Device:
        """Register, or register again: the confirmation id and what people named stay. Raises Taken."""
        hardware_id = HardwareId(rules.hardware_id_of(body.hardware_id))
        boot_id = rules.uuid4_of("boot_id", body.boot_id)
        firmware = rules.firmware_of(body.firmware_version)
        sensors, features = rules.capabilities_of(body.capabilities)
        name = None if body.friendly_name is None else rules.friendly_name_of(body.friendly_name)
        fresh = self._new(hardware_id, owner, boot_id, firmware, Capabilities(sensors, features), name)
        for _ in range(REGISTER_TRIES_MAX - 1):
            try:
                return await self._register_once(fresh)
            except NotFound:
                # It was deleted between the two steps.
                continue
        return await self._register_once(fresh)

    async def _register_once(self, fresh: Device) -> Device:
        try:
            await self._db.create(fresh)
        except AlreadyExists as exists:
            found = exists.item
            if isinstance(found, Device) and found.owner != fresh.owner:
                raise Taken(fresh.hardware_id) from None
        else:
            self._remember(fresh)
            return fresh
        changes = [
            attr(Device.last_boot_id).set(fresh.last_boot_id),
            attr(Device.firmware_version).set(fresh.firmware_version),
            attr(Device.capabilities).set(fresh.capabilities),
            attr(Device.last_seen_at).set(fresh.last_seen_at),
        ]
        if fresh.friendly_name is not None:
            changes.append(attr(Device.friendly_name).set(fresh.friendly_name))
        device = await self._db.update(self._devices.one(fresh.hardware_id), *changes)
        self._remember(device)
        return device

    async def known(self, owner: UserId | None, first: Accepted) -> Known:
        """The device of a reading, registered now if it never was; raises Taken."""
        known = self._known.get(first.hardware_id)
        if known is None or not 0 <= self._db.clock.epoch_ms() - known.read_at_ms < REMEMBERED_MS:
            known = await self._read(owner, first)
        if known.owner != owner:
            raise Taken(first.hardware_id)
        return known

    async def _read(self, owner: UserId | None, first: Accepted) -> Known:
        hardware_id = HardwareId(first.hardware_id)
        device = await self._devices.one(hardware_id)
        if device is None:
            nothing = Capabilities([], {})
            fresh = self._new(hardware_id, owner, first.boot_id, first.firmware_version, nothing, None)
            try:
                await self._db.create(fresh)
                device = fresh
            except AlreadyExists:
                device = await self._devices.one(hardware_id).required()
        return self._remember(device)

    def needs_note(self, known: Known) -> bool:
        """Whether a device's activity was last written so long ago that it is due again."""
        return known.last_seen_at <= stamp_of(self._db.clock.epoch_ms() - ACTIVITY_MS)

    async def note_activity(self, hardware_id: str, known: Known) -> None:
        """Move a device's activity forward, unless another process just did."""
        now_ms = self._db.clock.epoch_ms()
        stamp, before = stamp_of(now_ms), stamp_of(now_ms - ACTIVITY_MS)
        known.last_seen_at = stamp
        try:
            await self._devices.seen_again(HardwareId(hardware_id), stamp, before)
        except NotFound:
            # Deleted with its owner's account: the next reading finds out.
            self._known.pop(hardware_id, None)
        except ConditionFailed:
            return

    async def note_metrics(self, hardware_id: str, known: Known, names: Iterable[str]) -> None:
        """Remember which metrics a device sends, for charts and exports."""
        new = set(names) - known.metrics
        if not new or len(known.metrics) + len(new) > METRICS_MAX:
            return
        known.metrics |= new
        try:
            await self._devices.measuring(HardwareId(hardware_id), new)
        except NotFound:
            self._known.pop(hardware_id, None)

    # -- what people do

    async def one(self, hardware_id: str, viewer: UserId | None) -> Device:
        """A device that the viewer may see; None sees all. Raises Unknown."""
        device = await self._devices.one(HardwareId(rules.hardware_id_of(hardware_id)))
        if device is None or (viewer is not None and device.owner != viewer):
            raise device_not_found(hardware_id)
        return device

    async def page(self, viewer: UserId | None, *, limit: int, cursor: str | None) -> Page[Device]:
        """The viewer's devices, or all, the most recently active first."""
        found = self._devices.by_activity() if viewer is None else self._devices.of_owner(viewer)
        return await found.page(limit=limit, cursor=cursor)

    async def rename(self, hardware_id: str, name: str | None, viewer: UserId | None) -> Device:
        """Set a device's name, or clear it."""
        device = await self.one(hardware_id, viewer)
        checked = None if name is None else rules.friendly_name_of(name)
        try:
            renamed: Device = await self._devices.named(device.hardware_id, checked)
        except NotFound:
            raise device_not_found(hardware_id) from None
        self._remember(renamed)
        return renamed

    async def of_owner(self, owner: UserId) -> list[Device]:
        """All devices of an owner."""
        return await self._devices.of_owner(owner).all()

    async def forget(self, device: Device) -> None:
        """Delete a device itself."""
        self._known.pop(device.hardware_id, None)
        await self._db.delete(self._devices.one(device.hardware_id))

    def _new(
        self,
        hardware_id: HardwareId,
        owner: UserId | None,
        boot_id: str,
        firmware: str,
        capabilities: Capabilities,
        name: str | None,
    ) -> Device:
        stamp = self._db.clock.stamp()
        return Device(
            hardware_id=hardware_id,
            confirmation_id=str(uuid.uuid4()),
            capabilities=capabilities,
            first_registered_at=stamp,
            last_seen_at=stamp,
            last_boot_id=boot_id,
            firmware_version=firmware,
            friendly_name=name,
            owner=owner,
        )

    def _remember(self, device: Device) -> Known:
        known = Known(
            owner=device.owner,
            friendly_name=device.friendly_name,
            last_seen_at=device.last_seen_at,
            metrics=set(device.metrics or ()),
            read_at_ms=self._db.clock.epoch_ms(),
        )
        self._known[device.hardware_id] = known
        self._known.move_to_end(device.hardware_id)
        if len(self._known) > REMEMBERED_MAX:
            self._known.popitem(last=False)
        return known
