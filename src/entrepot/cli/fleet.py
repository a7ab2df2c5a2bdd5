"""`entrepot fleet`: looking after projects and boards."""

from __future__ import annotations

from entrepot.fleet.commands import fleet as command

__all__ = ["command"]
