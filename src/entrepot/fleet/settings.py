"""The settings of the fleet."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from entrepot.settings import Section, says


class Fleet(Section, frozen=True, kw_only=True):
    """Boards and their heartbeats."""

    section: ClassVar[str] = "fleet"

    sweep_seconds: Annotated[
        float, Meta(gt=0, le=3600), says("how often silent boards are looked for, in seconds")
    ] = 60.0
