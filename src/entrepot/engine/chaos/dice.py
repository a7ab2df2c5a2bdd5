"""Chance that can be repeated: the same seed gives the same sequence, to each table and kind its own."""

from __future__ import annotations

from random import Random


class Dice:
    """A sequence per table and kind of unkindness, so that one does not shift the others."""

    def __init__(self, seed: int | str) -> None:
        self._seed = seed
        self._sequences: dict[tuple[str, str], Random] = {}

    def hit(self, kind: str, table: str, probability: float) -> bool:
        """Whether this time it happens; draws nothing where it never can."""
        return probability > 0 and self.sequence(kind, table).random() < probability

    def sequence(self, kind: str, table: str) -> Random:
        place = (kind, table)
        sequence = self._sequences.get(place)
        if sequence is None:
            # A text as seed is hashed by its bytes: the same in every process.
            sequence = self._sequences[place] = Random(f"{self._seed}/{table}/{kind}")  # noqa: S311
        return sequence
