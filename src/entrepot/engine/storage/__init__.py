"""Storage: one SQLite file, written in groups by one writer, read in place."""

from __future__ import annotations

from entrepot.engine.storage.file import StoreDamaged, StoreError, StoreFile, StoreTooNew
from entrepot.engine.storage.writer import Transaction, Writer

__all__ = ["StoreDamaged", "StoreError", "StoreFile", "StoreTooNew", "Transaction", "Writer"]
