"""What the benches share: rounds that alternate between the two sides, and a table of ratios."""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable
from typing import NamedTuple

ROUNDS = 7


class Row(NamedTuple):
    """One line of a bench: what was measured, on both sides, and the ratio that is claimed."""

    work: str
    ours: str
    peer: str
    ratio: float
    reach: str
    reached: bool


async def alternate(
    ours: Callable[[], Awaitable[float]], peer: Callable[[], Awaitable[float]], rounds: int = ROUNDS
) -> tuple[float, float, float]:
    """Measures both sides in turn, so that noise hits both; medians, and the median of the rounds' ratios."""
    pairs = [(await ours(), await peer()) for _ in range(rounds)]
    return (
        statistics.median(pair[0] for pair in pairs),
        statistics.median(pair[1] for pair in pairs),
        statistics.median(pair[0] / pair[1] for pair in pairs),
    )


def at_most(work: str, unit: str, measured: tuple[float, float, float], bound: float, peer: str) -> Row:
    """A row about cost: ours may be at most so many times the peer's."""
    ours, theirs, ratio = measured
    return Row(
        work, f"{ours:,.1f} {unit}", f"{peer} {theirs:,.1f} {unit}", ratio, f"≤ {bound}", ratio <= bound
    )


def at_least(work: str, unit: str, measured: tuple[float, float, float], bound: float, peer: str) -> Row:
    """A row about speed: ours must be at least so many times the peer's."""
    ours, theirs, ratio = measured
    return Row(
        work, f"{ours:,.0f} {unit}", f"{peer} {theirs:,.0f} {unit}", ratio, f"≥ {bound}", ratio >= bound
    )


def show(title: str, rows: list[Row]) -> None:
    """Prints the rows as a table; a claim that was not reached in this run is marked."""
    print(f"\n{title}")
    if not rows:
        return
    widths = [max(len(row.work) for row in rows), max(len(row.ours) for row in rows)]
    peer_width = max(len(row.peer) for row in rows)
    for row in rows:
        mark = "" if row.reached else "   not reached in this run"
        print(
            f"  {row.work:<{widths[0]}}  {row.ours:>{widths[1]}}   {row.peer:<{peer_width}}  "
            f"ratio {row.ratio:6.2f}  ({row.reach}){mark}"
        )
