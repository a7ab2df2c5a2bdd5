"""What the fleet does: projects, devices, their history, and the boards' own calls."""

from entrepot.fleet.service.devices import Devices
from entrepot.fleet.service.history import History
from entrepot.fleet.service.people import People
from entrepot.fleet.service.projects import Projects

__all__ = ["Devices", "History", "People", "Projects"]
