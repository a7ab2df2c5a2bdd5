"""Chaos: an engine as unkind as the cloud, repeatably.

settings.py   what is asked for, by table, and its text form
dice.py       chance, repeatable by seed
running.py    what an engine under chaos does to its requests
journal.py    the recent changes, so that a read can see the state before them
past.py       a stretch of a table or an index as it was
resets.py     a connection cut off
"""

from __future__ import annotations

from entrepot.engine.chaos.running import RunningChaos
from entrepot.engine.chaos.settings import Chaos, ChaosError, Unkindness

__all__ = ["Chaos", "ChaosError", "RunningChaos", "Unkindness"]
