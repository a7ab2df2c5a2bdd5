"""Many virtual boards at a server: they are set up, heartbeat, lose power and network, and come back."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections import Counter
from collections.abc import Callable
from typing import Any

import aiohttp
import msgspec

from entrepot.fleet import eeprom
from entrepot.fleet.board import Board, State
from entrepot.fleet.rules import DEVICES_PER_PROJECT_MAX

HEARTBEAT_SECONDS = 60.0
CONNECT_SECONDS = 5.0
REQUEST_SECONDS_MAX = 15.0
REPORT_SECONDS = 5.0
# Per heartbeat: rare enough that a board is mostly there, often enough that a demo shows all of it.
POWER_LOSS_SHARE = 0.01
NETWORK_LOSS_SHARE = 0.02
TORN_WRITE_SHARE = 0.05
OFF_SECONDS = (150.0, 600.0)
FIRMWARE = "sim-1.0.0"


class SimulationError(Exception):
    """The simulation can't go on; the message says why in one line."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where to simulate, and how fast time goes there."""

    url: str
    key: str
    speed: float = 1.0
    seconds: float | None = None
    seed: int | None = None


class Simulation:
    """Registers boards under projects of its own and lets them live."""

    def __init__(self, place: Place, boards: int, report: Callable[[str], None]) -> None:
        self._place = place
        self._count = boards
        self._report = report
        # Chance, not secrecy: the same number makes the same day.
        self._random = random.Random(place.seed)  # noqa: S311
        self._boards: list[Board] = []
        self.heartbeats: Counter[int] = Counter()
        """How often each status was answered; 0 when there was no answer."""

    async def run(self) -> None:
        """Simulate until the time is over, or for ever."""
        timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS_MAX)
        connector = aiohttp.TCPConnector(limit=100)
        async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
            configs = await self._register(session)
            self._report(f"{len(configs)} boards registered")
            self._boards = [Board() for _ in configs]
            lives = [
                asyncio.create_task(self._live(session, board, config))
                for board, config in zip(self._boards, configs, strict=True)
            ]
            lives.append(asyncio.create_task(self._tell()))
            try:
                async with asyncio.timeout(self._place.seconds):
                    await asyncio.gather(*lives)
            except TimeoutError:
                pass
            finally:
                for life in lives:
                    life.cancel()
                await asyncio.gather(*lives, return_exceptions=True)
        self._report(self.summary())

    def summary(self) -> str:
        """How the boards are, and what they were answered."""
        states = Counter(board.state.value for board in self._boards)
        shown = ", ".join(f"{count} {name}" for name, count in sorted(states.items()))
        taken = self.heartbeats[200]
        return f"boards {shown} · heartbeats {taken} taken, {self.heartbeats.total() - taken} not"

    async def _live(self, session: aiohttp.ClientSession, board: Board, config: eeprom.DeviceConfig) -> None:
        # Spread out, as boards are that were plugged in one by one.
        await self._pause(self._random.uniform(0, HEARTBEAT_SECONDS))
        while True:
            if board.state is State.OFF:
                board.power_on()
            elif board.state is State.PORTAL:
                torn = self._random.random() < TORN_WRITE_SHARE
                board.submit(config, power_fails_at=self._random.randrange(1, 184) if torn else None)
            elif board.state is State.CONNECTING:
                await self._pause(CONNECT_SECONDS)
                board.network_found()
            else:
                await self._beat(session, board)
                await self._pause(HEARTBEAT_SECONDS)
                await self._misfortune(board)

    async def _beat(self, session: aiohttp.ClientSession, board: Board) -> None:
        if board.config is None:
            return
        headers = {
            "x-composite-device-id": board.config.composite_device_id,
            "x-device-key": board.config.device_key,
        }
        body = {
            "rssi": -self._random.randint(45, 85),
            "ip_address": f"192.168.1.{self._random.randint(2, 250)}",
            "fw_version": FIRMWARE,
        }
        url = f"{self._place.url}/fleet/device-heartbeat"
        try:
            async with session.post(url, json=body, headers=headers) as answer:
                await answer.read()
                self.heartbeats[answer.status] += 1
        except (aiohttp.ClientError, TimeoutError):
            self.heartbeats[0] += 1

    async def _misfortune(self, board: Board) -> None:
        chance = self._random.random()
        if chance < POWER_LOSS_SHARE:
            board.power_off()
            await self._pause(self._random.uniform(*OFF_SECONDS))
        elif chance < POWER_LOSS_SHARE + NETWORK_LOSS_SHARE:
            board.network_lost()

    async def _register(self, session: aiohttp.ClientSession) -> list[eeprom.DeviceConfig]:
        configs: list[eeprom.DeviceConfig] = []
        name = f"Simulated {secrets.token_hex(3)}"
        while len(configs) < self._count:
            if len(configs) % DEVICES_PER_PROJECT_MAX == 0:
                number = len(configs) // DEVICES_PER_PROJECT_MAX + 1
                project = await self._ask(session, "/fleet/projects", {"name": f"{name} {number}"})
            path = f"/fleet/projects/{project['project_id']}/devices"
            device = await self._ask(session, path, {"name": f"Board {len(configs) + 1}"})
            configs.append(
                eeprom.DeviceConfig(
                    composite_device_id=device["composite_device_id"],
                    ssid="Greenhouse",
                    password="basil and tomatoes",  # noqa: S106 (of a network that is not there)
                    device_key=device["device_key"],
                )
            )
        return configs

    async def _ask(self, session: aiohttp.ClientSession, path: str, body: dict[str, Any]) -> Any:
        headers = {"Authorization": f"Bearer {self._place.key}"}
        try:
            async with session.post(self._place.url + path, json=body, headers=headers) as answer:
                said = await answer.read()
                if answer.status == 201:
                    return msgspec.json.decode(said)
                raise SimulationError(
                    f"{path} answered {answer.status}: {said[:200].decode(errors='replace')}"
                )
        except (aiohttp.ClientError, TimeoutError) as error:
            raise SimulationError(f"{self._place.url} can't be reached: {error}") from None

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(REPORT_SECONDS)
            self._report(self.summary())

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self._place.speed)
