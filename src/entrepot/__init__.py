"""Entrepot: a self-hosted backend for things that report in."""

__version__ = "0.1.0"
