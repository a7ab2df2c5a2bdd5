"""`entrepot listen`: forwards a source's events to this machine."""

from __future__ import annotations

from entrepot.relay.commands import listen as command

__all__ = ["command"]
