"""A simulated fleet of sensors with the habits of real ones, and the account of what became of each reading."""

from __future__ import annotations

import asyncio
import math
import random
import secrets
import uuid
from collections.abc import Callable
from typing import Any, Literal

import aiohttp
import msgspec

READINGS_AT_ONCE = 46
READING_SECONDS = 60
UPLOAD_SECONDS = 300
CONNECTIONS_MAX = 32
TRIES_MAX = 20
RETRY_SECONDS = 0.5
TIMEOUT_SECONDS = 60.0

Habit = Literal["healthy", "replaying", "unsynced", "unordered", "truncated", "wrong key", "reconnecting"]
# Of a hundred devices.
HABITS: tuple[tuple[Habit, int], ...] = (
    ("healthy", 70), ("replaying", 10), ("unsynced", 5), ("unordered", 5),
    ("truncated", 3), ("wrong key", 2), ("reconnecting", 5),
)  # fmt: skip

Progress = Callable[[float, str], None]


class SimulationError(Exception):
    """The simulation can't go on; the message says why."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where the simulation goes, and how long and fast."""

    url: str
    key: str
    devices: int
    minutes: float
    speed: float
    seed: int | None = None


class Account(msgspec.Struct):
    """What became of the readings; `reconciled` when each is stored once or was reported."""

    taken: int = 0
    requests: int = 0
    acknowledged: int = 0
    duplicates: int = 0
    rejected: int = 0
    refused: int = 0
    """Readings of devices with a wrong key: reported by a 401, stored nowhere."""
    doubled: int = 0
    lost: int = 0

    @property
    def reconciled(self) -> bool:
        return self.doubled == 0 and self.lost == 0


class Sensor:
    """One device: takes readings, keeps them, and sends them by its habit."""

    def __init__(self, number: int, habit: Habit, dice: random.Random) -> None:
        self.habit = habit
        self.dice = dice
        # Locally administered, so that no real device has it; another run has other devices.
        octets = (0x02, dice.randrange(256), dice.randrange(256), *number.to_bytes(3, "big"))
        self.hardware_id = ":".join(f"{octet:02X}" for octet in octets)
        self.boot_id = str(uuid.UUID(int=dice.getrandbits(128), version=4))
        self.taken: dict[str, dict[str, Any]] = {}
        self.waiting: list[dict[str, Any]] = []
        self.acknowledged: dict[str, int] = {}
        self.known: set[str] = set()
        self.reported: set[str] = set()
        self._phase = dice.random() * math.tau

    def take(self, at_ms: int, uptime_ms: int) -> None:
        """Measure once."""
        start, end = uptime_ms - READING_SECONDS * 1000, uptime_ms
        batch_id = f"{self.hardware_id}_{self.boot_id}_{at_ms - READING_SECONDS * 1000}_{at_ms}"
        body: dict[str, Any] = {
            "batch_id": f"device_u_{start}_{end}" if self.habit == "truncated" else batch_id,
            "hardware_id": self.hardware_id,
            "boot_id": self.boot_id,
            "firmware_version": "1.0.16",
            "timestamp_ms": at_ms,
            "sensors": self._sensors(at_ms),
            "sensor_status": {"bme280": "ok", "ds18b20": "ok", "soil_moisture": "ok"},
            "time_synced": True,
        }
        if self.habit == "unsynced":
            body["batch_id"] = f"{self.hardware_id}_{self.boot_id}_u_{start}_{end}"
            body["timestamp_ms"], body["time_synced"] = uptime_ms, False
        self.taken[body["batch_id"]] = body
        self.waiting.append(body)

    def next_batch(self, *, last: bool) -> list[dict[str, Any]]:
        """What the device sends now, the newest first."""
        if self.habit == "reconnecting" and not last:
            return []
        if self.habit == "replaying":
            return list(self.taken.values())[: -READINGS_AT_ONCE - 1 : -1] if self.waiting else []
        batch = self.waiting[: -READINGS_AT_ONCE - 1 : -1]
        if self.habit == "unordered":
            self.dice.shuffle(batch)
            batch = batch if last else batch[: len(batch) // 2 + 1]
        return batch

    def settle(self, batch: list[dict[str, Any]], answer: dict[str, Any], account: Account) -> None:
        """Note what the server says of a batch."""
        for batch_id in answer["acknowledged_batch_ids"]:
            self.acknowledged[batch_id] = self.acknowledged.get(batch_id, 0) + 1
            self.known.add(batch_id)
        self.known.update(answer["duplicate_batch_ids"])
        self.reported.update(each["batch_id"] for each in answer["rejected"])
        account.acknowledged += len(answer["acknowledged_batch_ids"])
        account.duplicates += len(answer["duplicate_batch_ids"])
        account.rejected += len(answer["rejected"])
        sent = {body["batch_id"] for body in batch}
        self.waiting = [body for body in self.waiting if body["batch_id"] not in sent]

    def _sensors(self, at_ms: int) -> dict[str, float]:
        day = math.sin(at_ms / 86_400_000 * math.tau + self._phase)
        noise = self.dice.gauss
        return {
            "bme280_temp_c": round(22 + 5 * day + noise(0, 0.2), 2),
            "ds18b20_temp_c": round(21.5 + 5 * day + noise(0, 0.1), 2),
            "humidity_pct": round(50 - 12 * day + noise(0, 0.5), 1),
            "pressure_hpa": round(1013 + 4 * day + noise(0, 0.3), 2),
            "soil_moisture_pct": round(60 + noise(0, 1), 1),
        }


class Simulation:
    """Runs a fleet against a server, then asks for every reading again: each must be there."""

    def __init__(self, place: Place, progress: Progress) -> None:
        self._place = place
        self._progress = progress
        self._slots = asyncio.Semaphore(CONNECTIONS_MAX)
        self.account = Account()
        dice = random.Random(place.seed)  # noqa: S311 - play, not a secret.
        self.sensors = [
            Sensor(number, habit, random.Random(dice.getrandbits(64)))  # noqa: S311
            for number, habit in enumerate(habits_of(place.devices, dice))
        ]

    async def run(self, now_ms: int) -> Account:
        """Let the minutes before now pass again, at the place's speed."""
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
        connector = aiohttp.TCPConnector(limit=CONNECTIONS_MAX)
        async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
            steps = max(1, round(self._place.minutes * 60 / READING_SECONDS))
            loop = asyncio.get_running_loop()
            began = loop.time()
            for step in range(1, steps + 1):
                uptime_ms = step * READING_SECONDS * 1000
                for sensor in self.sensors:
                    sensor.take(now_ms - (steps - step) * READING_SECONDS * 1000, uptime_ms)
                    self.account.taken += 1
                if step % (UPLOAD_SECONDS // READING_SECONDS) == 0:
                    await self._upload(session, last=False)
                self._progress(step / steps, f"{self.account.acknowledged} stored")
                await asyncio.sleep(
                    max(0.0, began + step * READING_SECONDS / self._place.speed - loop.time())
                )
            # All that are left come back at the same moment.
            await self._upload(session, last=True)
            await self._reconcile(session)
        return self.account

    async def _upload(self, session: aiohttp.ClientSession, *, last: bool) -> None:
        await asyncio.gather(*(self._empty(session, sensor, last=last) for sensor in self.sensors))

    async def _empty(self, session: aiohttp.ClientSession, sensor: Sensor, *, last: bool) -> None:
        while batch := sensor.next_batch(last=last):
            await self._send(session, sensor, batch)
            if not last:
                return

    async def _reconcile(self, session: aiohttp.ClientSession) -> None:
        """Send everything once more: what is stored is a duplicate, and anything else was lost."""
        await asyncio.gather(*(self._ask_again(session, sensor) for sensor in self.sensors))
        for sensor in self.sensors:
            self.account.doubled += sum(count - 1 for count in sensor.acknowledged.values())
            self.account.lost += len(sensor.taken.keys() - sensor.known - sensor.reported)

    async def _ask_again(self, session: aiohttp.ClientSession, sensor: Sensor) -> None:
        if sensor.habit == "wrong key":
            return
        bodies = list(sensor.taken.values())
        for first in range(0, len(bodies), READINGS_AT_ONCE):
            batch = bodies[first : first + READINGS_AT_ONCE]
            sensor.known.difference_update(body["batch_id"] for body in batch)
            await self._send(session, sensor, batch)

    async def _send(
        self, session: aiohttp.ClientSession, sensor: Sensor, batch: list[dict[str, Any]]
    ) -> None:
        key = secrets.token_hex(32) if sensor.habit == "wrong key" else self._place.key
        for _ in range(TRIES_MAX):
            status, answer = await self._post(session, key, batch)
            self.account.requests += 1
            if status == 200:
                sensor.settle(batch, answer, self.account)
                return
            if status == 401 and sensor.habit == "wrong key":
                sensor.reported.update(body["batch_id"] for body in batch)
                self.account.refused += len(batch)
                sensor.waiting = []
                return
            if status < 500 and status != 429:
                raise SimulationError(f"the server answered {status}: {answer.get('message')}")
            await asyncio.sleep(RETRY_SECONDS)
        raise SimulationError(f"the server did not take a batch in {TRIES_MAX} tries")

    async def _post(
        self, session: aiohttp.ClientSession, key: str, batch: list[dict[str, Any]]
    ) -> tuple[int, dict[str, Any]]:
        headers = {"X-API-Key": key, "Content-Type": "application/json"}
        body = msgspec.json.encode({"readings": batch})
        try:
            async with (
                self._slots,
                session.post(f"{self._place.url}/telemetry/data", data=body, headers=headers) as response,
            ):
                return response.status, msgspec.json.decode(await response.read())
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
            # No answer is no news: the device sends again.
            return 599, {"message": str(error)}


def habits_of(devices: int, dice: random.Random) -> list[Habit]:
    """A habit for each device in the shares of HABITS, in any order."""
    habits: list[Habit] = []
    total = 0
    for habit, share in HABITS:
        total += share
        habits += [habit] * (round(devices * total / 100) - len(habits))
    dice.shuffle(habits)
    return habits
