"""The settings of telemetry."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from entrepot.settings import Section, says


class Telemetry(Section, frozen=True, kw_only=True):
    """Sensors and their readings."""

    section: ClassVar[str] = "telemetry"

    retention_days: Annotated[
        int, Meta(ge=1, le=36500), says("how long readings are kept, from the time they were taken")
    ] = 90
    future_hours: Annotated[
        int, Meta(ge=0, le=24 * 365), says("how far in the future a device's clock may be")
    ] = 24
    api_key_pepper: Annotated[
        Annotated[str, Meta(min_length=16)] | None,
        says("what device keys are hashed with; none: made from the secret key", secret=True),
    ] = None
