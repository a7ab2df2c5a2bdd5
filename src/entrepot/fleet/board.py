"""A virtual ESP8266 board: the seed's EEPROM and Wi-Fi state machine, without time or network."""

from __future__ import annotations

from enum import Enum

from entrepot.fleet import eeprom
from entrepot.fleet.errors import WrongValue

ERASED = b"\xff" * eeprom.layout_of(1).size
PORTAL_NAME = "Serra-Setup"


class State(Enum):
    """Where a board is between the wall socket and its heartbeats."""

    OFF = "off"
    PORTAL = "portal"
    CONNECTING = "connecting"
    RUNNING = "running"


class Board:
    """Changes its state by what happens to it; what is not possible in a state changes nothing."""

    def __init__(self, memory: bytes = ERASED) -> None:
        self.memory = memory
        self.state = State.OFF
        self.config: eeprom.DeviceConfig | None = None

    def power_on(self) -> None:
        """Read the EEPROM: a configuration that can be trusted leads to the network, any other to the portal."""
        if self.state is not State.OFF:
            return
        try:
            self.config = eeprom.decode(self.memory)
        except WrongValue:
            self.config = None
        self.state = State.CONNECTING if self.config else State.PORTAL

    def submit(self, config: eeprom.DeviceConfig, *, power_fails_at: int | None = None) -> None:
        """What the person enters in the portal is saved, and the board restarts; unless the power fails on the way."""
        if self.state is not State.PORTAL:
            return
        blob = eeprom.encode(config)
        self.state = State.OFF
        if power_fails_at is not None:
            self.memory = blob[:power_fails_at] + self.memory[power_fails_at:]
            return
        # Written only when it changes: each cell bears so many writes and no more.
        if blob != self.memory:
            self.memory = blob
        self.power_on()

    def network_found(self) -> None:
        """The Wi-Fi took the board in."""
        if self.state is State.CONNECTING:
            self.state = State.RUNNING

    def network_lost(self) -> None:
        """The Wi-Fi is gone; the board looks for it."""
        if self.state is State.RUNNING:
            self.state = State.CONNECTING

    def power_off(self) -> None:
        """Somebody pulled the plug; the EEPROM stays."""
        self.state = State.OFF

    def factory_reset(self) -> None:
        """Forget everything and open the portal."""
        self.power_off()
        self.memory = ERASED
        self.power_on()
