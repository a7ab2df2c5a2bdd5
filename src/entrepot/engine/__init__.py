"""An embedded DynamoDB on SQLite: durable, in process, and the same over HTTP."""

from __future__ import annotations

from entrepot.engine.chaos import Chaos, ChaosError
from entrepot.engine.engine import Engine
from entrepot.engine.errors import DynamoError
from entrepot.engine.storage import StoreDamaged, StoreError, StoreTooNew

__all__ = ["Chaos", "ChaosError", "DynamoError", "Engine", "StoreDamaged", "StoreError", "StoreTooNew"]
