"""The phases of the schema, in their order, and where a database notes the one it is in."""

from __future__ import annotations

VERSION_TABLE = "fleet_version"
PHASES = ("phase_0", "phase_1", "phase_2", "phase_3", "phase_4")
LAST_PHASE = PHASES[-1]
