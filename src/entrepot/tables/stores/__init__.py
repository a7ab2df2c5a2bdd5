"""Stores: anything that answers DynamoDB's operations."""

from __future__ import annotations

from entrepot.tables.stores.protocol import Store

__all__ = ["Store"]
