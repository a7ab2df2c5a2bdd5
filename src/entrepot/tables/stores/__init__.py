"""Stores: the embedded engine, a remote DynamoDB (`stores.remote`), and what both are."""

from __future__ import annotations

from entrepot.tables.stores.opening import open_store
from entrepot.tables.stores.prefixed import PrefixedStore
from entrepot.tables.stores.protocol import Store

__all__ = ["PrefixedStore", "Store", "open_store"]
