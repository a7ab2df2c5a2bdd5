"""Processes that die: a real store that is cut off at a given call, and everything that ran on it with it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any, Literal

from entrepot.clock import Clock
from entrepot.engine import Engine
from entrepot.tables import Database, Unreachable
from entrepot.tables.stores import Store


class Death(BaseException):
    """The process is gone: nothing of it may catch this and go on."""


class MortalStore:
    """A store until its n-th call: then the process dies, before the call is carried out or after."""

    def __init__(self, store: Store, calls: int, when: Literal["before", "after"]) -> None:
        self._store = store
        self._left = calls
        self._when = when

    @property
    def dead(self) -> bool:
        return self._left <= 0

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self._left -= 1
        if self._left > 0:
            return await self._store.call(operation, request)
        if self._left == 0 and self._when == "after":
            await self._store.call(operation, request)
        raise Death

    async def close(self) -> None:
        return None


class LossyStore:
    """A store whose answers, or the requests themselves, are lost on the way now and then."""

    def __init__(self, store: Store, chance: float, seed: int) -> None:
        self._store = store
        self._chance = chance
        self._random = random.Random(seed)

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        lot = self._random.random()
        if lot < self._chance / 2:
            raise Unreachable("the request was lost", sent=False)
        answer = await self._store.call(operation, request)
        if lot < self._chance:
            raise Unreachable("the answer was lost", sent=True)
        return answer

    async def close(self) -> None:
        return None


def waiting_by(clock: Clock) -> Callable[[float], Any]:
    """A way to wait that moves the clock instead."""

    async def wait(seconds: float) -> None:
        clock.advance(seconds)
        await asyncio.sleep(0)

    return wait


def database(store: Store, clock: Clock) -> Database:
    return Database(store, clock=clock, sleep=waiting_by(clock))


async def open_engine(clock: Clock) -> Engine:
    return await Engine.open(":memory:", clock=lambda: clock.epoch_ms() / 1000)
